// SPDX-License-Identifier: MIT OR Apache-2.0
//! One breaker per host.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use atomic_breaker_http::{Breaker, Config, State, StdClock};
use atomic_breaker_server::{Observer, Snapshot, Transition, word::NativeWord};

/// A short open time, so that the example is short; a few seconds are usual.
const RULES: Config = Config::new()
    .consecutive_failures(3)
    .open_for(Duration::from_millis(500))
    .exponential(2, Duration::from_secs(30))
    .jitter_percent(20);

/// A breaker with a named observer type can be stored in a map; one with a closure has a type that cannot be written
/// down.
pub(crate) type HostBreaker = Breaker<StdClock, NativeWord, (), Log>;

/// The address of a host, and the breaker before it.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) address: SocketAddr,
    pub(crate) breaker: HostBreaker,
}

/// The hosts that the service knows. They come from its settings, so the map never changes and needs
/// no lock.
#[derive(Debug)]
pub(crate) struct Hosts(BTreeMap<&'static str, Host>);

impl Hosts {
    pub(crate) fn new<const N: usize>(addresses: [(&'static str, SocketAddr); N]) -> Self {
        let host = |(name, address)| {
            let breaker = Breaker::builder(RULES, StdClock)
                .observer(Log { name })
                .build();
            (name, Host { address, breaker })
        };
        Self(addresses.map(host).into())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Host> {
        self.0.get(name)
    }

    /// The states of all breakers, each taken with one load.
    pub(crate) fn status(&self) -> BTreeMap<&'static str, Snapshot> {
        let snapshot = |(name, host): (&&'static str, &Host)| (*name, host.breaker.snapshot());
        self.0.iter().map(snapshot).collect()
    }
}

/// Writes a line per transition of one breaker.
#[derive(Debug)]
pub(crate) struct Log {
    name: &'static str,
}

impl Observer for Log {
    fn transition(&self, transition: &Transition) {
        let name = self.name;
        if transition.to == State::Open {
            tracing::warn!("{name}: {transition}");
        } else {
            tracing::info!("{name}: {transition}");
        }
    }
}
