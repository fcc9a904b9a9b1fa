// SPDX-License-Identifier: MIT OR Apache-2.0
//! The time that the tests of this file take, together.

use std::env;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::figures::Figures;

/// The seconds for all tests together, in place of two.
pub(crate) const VARIABLE: &str = "ATOMIC_BREAKER_LINEARIZABLE";
const SECONDS: f64 = 2.0;

/// A part of the whole time, in hundredths.
#[derive(Clone, Copy)]
pub(crate) struct Share(f64);

impl Share {
    pub(crate) const THREADS: Self = Self(25.0);
    pub(crate) const SCHEDULES: Self = Self(15.0);
    pub(crate) const PROCESSES: Self = Self(20.0);

    fn time(self) -> Duration {
        let seconds = env::var(VARIABLE).map_or(SECONDS, |seconds| {
            seconds.parse().expect("the time is a number of seconds")
        });
        Duration::from_secs_f64(seconds * self.0 / 100.0)
    }
}

pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Runs groups side by side until a share of the time is over, and one test after the other, so that none keeps the
/// callers of another from running at the same time.
pub(crate) fn within(
    share: Share,
    groups: usize,
    group: impl Fn(u64, Instant) -> Figures + Sync,
) -> Figures {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let end = Instant::now() + share.time();
    let mut all = Figures::default();
    thread::scope(|scope| {
        let groups: Vec<_> = (0..groups as u64)
            .map(|number| {
                scope.spawn({
                    let group = &group;
                    move || group(number, end)
                })
            })
            .collect();
        for group in groups {
            all.add(&group.join().unwrap());
        }
    });
    all
}
