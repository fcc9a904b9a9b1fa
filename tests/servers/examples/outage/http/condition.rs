// SPDX-License-Identifier: MIT OR Apache-2.0
//! The condition of a host, and its counts.

use std::fmt;
use std::io;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::scenario::{CLOSED, Mode, QUOTA, STRENGTH};
use crate::scene::Scene;
use crate::warmth::Warmth;

/// The answer of a host to a request.
pub(crate) enum Answer {
    Well,
    Fail,
    /// Broken down.
    Down,
    /// Down, and says for how many seconds.
    DownFor(u64),
    /// Beyond the quota, for this many seconds.
    LimitedFor(u64),
    Hang,
}

/// The counts of a host.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) requests: usize,
    /// Requests that it could not serve.
    pub(crate) unable: usize,
    /// Requests before a `Retry-After` of the host had elapsed.
    pub(crate) early: usize,
    pub(crate) breakdowns: usize,
}

pub(crate) struct Condition {
    scene: &'static Scene<Mode>,
    inner: Mutex<Inner>,
}

struct Inner {
    counts: Counts,
    warmth: Warmth,
    /// The part of the quota that is used.
    used: u32,
    /// The time at which the last `Retry-After` ends.
    closed_until: Duration,
}

impl Condition {
    pub(crate) fn new(scene: &'static Scene<Mode>) -> Self {
        Self {
            scene,
            inner: Mutex::new(Inner {
                counts: Counts::default(),
                warmth: Warmth::new(STRENGTH),
                used: 0,
                closed_until: Duration::ZERO,
            }),
        }
    }

    /// A request has arrived at a time of the scene.
    pub(crate) fn receive(&self, now: Duration) -> Answer {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.counts.requests += 1;
        let answer = inner.decide(self.scene, now);
        if !matches!(answer, Answer::Well) {
            inner.counts.unable += 1;
        }
        answer
    }

    pub(crate) fn counts(&self) -> Counts {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        Counts {
            breakdowns: inner.warmth.breakdowns,
            ..inner.counts
        }
    }
}

impl Inner {
    fn decide(&mut self, scene: &Scene<Mode>, now: Duration) -> Answer {
        let is_early = now < self.closed_until;
        if is_early {
            self.counts.early += 1;
        }
        let left = self.closed_until.saturating_sub(now);
        match scene.mode_at(now) {
            Mode::Healthy => Answer::Well,
            Mode::Failing => Answer::Fail,
            Mode::Hanging => Answer::Hang,
            Mode::Restarting if is_early => Answer::DownFor(seconds(left)),
            Mode::Restarting => {
                let ready = scene.modes().find(|(from, ..)| *from > now);
                let left = ready.map_or(CLOSED, |(from, ..)| from.saturating_sub(now));
                self.closed_until = now + Duration::from_secs(seconds(left));
                Answer::DownFor(seconds(left))
            }
            Mode::Limited if is_early => Answer::LimitedFor(seconds(left)),
            Mode::Limited if self.used < QUOTA => {
                self.used += 1;
                Answer::Well
            }
            Mode::Limited => {
                self.used = 0;
                self.closed_until = now + CLOSED;
                Answer::LimitedFor(seconds(CLOSED))
            }
            Mode::Cold if self.warmth.bears_one_more(Instant::now()) => Answer::Well,
            Mode::Cold => Answer::Down,
        }
    }
}

/// The value of the header: whole seconds, rounded up.
fn seconds(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

/// The encoding of the counts from the child.
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            requests,
            unable,
            early,
            breakdowns,
        } = self;
        write!(f, "{requests} {unable} {early} {breakdowns}")
    }
}

impl FromStr for Counts {
    type Err = io::Error;

    fn from_str(line: &str) -> io::Result<Self> {
        let numbers: Result<Vec<usize>, _> = line.split(' ').map(str::parse).collect();
        match numbers.map_err(io::Error::other)?[..] {
            [requests, unable, early, breakdowns] => Ok(Self {
                requests,
                unable,
                early,
                breakdowns,
            }),
            _ => Err(io::Error::other(format!("no counts: {line}"))),
        }
    }
}
