// SPDX-License-Identifier: MIT OR Apache-2.0
//! The seeds of a run, and the clock that all breakers of a scenario read.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};

use atomic_breaker_http::Clock;
use atomic_breaker_mapped::MachineClock;
use atomic_breaker_server::{SharedClock, TokioTimer, wait::HasTimer};
pub(crate) use test_support::dice::Dice;
use tokio::time::Instant;

/// Repeats one scenario.
const SEED: &str = "ATOMIC_BREAKER_LIVENESS_SEED";
/// Multiplies the number of scenarios.
const MORE: &str = "ATOMIC_BREAKER_LIVENESS";

/// The seeds of a run: different in each run, unless one is given.
pub(crate) fn seeds(usual: u64) -> Vec<u64> {
    if let Ok(seed) = std::env::var(SEED) {
        return vec![seed.parse().expect("the seed is a whole number")];
    }
    let more: u64 =
        std::env::var(MORE).map_or(1, |more| more.parse().expect("how many times as many"));
    let mut base = Dice::new(RandomState::new().hash_one(0));
    (0..usual * more).map(|_| base.next() >> 16).collect()
}

pub(crate) fn how_to_repeat(seed: u64, test: &str) -> String {
    format!("to repeat it: {SEED}={seed} cargo test -p servers --test liveness -- --exact {test}")
}

thread_local! {
    static BEGAN: Cell<Option<Instant>> = const { Cell::new(None) };
    static AHEAD_MS: Cell<u32> = const { Cell::new(0) };
    static DRAWN: Cell<u64> = const { Cell::new(0) };
}

/// The clock of the breakers: tokio's time since the scenario began, plus an offset set by the scenario.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Time;

impl Time {
    /// Starts a scenario with this reading.
    pub(crate) fn begin(at_ms: u32, seed: u64) {
        BEGAN.set(Some(Instant::now()));
        AHEAD_MS.set(at_ms);
        DRAWN.set(seed);
    }

    /// Steps back by this many milliseconds.
    pub(crate) fn step_back(ms: u32) {
        AHEAD_MS.set(AHEAD_MS.get().wrapping_sub(ms));
    }

    /// Steps forward again by this many milliseconds.
    pub(crate) fn step_on(ms: u32) {
        AHEAD_MS.set(AHEAD_MS.get().wrapping_add(ms));
    }
}

impl Clock for Time {
    fn now_ms(&self) -> u32 {
        let passed = BEGAN.get().map_or(0, |began| began.elapsed().as_millis());
        AHEAD_MS.get().wrapping_add(passed as u32)
    }

    fn entropy(&self) -> u32 {
        0x5EED
    }

    fn random(&self) -> u32 {
        let mut dice = Dice::new(DRAWN.get());
        let drawn = dice.next();
        DRAWN.set(drawn);
        drawn as u32
    }
}

impl SharedClock for Time {}

impl HasTimer for Time {
    type Timer = TokioTimer;

    fn timer(&self) -> TokioTimer {
        TokioTimer
    }
}

impl MachineClock for Time {
    const ID: u64 = 4_711;
}
