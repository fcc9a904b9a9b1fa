// SPDX-License-Identifier: MIT OR Apache-2.0
//! Our layers.

use std::convert::Infallible;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use atomic_breaker_http::{Breaker, Config, Guard, Ratio, Registry, breaker};
use atomic_breaker_server::{ByKey, Resource, SlidingRatio};
use atomic_breaker_std::CoarseClock;
use atomic_breaker_tower::BreakerLayer;
use benches::hosts::HOSTS;
use benches::rounds::Case;
use rustc_hash::FxBuildHasher;
use tower::{Layer, Service};

use crate::requests::{Answers, Request, by_tower, case};

pub(crate) const BARE: &str = "no breaker";
pub(crate) const STATIC: &str = "`BreakerLayer`, `&'static Breaker`";
/// By hasher; a key has a slot since it failed, even when it is clear again.
pub(crate) const BY_KEY: [[&str; 2]; 2] = [
    [
        "by key, std's hasher, keys without a slot",
        "by key, std's hasher, keys with a slot",
    ],
    [
        "by key, a fast hasher, keys without a slot",
        "by key, a fast hasher, keys with a slot",
    ],
];

static ONE: Breaker = breaker(Config::new());
static RESOURCE: Resource = Resource::new(breaker(Config::new()));

pub(crate) fn cases() -> Vec<Case> {
    let [absent, present] = BY_KEY[0];
    let [fast_absent, fast_present] = BY_KEY[1];
    vec![
        one(BARE, || Answers),
        one(STATIC, || BreakerLayer::new(&ONE).layer(Answers)),
        one("`BreakerLayer`, `&'static Resource`", || {
            BreakerLayer::new(&RESOURCE).layer(Answers)
        }),
        one("`BreakerLayer`, `Arc<Breaker>`", || {
            BreakerLayer::new(Arc::new(breaker(Config::new()))).layer(Answers)
        }),
        sliding(),
        by_key::<RandomState>(absent, &[]),
        by_key::<RandomState>(present, &HOSTS),
        by_key::<FxBuildHasher>(fast_absent, &[]),
        by_key::<FxBuildHasher>(fast_present, &HOSTS),
    ]
}

fn one<S>(name: &str, make: impl Fn() -> S + Send + Sync + 'static) -> Case
where
    S: Service<Request, Response = usize> + Clone + Send + Sync + 'static,
{
    case(name, make, by_tower)
}

/// With a share over time, as seatbelt has.
fn sliding() -> Case {
    let ratio = Ratio::percent(50).within(Duration::from_secs(10));
    let config = Config::new().failure_ratio(ratio.min_calls(20));
    let breakers = in_turn(move || {
        let builder = Breaker::builder(config, CoarseClock);
        builder
            .tally(SlidingRatio::<_, 16>::by(CoarseClock))
            .build()
    });
    one("`BreakerLayer`, `SlidingRatio`, coarse clock", move || {
        BreakerLayer::new(breakers()).layer(Answers)
    })
}

/// By host. `failed` failed once and have a slot since, but are clear again.
fn by_key<S>(name: &str, failed: &'static [&'static str]) -> Case
where
    S: BuildHasher + Default + Send + Sync + 'static,
{
    let registries = in_turn(move || {
        let builder = Registry::<&'static str>::builder(Config::new());
        let hosts = builder.hasher(S::default()).build();
        let hosts = hosts.expect("constant rules");
        for host in failed {
            let _ = hosts.of(host).call(|| Err::<(), _>("once"));
            let clear = hosts.of(host).call(|| Ok::<_, Infallible>(()));
            clear.expect("closed");
        }
        hosts
    });
    one(name, move || {
        let by_host = ByKey::new(registries(), |request: &Request| request.host);
        BreakerLayer::new(by_host).layer(Answers)
    })
}

/// Values for laps to use in turn: several, as the address of one and the seed by which it hashes are luck;
/// but not one for each lap, as they are leaked.
fn in_turn<T: Sync + 'static>(make: impl Fn() -> T) -> impl Fn() -> &'static T + Send + Sync {
    let all: [&'static T; 8] = std::array::from_fn(|_| &*Box::leak(Box::new(make())));
    let next = AtomicUsize::new(0);
    move || all[next.fetch_add(1, Ordering::Relaxed) % all.len()]
}
