// SPDX-License-Identifier: MIT OR Apache-2.0
//! Transitions: the whole circle, and single ones by command.

use std::hint::black_box;

use atomic_breaker::ManualClock;
use atomic_breaker::word::{AtomicU32, AtomicU64};
use criterion::{BenchmarkId, Criterion};

use super::{AnyWord, LATER, OPEN_FOR, RULES, breaker, fail, succeed};

pub(crate) fn on_both_words(criterion: &mut Criterion) {
    on::<AtomicU64>(criterion);
    on::<AtomicU32>(criterion);
}

fn on<W: AnyWord>(criterion: &mut Criterion) {
    let clock = ManualClock::new();
    let mut group = criterion.benchmark_group("transition");
    let id = |name| BenchmarkId::new(name, W::NAME);

    group.bench_function(id("closed, open, half-open, closed"), |bencher| {
        let breaker = breaker::<W>(RULES.consecutive_failures(1), &clock);
        bencher.iter(|| {
            let _ = black_box(&breaker).acquire().map(fail);
            clock.advance(LATER);
            black_box(&breaker).acquire().map(succeed)
        });
    });
    group.bench_function(id("tripped with growth and jitter"), |bencher| {
        let rules = RULES
            .exponential(2, OPEN_FOR * 8)
            .jitter_percent(20)
            .seed(1);
        let breaker = breaker::<W>(rules, &clock);
        bencher.iter(|| {
            black_box(&breaker).trip();
            black_box(&breaker).reset();
        });
    });
    group.bench_function(id("reset"), |bencher| {
        let breaker = breaker::<W>(RULES, &clock);
        bencher.iter(|| black_box(&breaker).reset());
    });
}
