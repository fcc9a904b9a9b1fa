// SPDX-License-Identifier: MIT OR Apache-2.0
//! A breaker is put together at each call, around a word, with rules that many words share.

use std::hint::black_box;

use atomic_breaker::word::{AtomicU32, AtomicU64};
use atomic_breaker::{Breaker, ManualClock, Rules};
use criterion::{BenchmarkId, Criterion};

use super::{AnyWord, RULES, succeed};

pub(crate) fn on_both_words(criterion: &mut Criterion) {
    on::<AtomicU64>(criterion);
    on::<AtomicU32>(criterion);
}

fn on<W: AnyWord>(criterion: &mut Criterion) {
    let clock = ManualClock::new();
    let (word, rules) = (W::default(), Rules::new(RULES));
    let mut group = criterion.benchmark_group("shared rules");
    let id = |name| BenchmarkId::new(name, W::NAME);

    group.bench_function(id("closed permit"), |bencher| {
        bencher.iter(|| {
            let (word, rules) = black_box((&word, &rules));
            let breaker = Breaker::from_parts(word, rules, &clock, (), ());
            breaker.acquire().map(succeed).is_ok()
        });
    });
    group.bench_function(id("closed permit, other rules over a breaker"), |bencher| {
        let breaker = Breaker::over(W::default(), RULES, &clock);
        bencher.iter(|| {
            let other = black_box(&breaker).with_rules(black_box(&rules));
            other.acquire().map(succeed).is_ok()
        });
    });
}
