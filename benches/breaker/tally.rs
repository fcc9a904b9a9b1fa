//! The share of the last calls, in a second word.

use std::hint::black_box;

use atomic_breaker::tally::Call;
use atomic_breaker::word::{AtomicU32, AtomicU64};
use atomic_breaker::{LastCalls, ManualClock, Permit, Tally};
use criterion::{BenchmarkId, Criterion};

use super::{AnyWord, RULES, breaker};

pub(crate) fn on_both_words(criterion: &mut Criterion) {
    on::<AtomicU64>(criterion);
    on::<AtomicU32>(criterion);
}

fn on<W: AnyWord>(criterion: &mut Criterion) {
    let clock = ManualClock::new();
    let mut group = criterion.benchmark_group("tally");
    let id = |name| BenchmarkId::new(name, W::NAME);

    group.bench_function(id("recorded"), |bencher| {
        let last = LastCalls::over(W::default(), 20, 20, 100);
        bencher.iter(|| black_box(&last).record(Call::success(0)));
    });
    group.bench_function(id("closed permit with it"), |bencher| {
        let last = LastCalls::over(W::default(), 20, 20, 100);
        let breaker = breaker::<W>(RULES, &clock).with_tally(last);
        bencher.iter(|| black_box(&breaker).acquire().map(Permit::success));
    });
}
