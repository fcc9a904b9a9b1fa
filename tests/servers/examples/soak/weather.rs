// SPDX-License-Identifier: MIT OR Apache-2.0
//! The times at which a resource is up, and what is owed to its callers.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use atomic_breaker_server::Config;
use test_support::dice::Dice;

use crate::IS_OVER;

const FAILURES: u32 = 5;
const OPEN_MS: u64 = 50;
const LONGEST_MS: u64 = 200;

/// Of all parts. A probe that is never reported is given up after the lease.
pub(crate) const RULES: Config = Config::new()
    .consecutive_failures(FAILURES)
    .open_for(Duration::from_millis(OPEN_MS))
    .exponential(2, Duration::from_millis(LONGEST_MS))
    .jitter_percent(20)
    .probe_lease(Duration::from_millis(LEASE_MS));
pub(crate) const LEASE_MS: u64 = 300;
/// The duration of a probe.
const PROBE: Duration = Duration::from_millis(1);

/// The time within which a healthy resource is served again: the longest open time with its jitter, a lease, and a
/// second more for a machine that is busy.
const SERVED_MS: u64 = LONGEST_MS * 12 / 10 + LEASE_MS + 1_000;

/// A kind of breaker with its resource, its callers, and what they have seen.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) name: &'static str,
    /// The number of calls that may be in flight when it opens.
    callers: u32,
    began: Instant,
    is_up: AtomicBool,
    made: AtomicU64,
    reached: AtomicU64,
    /// The time at which it last served, in milliseconds since the start.
    served_ms: AtomicU64,
    /// The time at which the last outage ended, if it was not served since; otherwise `u64::MAX`.
    owed_since_ms: AtomicU64,
    outages: AtomicU64,
    slowest_ms: AtomicU64,
    most_in_outage: AtomicU64,
    /// The moments before which the probes in flight were admitted.
    probes: Mutex<Vec<Instant>>,
    broken: Mutex<Option<String>>,
}

impl Part {
    /// One with its own weather.
    pub(crate) fn start(name: &'static str, callers: u32, seed: u64) -> Arc<Self> {
        let part = Arc::new(Self {
            name,
            callers,
            began: Instant::now(),
            is_up: AtomicBool::new(true),
            made: AtomicU64::new(0),
            reached: AtomicU64::new(0),
            served_ms: AtomicU64::new(0),
            owed_since_ms: AtomicU64::new(u64::MAX),
            outages: AtomicU64::new(0),
            slowest_ms: AtomicU64::new(0),
            most_in_outage: AtomicU64::new(0),
            probes: Mutex::new(Vec::new()),
            broken: Mutex::new(None),
        });
        let weather = Arc::clone(&part);
        thread::spawn(move || weather.change(seed));
        part
    }

    fn now_ms(&self) -> u64 {
        self.began.elapsed().as_millis() as u64
    }

    fn change(&self, seed: u64) {
        let mut dice = Dice::new(seed);
        let mut between =
            |least: u64, most: u64| Duration::from_millis(least + dice.below(most - least));
        while !IS_OVER.load(Ordering::Relaxed) {
            thread::sleep(between(SERVED_MS + 100, SERVED_MS + 2_000));
            if self.owed_since_ms.load(Ordering::SeqCst) != u64::MAX {
                self.broke(&format!("well for {SERVED_MS} ms, and not served"));
            }
            let reached = self.reached.load(Ordering::SeqCst);
            let down = between(100, 2_000);
            self.is_up.store(false, Ordering::SeqCst);
            thread::sleep(down);
            let reached = self.reached.load(Ordering::SeqCst) - reached;
            // One probe for each of the shortest open times, and those that failed before it opened.
            let most = u64::from(FAILURES + self.callers)
                + (down.as_millis() as u64).div_ceil(OPEN_MS)
                + 2;
            if reached > most * self.keys() {
                self.broke(&format!(
                    "{reached} calls reached it in an outage of {down:?}; {most} may"
                ));
            }
            self.most_in_outage.fetch_max(reached, Ordering::Relaxed);
            self.outages.fetch_add(1, Ordering::Relaxed);
            self.owed_since_ms.store(self.now_ms(), Ordering::SeqCst);
            self.is_up.store(true, Ordering::SeqCst);
        }
    }

    /// The number of breakers that share the resource.
    fn keys(&self) -> u64 {
        if self.name == "registry" {
            crate::threads::KEYS
        } else {
            1
        }
    }

    /// A call that the breaker has rejected.
    pub(crate) fn rejected(&self) {
        self.made.fetch_add(1, Ordering::Relaxed);
    }

    /// A call that the breaker has let through, to the resource: how it ends.
    pub(crate) fn reach(&self) -> bool {
        self.made.fetch_add(1, Ordering::Relaxed);
        self.reached.fetch_add(1, Ordering::SeqCst);
        let is_up = self.is_up.load(Ordering::SeqCst);
        if is_up {
            let now = self.now_ms();
            self.served_ms.store(now, Ordering::Relaxed);
            let since = self.owed_since_ms.swap(u64::MAX, Ordering::SeqCst);
            if since != u64::MAX {
                self.slowest_ms
                    .fetch_max(now.saturating_sub(since), Ordering::Relaxed);
            }
        }
        is_up
    }

    /// A call was admitted, which was asked for at `asked`. A probe takes a while, so that another one would meet it.
    pub(crate) fn admitted(&self, asked: Instant, is_probe: bool) {
        if !is_probe {
            return;
        }
        let probes = || self.probes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut others = probes();
        // One of a thread that had to wait for a processor may have lost its lease.
        if (others.iter()).any(|other| other.elapsed() < Duration::from_millis(LEASE_MS - 5)) {
            self.broke("two probes at once");
        }
        others.push(asked);
        drop(others);
        thread::sleep(PROBE);
        probes().retain(|other| *other != asked);
    }

    pub(crate) fn made(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }

    pub(crate) fn broke(&self, what: &str) {
        let mut broken = self.broken.lock().unwrap_or_else(PoisonError::into_inner);
        let at = self.began.elapsed();
        broken.get_or_insert_with(|| format!("{what}, after {at:?}"));
    }

    pub(crate) fn what_broke(&self) -> Option<String> {
        self.broken
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        write!(
            f,
            "{:12} {:>12} {:>12} {:>8} {:>7} ms {:>10}",
            self.name,
            self.made(),
            of(&self.reached),
            of(&self.outages),
            of(&self.slowest_ms),
            of(&self.most_in_outage),
        )
    }
}
