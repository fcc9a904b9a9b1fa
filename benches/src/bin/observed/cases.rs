// SPDX-License-Identifier: MIT OR Apache-2.0
//! The measured cases: acquire and success without an observer, counted, and logged and counted.
//!
//! Calls follow each other at once, so that nothing hides their cost; if a call does some work, a processor
//! overlaps part of it.

use std::hint::black_box;

use atomic_breaker_http::{Breaker, Config, Guard, KeyedObserver, Outcome, Registry, StdClock};
use atomic_breaker_observe::{Log, Metrics, OfKeys};
use atomic_breaker_server::{AnyPermit, Observer};
use benches::hosts::{HOSTS, take_slots};
use benches::rounds::Case;
use rustc_hash::FxBuildHasher;

/// The comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    One,
    KeysWithSlot,
    KeysWithoutSlot,
}

impl Group {
    /// The claimed limit, in bare compare-and-swaps.
    pub(crate) const fn most_swaps(self) -> f64 {
        match self {
            Self::One => 1.0,
            Self::KeysWithSlot | Self::KeysWithoutSlot => 2.5,
        }
    }
}

pub(crate) struct Observed {
    pub(crate) group: Group,
    pub(crate) has_observer: bool,
    pub(crate) case: Case,
}

pub(crate) fn all() -> Vec<Observed> {
    let mut all = vec![
        one("a breaker", false, || ()),
        one("a breaker, metrics", true, || Metrics::new("one")),
        one("a breaker, log and metrics", true, || {
            (Log::new("one"), Metrics::new("one"))
        }),
    ];
    for (group, keys) in [
        (Group::KeysWithSlot, "keys with a slot"),
        (Group::KeysWithoutSlot, "keys without a slot"),
    ] {
        all.push(by_key(group, keys.to_owned(), false, || ()));
        all.push(by_key(group, format!("{keys}, metrics"), true, || {
            Metrics::<OfKeys>::new("keys")
        }));
        all.push(by_key(
            group,
            format!("{keys}, log and metrics"),
            true,
            || (Log::new("keys"), Metrics::<OfKeys>::new("keys")),
        ));
    }
    all
}

fn one<O: Observer + Send + Sync + 'static>(
    name: &str,
    has_observer: bool,
    observer: impl Fn() -> O + Send + Sync + 'static,
) -> Observed {
    let case = Case::new(name, move || {
        let breaker = Breaker::builder(Config::new(), StdClock)
            .observer(observer())
            .build();
        move |calls| {
            for _ in 0..calls {
                black_box(&breaker).acquire().expect("closed").success();
            }
        }
    });
    Observed {
        group: Group::One,
        has_observer,
        case,
    }
}

fn by_key<O: KeyedObserver<&'static str> + Send + Sync + 'static>(
    group: Group,
    name: String,
    has_observer: bool,
    observer: impl Fn() -> O + Send + Sync + 'static,
) -> Observed {
    let case = Case::new(name, move || {
        let builder = Registry::<&'static str>::builder(Config::new()).capacity(128);
        let builder = builder.hasher(FxBuildHasher).observer(observer());
        let hosts = builder.build().expect("constant rules");
        if group == Group::KeysWithSlot {
            take_slots(&hosts);
        }
        move |calls| {
            let mut random = fastrand::Rng::with_seed(1);
            for _ in 0..calls {
                let host = HOSTS[random.usize(..HOSTS.len())];
                let permit = black_box(&hosts).of(host).acquire().expect("closed");
                permit.report(Outcome::Success);
            }
        }
    });
    Observed {
        group,
        has_observer,
        case,
    }
}
