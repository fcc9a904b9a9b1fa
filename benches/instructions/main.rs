//! Instructions of each operation on x86-64, counted by callgrind: the same on every run, so that a
//! single one more is seen.
//!
//! ```console
//! .ci/locked-counts
//! ```
//!
//! counts them with the compiler that the locked counts name, and compares. What is counted is one
//! call of a function that does the operation once: its own entry and exit included, `nothing` shows
//! how much that is. The clock stands still.

// The macros of gungraun are not made for these lints.
#![allow(missing_docs, unused_qualifications, clippy::pedantic)]

use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use atomic_breaker::{Breaker, Config, ManualClock};
use gungraun::prelude::*;

const OPEN_FOR: Duration = Duration::from_secs(1);
const RULES: Config = Config::new().consecutive_failures(2).open_for(OPEN_FOR);

macro_rules! on {
    ($module:ident, $group:ident, $word:ty) => {
        mod $module {
            use super::*;

            use atomic_breaker::{LastCalls, Permit};

            type Word = $word;
            type Subject = Breaker<ManualClock, Word>;
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

            fn half_open() -> (&'static Subject, Permit<'static, ManualClock, Word>) {
                let breaker = at_the_deadline();
                (breaker, breaker.acquire().unwrap())
            }

            fn probe() -> Permit<'static, ManualClock, Word> {
                half_open().1
            }

            fn tallied() -> &'static Tallied {
                let last = LastCalls::over(Word::new(0), 20, 10, 50);
                Box::leak(Box::new(Breaker::from_parts(
                    Word::new(0),
                    RULES,
                    ManualClock::new(),
                    last,
                    (),
                )))
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
                breaker.acquire().map(Permit::success).is_ok()
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
                breaker.acquire().map(Permit::failure).is_ok()
            }

            #[library_benchmark]
            #[bench::once(failed_once())]
            fn success_after_a_failure(breaker: &'static Subject) -> bool {
                breaker.acquire().map(Permit::success).is_ok()
            }

            #[library_benchmark]
            #[bench::once(failed_once())]
            fn failure_that_trips(breaker: &'static Subject) -> bool {
                breaker.acquire().map(Permit::failure).is_ok()
            }

            #[library_benchmark]
            #[bench::once(open())]
            fn refusal(breaker: &'static Subject) -> bool {
                breaker.acquire().is_err()
            }

            #[library_benchmark]
            #[bench::once(at_the_deadline())]
            fn admission_of_the_first_probe(
                breaker: &'static Subject,
            ) -> Permit<'static, ManualClock, Word> {
                breaker.acquire().unwrap()
            }

            #[library_benchmark]
            #[bench::once(half_open())]
            fn refusal_while_half_open(
                half_open: (&'static Subject, Permit<'static, ManualClock, Word>),
            ) -> Permit<'static, ManualClock, Word> {
                black_box(half_open.0.acquire().is_err());
                half_open.1
            }

            #[library_benchmark]
            #[bench::once(probe())]
            fn probe_that_closes(probe: Permit<'static, ManualClock, Word>) {
                probe.success();
            }

            #[library_benchmark]
            #[bench::once(probe())]
            fn probe_that_reopens(probe: Permit<'static, ManualClock, Word>) {
                probe.failure();
            }

            #[library_benchmark]
            #[bench::once(probe())]
            fn probe_given_back(probe: Permit<'static, ManualClock, Word>) {
                probe.cancel();
            }

            #[library_benchmark]
            #[bench::once(tallied())]
            fn closed_permit_with_tally(breaker: &'static Tallied) -> bool {
                breaker.acquire().map(Permit::success).is_ok()
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
                    refusal,
                    admission_of_the_first_probe,
                    refusal_while_half_open,
                    probe_that_closes,
                    probe_that_reopens,
                    probe_given_back,
                    closed_permit_with_tally
                ]
            );
        }
    };
}

on!(wide, bits_64, atomic_breaker::word::AtomicU64);
on!(narrow, bits_32, atomic_breaker::word::AtomicU32);

use narrow::bits_32;
use wide::bits_64;

main!(library_benchmark_groups = [bits_64, bits_32]);
