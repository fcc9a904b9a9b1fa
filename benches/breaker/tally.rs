// SPDX-License-Identifier: MIT OR Apache-2.0
//! The share of the last calls, in a second word.

use std::hint::black_box;

use atomic_breaker::tally::Call;
use atomic_breaker::word::{AtomicU32, AtomicU64};
use atomic_breaker::{Breaker, LastCalls, ManualClock, Ratio, Tally};
use criterion::{BenchmarkId, Criterion};

use super::{AnyWord, RULES, succeed};

pub(crate) fn on_both_words(criterion: &mut Criterion) {
    on::<AtomicU64>(criterion);
    on::<AtomicU32>(criterion);
}

fn on<W: AnyWord>(criterion: &mut Criterion) {
    let clock = ManualClock::new();
    let mut group = criterion.benchmark_group("tally");
    let id = |name| BenchmarkId::new(name, W::NAME);

    let all = Ratio::percent(100).of_last(20).min_calls(20);
    group.bench_function(id("recorded"), |bencher| {
        let last = LastCalls::over(W::default());
        bencher.iter(|| black_box(&last).record(Call::success(0), Some(all)));
    });
    group.bench_function(id("closed permit with it"), |bencher| {
        let breaker = Breaker::builder(RULES.failure_ratio(all), &clock)
            .word(W::default())
            .last_calls(LastCalls::over(W::default()))
            .build();
        bencher.iter(|| black_box(&breaker).acquire().map(succeed));
    });
}
