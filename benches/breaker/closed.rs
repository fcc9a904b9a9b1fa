// SPDX-License-Identifier: MIT OR Apache-2.0
//! The path of a call while all is well.

use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use atomic_breaker::word::{AtomicU32, AtomicU64};
use atomic_breaker::{Breaker, Cause, ManualClock, Observer, Permit, Transition};
use criterion::{BenchmarkId, Criterion};

use super::{AnyWord, RULES, breaker, succeed};

pub(crate) fn on_both_words(criterion: &mut Criterion) {
    criterion.bench_function("closed/bare closure", |bencher| {
        bencher.iter(|| Ok::<_, ()>(black_box(1)));
    });
    criterion.bench_function("closed/bare future", |bencher| {
        let mut context = Context::from_waker(Waker::noop());
        bencher.iter(|| {
            let future = pin!(async { Ok::<_, ()>(black_box(1)) });
            future.poll(&mut context)
        });
    });
    on::<AtomicU64>(criterion);
    on::<AtomicU32>(criterion);
}

/// Keeps the last cause.
struct Watching(std::cell::Cell<Option<Cause>>);

impl Observer for Watching {
    fn transition(&self, transition: &Transition) {
        self.0.set(Some(transition.cause));
    }
}

fn on<W: AnyWord>(criterion: &mut Criterion) {
    let clock = ManualClock::new();
    let mut group = criterion.benchmark_group("closed");
    let id = |name| BenchmarkId::new(name, W::NAME);

    group.bench_function(id("permit"), |bencher| {
        let breaker = breaker::<W>(RULES, &clock);
        bencher.iter(|| black_box(&breaker).acquire().map(succeed));
    });
    group.bench_function(id("attempt"), |bencher| {
        let breaker = breaker::<W>(RULES, &clock);
        bencher.iter(|| {
            let permit = black_box(&breaker).acquire();
            let attempt = permit.map(Permit::failing_when_dropped);
            attempt.map(|attempt| {
                attempt.success();
            })
        });
    });
    group.bench_function(id("call"), |bencher| {
        let breaker = breaker::<W>(RULES, &clock);
        bencher.iter(|| black_box(&breaker).call(|| Ok::<_, ()>(black_box(1))));
    });
    group.bench_function(id("future"), |bencher| {
        let breaker = breaker::<W>(RULES, &clock);
        let mut context = Context::from_waker(Waker::noop());
        bencher.iter(|| {
            let call = black_box(&breaker).call_async(|| async { Ok::<_, ()>(black_box(1)) });
            pin!(call).poll(&mut context)
        });
    });
    group.bench_function(id("permit, observed"), |bencher| {
        let breaker = Breaker::builder(RULES, &clock)
            .word(W::default())
            .observer(Watching(None.into()))
            .build();
        bencher.iter(|| black_box(&breaker).acquire().map(succeed));
    });
    group.bench_function(id("permit, measured for slowness"), |bencher| {
        let breaker = breaker::<W>(RULES.slow_call(Duration::from_secs(1)), &clock);
        bencher.iter(|| black_box(&breaker).acquire().map(succeed));
    });
}
