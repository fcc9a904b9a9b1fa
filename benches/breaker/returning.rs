// SPDX-License-Identifier: MIT OR Apache-2.0
//! Traffic that comes back gradually: a random number, a comparison, no write.

use std::hint::black_box;
use std::time::Duration;

use atomic_breaker::word::{AtomicU32, AtomicU64};
use atomic_breaker::{Breaker, Clock, State};
use criterion::{BenchmarkId, Criterion};

use super::{AnyWord, RULES, succeed};

pub(crate) fn on_both_words(criterion: &mut Criterion) {
    on::<AtomicU64>(criterion);
    on::<AtomicU32>(criterion);
}

/// A clock that stands still and whose dice always fall the same way.
struct Fixed {
    dice: u32,
}

impl Clock for Fixed {
    fn now_ms(&self) -> u32 {
        black_box(0)
    }

    fn random(&self) -> u32 {
        black_box(self.dice)
    }
}

fn returning<W: AnyWord>(dice: u32) -> Breaker<Fixed, W> {
    let rules = RULES.gradual_return(50, Duration::from_mins(1));
    let breaker = Breaker::over(W::default(), rules, Fixed { dice });
    breaker.trip();
    breaker.probe_now();
    breaker.acquire().expect("a slot is free").success();
    assert_eq!(breaker.state(), State::Returning);
    breaker
}

fn on<W: AnyWord>(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("returning");
    let id = |name| BenchmarkId::new(name, W::NAME);

    group.bench_function(id("passes and succeeds"), |bencher| {
        let breaker = returning::<W>(0);
        bencher.iter(|| black_box(&breaker).acquire().map(succeed));
    });
    group.bench_function(id("rejected"), |bencher| {
        let breaker = returning::<W>(u32::MAX);
        bencher.iter(|| black_box(&breaker).acquire().is_err());
    });
}
