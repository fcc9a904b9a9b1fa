// SPDX-License-Identifier: MIT OR Apache-2.0
//! The share of failures within a sliding time: acquire and success through a whole breaker.
//!
//! Calls follow each other at once, so that nothing hides their cost; if a call does some work, a processor
//! overlaps part of it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use atomic_breaker_http::{Breaker, Clock, Config, Ratio, StdClock};
use atomic_breaker_server::{Memory, SlidingRatio, Tally, Verdict, tally::Call};
use atomic_breaker_std::CoarseClock;
use benches::rounds::Case;

pub(crate) const SHARDED: &str = "16 shards";
/// The floor under the cost of a success.
pub(crate) const FLOOR: &str = "the clock and a compare-and-swap alone";

pub(crate) fn cases() -> Vec<Case> {
    let ratio = Ratio::percent(50).within(Duration::from_secs(10));
    let config = Config::new().consecutive_failures(5);
    let within = config.failure_ratio(ratio);
    vec![
        case(SHARDED, within, CoarseClock, || {
            SlidingRatio::<_, 16>::by(CoarseClock)
        }),
        case("1 shard", within, CoarseClock, || {
            SlidingRatio::<_, 1>::by(CoarseClock)
        }),
        case("16 shards, `StdClock`", within, StdClock, || {
            SlidingRatio::<_, 16>::by(StdClock)
        }),
        case("a mutex", within, CoarseClock, || Locked::by(CoarseClock)),
        case("no tally", config, CoarseClock, || ()),
        Case::new(FLOOR, || {
            let word = AtomicU64::new(0);
            move |calls| {
                for _ in 0..calls {
                    let calls = word.load(Ordering::Relaxed);
                    let next = calls + u64::from(CoarseClock.now_ms());
                    let _ =
                        word.compare_exchange_weak(calls, next, Ordering::SeqCst, Ordering::SeqCst);
                }
            }
        }),
    ]
}

fn case<C, T>(
    name: &str,
    config: Config,
    clock: C,
    tally: impl Fn() -> T + Send + Sync + 'static,
) -> Case
where
    C: Clock + Copy + Send + Sync + 'static,
    T: Tally + Send + Sync + 'static,
{
    Case::new(name, move || {
        let breaker = Breaker::builder(config, clock).tally(tally()).build();
        move |calls| {
            for _ in 0..calls {
                breaker.acquire().expect("closed").success();
            }
        }
    })
}

/// The same eighths behind a mutex.
struct Locked<C> {
    slices: Mutex<(u32, [(u32, u32); 8])>,
    clock: C,
}

impl<C> Locked<C> {
    fn by(clock: C) -> Self {
        let slices = Mutex::new((0, [(0, 0); 8]));
        Self { slices, clock }
    }
}

impl<C: Clock> Tally for Locked<C> {
    fn memory(&self) -> Memory {
        Memory::NONE.max_within_ms(u32::MAX)
    }

    fn record(&self, call: Call, ratio: Option<Ratio>) -> Verdict {
        let slice_ms = ratio.and_then(Ratio::within_ms).unwrap_or(8) / 8;
        let number = self.clock.now_ms() / slice_ms;
        let mut locked = self.slices.lock().expect("no thread panicked");
        let (last, slices) = &mut *locked;
        for passed in 1..=number.wrapping_sub(*last).min(8) {
            slices[(last.wrapping_add(passed) % 8) as usize] = (0, 0);
        }
        *last = number;
        let slice = &mut slices[(number % 8) as usize];
        slice.0 += 1;
        slice.1 += u32::from(call.failure.is_some());
        Verdict::Keep
    }

    fn clear(&self) {
        self.slices.lock().expect("no thread panicked").1 = [(0, 0); 8];
    }
}
