//! A million breakers, one per connection or per peer, touched at random by all threads.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use atomic_breaker::word::{AtomicU32, NativeWord};
use atomic_breaker_std::{Config, StdClock};
use benches::contestant::{
    AtomicBreaker, BreakerCrate, Caller, CircuitBreakerCrate, CircuitbreakerRs, Contestant,
    Failsafe, Nobreak, Recloser, Rules, TowerResilience,
};
use benches::rounds::{Case, cores, measure};
use benches::table::Table;

const MILLION: usize = 1_000_000;
const ROUNDS: usize = 31;

/// The rules that a million words share.
const RULES: Config = Config::new().open_for(Duration::from_secs(1));

pub(crate) fn table() -> Table {
    let all = cores();
    let cases = [
        loads(),
        words(),
        half_words(),
        breakers::<AtomicBreaker>(),
        breakers::<Failsafe>(),
        breakers::<Recloser>(),
        breakers::<TowerResilience>(),
        breakers::<CircuitbreakerRs>(),
        breakers::<CircuitBreakerCrate>(),
        breakers::<BreakerCrate>(),
        breakers::<Nobreak>(),
    ]
    .map(|case| case.by(all));
    let figures = measure(&cases, ROUNDS);
    let title = format!("closed call by each of {all} threads, ns");
    let mut table = Table::new(["", &title]);
    for (case, figure) in cases.iter().zip(figures) {
        table.row([case.name.clone(), figure.to_string()]);
    }
    table
}

/// What memory allows: a load somewhere in eight megabytes.
fn loads() -> Case {
    at_random(
        "relaxed load, 8 bytes each",
        || AtomicU64::new(0),
        |word| {
            black_box(word.load(Ordering::Relaxed));
        },
    )
}

fn words() -> Case {
    let name = "atomic-breaker, 8 bytes each: a breaker made around a word per call";
    at_random(
        name,
        || NativeWord::new(0),
        |word| {
            let breaker = atomic_breaker::Breaker::over(word, RULES, StdClock);
            assert!(breaker.call(|| Ok::<_, ()>(black_box(1))).is_ok());
        },
    )
}

fn half_words() -> Case {
    let name = "atomic-breaker, 4 bytes each, the same way";
    at_random(
        name,
        || AtomicU32::new(0),
        |word| {
            let breaker = atomic_breaker::Breaker::over(word, RULES, StdClock);
            assert!(breaker.call(|| Ok::<_, ()>(black_box(1))).is_ok());
        },
    )
}

fn breakers<C: Contestant>() -> Case {
    at_random(
        C::NAME,
        || C::new(Rules::LASTING),
        |breaker: &C| {
            black_box(breaker.caller().call(|| Ok(black_box(1))));
        },
    )
}

fn at_random<T: Send + Sync + 'static>(
    name: &str,
    make: impl Fn() -> T,
    touch: impl Fn(&T) + Copy + Send + Sync + 'static,
) -> Case {
    let million: Arc<[T]> = (0..MILLION).map(|_| make()).collect();
    Case::new(name, move || {
        let million = million.clone();
        move |calls| {
            let mut random = fastrand::Rng::new();
            for _ in 0..calls {
                touch(&million[random.usize(..MILLION)]);
            }
        }
    })
}
