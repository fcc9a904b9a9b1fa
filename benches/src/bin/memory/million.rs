// SPDX-License-Identifier: MIT OR Apache-2.0
//! A million breakers, one per connection or per peer, touched at random by all threads.
//!
//! The cost of such a call is mostly the cost of memory: how many cache lines and pages it touches. So there
//! is a yardstick for each size: a relaxed load of as many places that are as far apart.

use std::hint::black_box;
use std::mem::size_of;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use atomic_breaker_http::{Breaker, Config, StdClock};
use atomic_breaker_server::{AnyBreaker, Rules, word, word::NativeWord};
use benches::contestant::{
    self, AtomicBreaker, BreakerCrate, Caller, CircuitBreakerCrate, CircuitbreakerRs, Contestant,
    Failsafe, Nobreak, Recloser, TowerResilience,
};
use benches::rounds::{Case, cores, measure};
use benches::table::Table;

const MILLION: usize = 1_000_000;
const ROUNDS: usize = 31;

/// The rules that a million words share.
const CONFIG: Config = Config::new().open_for(Duration::from_secs(1));
static RULES: Rules = Rules::new(CONFIG);
static NARROW_RULES: Rules<u32> = Rules::new(CONFIG);

pub(crate) fn table() -> Table {
    let all = cores();
    let cases = [
        loads("relaxed load, 8 bytes each", || AtomicU64::new(0)),
        words(),
        words_by_rules_at_run_time(),
        loads("relaxed load, 4 bytes each", || AtomicU32::new(0)),
        half_words(),
        loads(
            &format!("relaxed load, {} bytes each", size_of::<Breaker>()),
            || Apart(AtomicU64::new(0), [0; size_of::<Breaker>() - 8]),
        ),
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

/// A word with padding to the size of a breaker that has its rules inside.
#[repr(C)]
struct Apart(AtomicU64, [u8; size_of::<Breaker>() - 8]);

trait Load {
    fn load(&self);
}

impl Load for AtomicU64 {
    fn load(&self) {
        black_box(self.load(Ordering::Relaxed));
    }
}

impl Load for AtomicU32 {
    fn load(&self) {
        black_box(self.load(Ordering::Relaxed));
    }
}

impl Load for Apart {
    fn load(&self) {
        Load::load(&self.0);
    }
}

/// The yardstick: loads alone.
fn loads<T: Load + Send + Sync + 'static>(name: &str, make: impl Fn() -> T) -> Case {
    at_random(name, make, Load::load)
}

/// A breaker put together around a word at each call, with rules in a `static`.
fn words() -> Case {
    at_random(
        "atomic-breaker, 8 bytes each: words that share rules",
        || NativeWord::new(0),
        |word| passes(&Breaker::from_parts(word, &RULES, StdClock, (), ())),
    )
}

fn half_words() -> Case {
    at_random(
        "atomic-breaker, 4 bytes each: the same",
        || word::AtomicU32::new(0),
        |word| passes(&Breaker::from_parts(word, &NARROW_RULES, StdClock, (), ())),
    )
}

/// The same with rules that the compiler does not see, such as rules read from a file.
fn words_by_rules_at_run_time() -> Case {
    let rules: &Rules = black_box(&RULES);
    at_random(
        "atomic-breaker, 8 bytes each: rules made at run time",
        || NativeWord::new(0),
        move |word| passes(&Breaker::from_parts(word, rules, StdClock, (), ())),
    )
}

#[inline]
fn passes(breaker: &impl AnyBreaker) {
    let call = breaker.as_breaker().call(|| Ok::<_, ()>(black_box(1)));
    assert!(call.is_ok());
}

/// Breakers that each have everything inside or behind their own pointer.
fn breakers<C: Contestant>() -> Case {
    let name = match C::NAME {
        name @ AtomicBreaker::NAME => {
            format!("{name}, {} bytes each: rules inside", size_of::<C>())
        }
        name => name.into(),
    };
    at_random(
        &name,
        || C::new(contestant::Rules::LASTING),
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
