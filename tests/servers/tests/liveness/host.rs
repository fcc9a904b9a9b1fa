// SPDX-License-Identifier: MIT OR Apache-2.0
//! The resource: first unhealthy in some way, and then healthy for good.

use std::fmt;
use std::future::pending;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::dice::Dice;

/// The limit of each call, which the caller sets inside the breaker, as the guide says.
pub(crate) const LIMIT: Duration = Duration::from_secs(2);
/// A healthy resource responds sooner, and no configuration counts that as slow.
pub(crate) const LONGEST_ANSWER: Duration = Duration::from_millis(900);

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Health {
    Well,
    /// Fails at once.
    Dead,
    /// Never responds.
    Hangs,
    /// Responds after the callers' limit.
    Slow,
    /// This many of a hundred calls fail.
    Errs(u32),
    /// Alternates between healthy and dead, each for this long.
    Flaps(Duration),
    /// Asks to be left alone for this many seconds.
    Limits(u32),
}

impl Health {
    pub(crate) fn ill(dice: &mut Dice) -> Self {
        match dice.below(7) {
            0 | 1 => Self::Dead,
            2 => Self::Hangs,
            3 => Self::Slow,
            4 => Self::Errs(dice.within(10..91)),
            5 => Self::Flaps(dice.ms(20..2_000)),
            _ => Self::Limits(dice.within(0..31)),
        }
    }

    /// Returns whether each call fails.
    pub(crate) const fn fails_always(self) -> bool {
        matches!(
            self,
            Self::Dead | Self::Hangs | Self::Slow | Self::Limits(_)
        )
    }
}

/// The reason why a call failed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Trouble {
    pub(crate) retry_after: Option<Duration>,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no answer")
    }
}

impl std::error::Error for Trouble {}

/// Clones are the same host.
#[derive(Clone)]
pub(crate) struct Host(Arc<Shared>);

struct Shared {
    health: Mutex<(Health, Dice)>,
    answers_after: Duration,
    since: Instant,
    reached: AtomicU32,
    fails_each: Option<Duration>,
    failed: Mutex<(Instant, u32)>,
}

impl Host {
    pub(crate) fn new(answers_after: Duration, fails_each: Option<Duration>, dice: Dice) -> Self {
        Self(Arc::new(Shared {
            health: Mutex::new((Health::Well, dice)),
            answers_after,
            since: Instant::now(),
            reached: AtomicU32::new(0),
            fails_each,
            failed: Mutex::new((Instant::now(), 0)),
        }))
    }

    pub(crate) fn set(&self, health: Health) {
        self.0.health.lock().unwrap().0 = health;
    }

    pub(crate) fn health(&self) -> Health {
        self.0.health.lock().unwrap().0
    }

    /// The time that it takes to respond while it is healthy.
    pub(crate) fn answers_after(&self) -> Duration {
        self.0.answers_after
    }

    /// The number of calls that it has seen.
    pub(crate) fn reached(&self) -> u32 {
        self.0.reached.load(Relaxed)
    }

    /// Returns whether this call fails although the host is healthy.
    fn fails_once(&self) -> bool {
        let Some(each) = self.0.fails_each else {
            return false;
        };
        let reached = self.reached();
        let (at, before) = &mut *self.0.failed.lock().unwrap();
        let fails = at.elapsed() >= each && reached - *before >= 25;
        if fails {
            (*at, *before) = (Instant::now(), reached);
        }
        fails
    }

    /// Has no limit of its own: the call is limited elsewhere.
    pub(crate) async fn answer_without_limit(&self) -> Result<u32, Trouble> {
        self.0.reached.fetch_add(1, Relaxed);
        let trouble = Trouble { retry_after: None };
        let health = {
            let (health, dice) = &mut *self.0.health.lock().unwrap();
            match *health {
                Health::Errs(percent) if dice.percent(percent.into()) => Health::Dead,
                Health::Flaps(turn) => {
                    let turns = self.0.since.elapsed().as_millis() / turn.as_millis();
                    if turns.is_multiple_of(2) {
                        Health::Well
                    } else {
                        Health::Dead
                    }
                }
                health => health,
            }
        };
        match health {
            Health::Hangs => pending().await,
            Health::Slow => sleep(3 * LIMIT).await,
            Health::Dead => return Err(trouble),
            Health::Well if self.fails_once() => return Err(trouble),
            Health::Limits(seconds) => {
                return Err(Trouble {
                    retry_after: Some(Duration::from_secs(seconds.into())),
                });
            }
            Health::Well | Health::Errs(_) | Health::Flaps(_) => {
                if !self.0.answers_after.is_zero() {
                    sleep(self.0.answers_after).await;
                }
            }
        }
        Ok(7)
    }

    /// A call within the callers' limit.
    pub(crate) async fn answer(&self) -> Result<u32, Trouble> {
        timeout(LIMIT, self.answer_without_limit())
            .await
            .unwrap_or(Err(Trouble { retry_after: None }))
    }
}
