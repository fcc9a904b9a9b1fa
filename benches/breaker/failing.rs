//! Failures that do not trip, and the success that clears them.

use std::hint::black_box;

use atomic_breaker::word::{AtomicU32, AtomicU64};
use atomic_breaker::{Failure, ManualClock, Permit};
use criterion::{BenchmarkId, Criterion};

use super::{AnyWord, LATER, OPEN_FOR, RULES, breaker};

pub(crate) fn on_both_words(criterion: &mut Criterion) {
    on::<AtomicU64>(criterion);
    on::<AtomicU32>(criterion);
}

fn on<W: AnyWord>(criterion: &mut Criterion) {
    let clock = ManualClock::new();
    let mut group = criterion.benchmark_group("failing");
    let id = |name| BenchmarkId::new(name, W::NAME);

    // The count must not reach the limit, however often this is repeated: a failure in a window that
    // is over begins a new one.
    group.bench_function(id("first failure of a window"), |bencher| {
        let rules = RULES.failures_within(5, OPEN_FOR);
        let breaker = breaker::<W>(rules, &clock);
        bencher.iter(|| {
            clock.advance(LATER);
            black_box(&breaker).acquire().map(Permit::failure)
        });
    });
    group.bench_function(id("a failure, then a success"), |bencher| {
        let breaker = breaker::<W>(RULES, &clock);
        bencher.iter(|| {
            let _ = black_box(&breaker).acquire().map(Permit::failure);
            black_box(&breaker).acquire().map(Permit::success)
        });
    });
    group.bench_function(id("a failure that weighs nothing"), |bencher| {
        let breaker = breaker::<W>(RULES, &clock);
        bencher.iter(|| {
            let permit = black_box(&breaker).acquire();
            permit.map(|permit| permit.report(Failure::weighing(0)))
        });
    });
}
