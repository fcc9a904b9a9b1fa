// SPDX-License-Identifier: MIT OR Apache-2.0
//! Probes: one compare-and-swap in, one out.

use std::hint::black_box;

use atomic_breaker::ManualClock;
use atomic_breaker::word::{AtomicU32, AtomicU64};
use criterion::{BenchmarkId, Criterion};

use super::{AnyWord, LATER, RULES, breaker};

pub(crate) fn on_both_words(criterion: &mut Criterion) {
    on::<AtomicU64>(criterion);
    on::<AtomicU32>(criterion);
}

fn on<W: AnyWord>(criterion: &mut Criterion) {
    let clock = ManualClock::new();
    let mut group = criterion.benchmark_group("half-open");
    let id = |name| BenchmarkId::new(name, W::NAME);

    group.bench_function(id("admitted and given back"), |bencher| {
        let breaker = breaker::<W>(RULES, &clock);
        breaker.trip();
        clock.advance(LATER);
        bencher.iter(|| drop(black_box(&breaker).acquire().expect("a slot is free")));
    });
    group.bench_function(id("rejected, all slots taken"), |bencher| {
        let breaker = breaker::<W>(RULES, &clock);
        breaker.trip();
        clock.advance(LATER);
        let _probe = breaker.acquire().expect("the open time is over");
        bencher.iter(|| black_box(&breaker).acquire().is_err());
    });
    group.bench_function(id("a lost round, and the next probe"), |bencher| {
        let breaker = breaker::<W>(RULES, &clock);
        breaker.trip();
        bencher.iter(|| {
            clock.advance(W::LONGEST + LATER);
            let probe = black_box(&breaker).acquire();
            probe.expect("the one before is lost").into_token()
        });
    });
}
