// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions of each operation on x86-64, counted by callgrind: the count is the same on every run, so that
//! a single additional one is noticed.
//!
//! ```console
//! .ci/locked-counts
//! ```
//!
//! counts them with the compiler that the locked counts name, and compares. The count is of one call of a
//! function that does the operation once, including its own entry and exit; `nothing` shows how much these
//! are. The clock stands still.

// The macros of gungraun are not made for these lints.
#![allow(missing_docs, unused_qualifications, clippy::pedantic)]

use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use atomic_breaker::{AnyBreaker, Breaker, Clock, Config, ManualClock, Permit};
use gungraun::prelude::*;

const OPEN_FOR: Duration = Duration::from_secs(1);
const RULES: Config = Config::new().consecutive_failures(2).open_for(OPEN_FOR);

/// A clock that stands still, and whose dice always fall the same way.
struct Fixed(u32);

impl Clock for Fixed {
    fn now_ms(&self) -> u32 {
        0
    }

    fn random(&self) -> u32 {
        self.0
    }
}

/// Ignores the result, like many callers do.
fn succeed<H: AnyBreaker>(permit: Permit<H>) {
    permit.success();
}

fn fail<H: AnyBreaker>(permit: Permit<H>) {
    permit.failure();
}

macro_rules! on {
    ($module:ident, $group:ident, $word:ty) => {
        mod $module {
            use super::*;

            use atomic_breaker::{LastCalls, Ratio, Rules};

            type Word = $word;
            type Subject = Breaker<ManualClock, Word>;
            type Gradual = Breaker<Fixed, Word>;
            type Tallied = Breaker<ManualClock, Word, LastCalls<Word>>;

            fn closed() -> &'static Subject {
                let clock = ManualClock::new();
                Box::leak(Box::new(Breaker::over(Word::new(0), RULES, clock)))
            }

            fn failed_once() -> &'static Subject {
                let breaker = closed();
                breaker.acquire().unwrap().failure();
                breaker
            }

            fn open() -> &'static Subject {
                let breaker = closed();
                breaker.trip();
                breaker
            }

            fn at_the_deadline() -> &'static Subject {
                let breaker = open();
                breaker.clock().advance(OPEN_FOR * 2);
                breaker
            }

            fn half_open() -> (&'static Subject, Permit<&'static Subject>) {
                let breaker = at_the_deadline();
                (breaker, breaker.acquire().unwrap())
            }

            fn probe() -> Permit<&'static Subject> {
                half_open().1
            }

            fn long_after_a_probe() -> &'static Subject {
                let (breaker, probe) = half_open();
                let _ = probe.into_token();
                breaker.clock().advance(Duration::from_secs(60));
                breaker
            }

            fn returning(dice: u32) -> &'static Gradual {
                let rules = RULES.gradual_return(50, Duration::from_secs(60));
                let breaker = Breaker::over(Word::new(0), rules, Fixed(dice));
                breaker.trip();
                breaker.probe_now();
                breaker.acquire().unwrap().success();
                Box::leak(Box::new(breaker))
            }

            fn tallied() -> &'static Tallied {
                let half = Ratio::percent(50).of_last(20);
                let builder = Breaker::builder(RULES.failure_ratio(half), ManualClock::new());
                let builder = builder.word(Word::new(0));
                let last = LastCalls::over(Word::new(0));
                Box::leak(Box::new(builder.last_calls(last).build()))
            }

            #[library_benchmark]
            #[bench::once(closed())]
            fn nothing(breaker: &'static Subject) -> bool {
                black_box(breaker);
                true
            }

            #[library_benchmark]
            #[bench::once(closed())]
            fn closed_permit(breaker: &'static Subject) -> bool {
                breaker.acquire().map(succeed).is_ok()
            }

            #[library_benchmark]
            #[bench::once(closed())]
            fn closed_call(breaker: &'static Subject) -> bool {
                breaker.call(|| Ok::<_, ()>(black_box(1))).is_ok()
            }

            #[library_benchmark]
            #[bench::once(closed())]
            fn closed_future(breaker: &'static Subject) -> bool {
                let call = pin!(breaker.call_async(|| async { Ok::<_, ()>(black_box(1)) }));
                call.poll(&mut Context::from_waker(Waker::noop()))
                    .is_ready()
            }

            #[library_benchmark]
            #[bench::once(closed())]
            fn failure(breaker: &'static Subject) -> bool {
                breaker.acquire().map(fail).is_ok()
            }

            #[library_benchmark]
            #[bench::once(failed_once())]
            fn success_after_a_failure(breaker: &'static Subject) -> bool {
                breaker.acquire().map(succeed).is_ok()
            }

            #[library_benchmark]
            #[bench::once(failed_once())]
            fn failure_that_trips(breaker: &'static Subject) -> bool {
                breaker.acquire().map(fail).is_ok()
            }

            #[library_benchmark]
            #[bench::once(open())]
            fn rejection(breaker: &'static Subject) -> bool {
                breaker.acquire().is_err()
            }

            #[library_benchmark]
            #[bench::once(at_the_deadline())]
            fn admission_of_the_first_probe(breaker: &'static Subject) -> Permit<&'static Subject> {
                breaker.acquire().unwrap()
            }

            #[library_benchmark]
            #[bench::once(half_open())]
            fn rejection_while_half_open(
                half_open: (&'static Subject, Permit<&'static Subject>),
            ) -> Permit<&'static Subject> {
                black_box(half_open.0.acquire().is_err());
                half_open.1
            }

            #[library_benchmark]
            #[bench::once(probe())]
            fn probe_that_closes(probe: Permit<&'static Subject>) {
                probe.success();
            }

            #[library_benchmark]
            #[bench::once(probe())]
            fn probe_that_reopens(probe: Permit<&'static Subject>) {
                probe.failure();
            }

            #[library_benchmark]
            #[bench::once(probe())]
            fn probe_given_back(probe: Permit<&'static Subject>) {
                probe.cancel();
            }

            #[library_benchmark]
            #[bench::once(tallied())]
            fn closed_permit_with_tally(breaker: &'static Tallied) -> bool {
                breaker.acquire().map(succeed).is_ok()
            }

            #[library_benchmark]
            #[bench::once(closed())]
            fn closed_attempt(breaker: &'static Subject) -> bool {
                let attempt = breaker.acquire().map(Permit::failing_when_dropped);
                attempt
                    .map(|attempt| {
                        attempt.success();
                    })
                    .is_ok()
            }

            #[library_benchmark]
            #[bench::once(closed())]
            fn closed_permit_by_shared_rules(breaker: &'static Subject) -> bool {
                static SHARED: Rules<<Word as atomic_breaker::word::Word>::Bits> =
                    Rules::new(RULES);
                let other = breaker.with_rules(black_box(&SHARED));
                other.acquire().map(succeed).is_ok()
            }

            #[library_benchmark]
            #[bench::once(failed_once())]
            fn failure_that_trips_and_its_answer(breaker: &'static Subject) -> bool {
                let permit = breaker.acquire();
                permit.is_ok_and(|permit| black_box(permit.failure()).is_some())
            }

            #[library_benchmark]
            #[bench::once(long_after_a_probe())]
            fn next_round_after_a_lost_probe(breaker: &'static Subject) -> bool {
                breaker.acquire().map(Permit::into_token).is_ok()
            }

            #[library_benchmark]
            #[bench::once(returning(0))]
            fn call_that_passes_while_returning(breaker: &'static Gradual) -> bool {
                breaker.acquire().map(succeed).is_ok()
            }

            #[library_benchmark]
            #[bench::once(returning(u32::MAX))]
            fn rejection_while_returning(breaker: &'static Gradual) -> bool {
                breaker.acquire().is_err()
            }

            library_benchmark_group!(
                name = $group,
                benchmarks = [
                    nothing,
                    closed_permit,
                    closed_call,
                    closed_future,
                    failure,
                    success_after_a_failure,
                    failure_that_trips,
                    rejection,
                    admission_of_the_first_probe,
                    rejection_while_half_open,
                    probe_that_closes,
                    probe_that_reopens,
                    probe_given_back,
                    closed_permit_with_tally,
                    closed_attempt,
                    closed_permit_by_shared_rules,
                    failure_that_trips_and_its_answer,
                    next_round_after_a_lost_probe,
                    call_that_passes_while_returning,
                    rejection_while_returning
                ]
            );
        }
    };
}

