// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rejections, and how much of their time is the clock's.

use std::hint::black_box;
use std::time::Instant;

use atomic_breaker::{
    Breaker, Clock, ManualClock,
    word::{AtomicU32, AtomicU64},
};
#[cfg(unix)]
use atomic_breaker_http::StdClock;
use atomic_breaker_std::{BootClock, CoarseClock};
use criterion::{BenchmarkId, Criterion};

use super::{AnyWord, RULES};

pub(crate) fn on_both_words(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("reading");
    group.bench_function("Instant", |bencher| bencher.iter(Instant::now));
    group.bench_function("StdClock", |bencher| bencher.iter(|| StdClock.now_ms()));
    #[cfg(unix)]
    group.bench_function("BootClock", |bencher| bencher.iter(|| BootClock.now_ms()));
    group.bench_function("CoarseClock", |bencher| {
        bencher.iter(|| CoarseClock.now_ms());
    });
    group.finish();
    on::<AtomicU64>(criterion);
    on::<AtomicU32>(criterion);
}

fn on<W: AnyWord>(criterion: &mut Criterion) {
    by::<W>(criterion, "StdClock", StdClock);
    #[cfg(unix)]
    by::<W>(criterion, "BootClock", BootClock);
    by::<W>(criterion, "CoarseClock", CoarseClock);
    by::<W>(criterion, "ManualClock", &ManualClock::new());
    let mut group = criterion.benchmark_group("rejection");
    group.bench_function(
        BenchmarkId::new("forced open, no clock", W::NAME),
        |bencher| {
            let breaker = Breaker::over(W::default(), RULES, StdClock);
            breaker.force_open();
            bencher.iter(|| black_box(&breaker).acquire().is_err());
        },
    );
}

fn by<W: AnyWord>(criterion: &mut Criterion, name: &str, clock: impl Clock) {
    let rules = RULES.open_for(std::time::Duration::from_secs(1_000));
    let breaker = Breaker::over(W::default(), rules, clock);
    breaker.trip();
    let mut group = criterion.benchmark_group("rejection");
    group.bench_function(BenchmarkId::new(name, W::NAME), |bencher| {
        bencher.iter(|| black_box(&breaker).acquire().is_err());
    });
}