on!(wide, bits_64, atomic_breaker::word::AtomicU64);
on!(narrow, bits_32, atomic_breaker::word::AtomicU32);

/// The ratio over a sliding time, which servers use. Its clock has a type of its own: with the one of the others, their
/// code would be shared with it, and their counts would be other ones.
mod sliding {
    use super::*;

    use atomic_breaker_server::{Ratio, SlidingBreaker, SlidingRatio};

    struct Still;

    impl Clock for Still {
        fn now_ms(&self) -> u32 {
            0
        }
    }

    static BREAKER: SlidingBreaker<Still> = Breaker::builder(
        RULES.failure_ratio(Ratio::percent(50).within(Duration::from_secs(10))),
        Still,
    )
    .const_tally(SlidingRatio::by(Still))
    .build();

    /// The thread has its shard, and the slice of time is running.
    fn counting() -> &'static SlidingBreaker<Still> {
        BREAKER.acquire().map(succeed).unwrap();
        &BREAKER
    }

    #[library_benchmark]
    #[bench::once(counting())]
    fn closed_permit(breaker: &'static SlidingBreaker<Still>) -> bool {
        breaker.acquire().map(succeed).is_ok()
    }

    #[library_benchmark]
    #[bench::once(counting())]
    fn failure(breaker: &'static SlidingBreaker<Still>) -> bool {
        breaker.acquire().map(fail).is_ok()
    }

    library_benchmark_group!(name = sliding_ratio, benchmarks = [closed_permit, failure]);
}

use narrow::bits_32;
use sliding::sliding_ratio;
use wide::bits_64;

main!(library_benchmark_groups = [bits_64, bits_32, sliding_ratio]);
