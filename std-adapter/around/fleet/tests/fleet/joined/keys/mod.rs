// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keys of a registry follow their fleet, each by itself.

mod bounds;
mod callers;
mod outage;
mod remembered;

use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_fleet::{
    Ask, Fleet, FleetConfig, FleetStatus, InProcess, InstanceId, Joined, Name, Seats,
};
use atomic_breaker_server::{Guard, Registry, ServiceError, State, TokioClock};

use super::support::{or_closed, rules};

pub(super) type Hosts = Registry<String, TokioClock, (), Seats<String>>;

pub(super) struct Process {
    joined: Joined,
    pub(super) hosts: Arc<Hosts>,
}

impl Process {
    pub(super) fn new(engine: &InProcess, capacity: usize) -> Self {
        Self::with(engine, capacity, FleetConfig::new(3))
    }

    pub(super) fn with(engine: &InProcess, capacity: usize, fleet: FleetConfig) -> Self {
        let joined = Joined::new(engine.clone(), fleet).unwrap();
        let seats = joined.seats("hosts").unwrap();
        let hosts = Registry::builder(rules())
            .capacity(capacity)
            .clock(TokioClock)
            .observer(seats.clone())
            .build();
        let hosts = Arc::new(hosts.unwrap());
        assert!(seats.take(Arc::clone(&hosts)));
        Self { joined, hosts }
    }

    pub(super) fn state(&self, host: &str) -> State {
        or_closed(self.hosts.state(&host.to_owned()))
    }

    /// Makes one call, and returns whether it was admitted.
    pub(super) fn call(&self, host: &str, is_up: bool) -> bool {
        let result = if is_up { Ok(()) } else { Err("down") };
        let called = self.hosts.of(host.to_owned()).call(|| result);
        !matches!(called, Err(ServiceError::Rejected(_)))
    }

    pub(super) fn trip(&self, host: &str) {
        for _ in 0..3 {
            self.call(host, false);
        }
    }

    pub(super) fn status(&self) -> FleetStatus {
        self.joined.status()
    }
}

pub(super) async fn idle(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

async fn processes(engine: &InProcess, count: usize) -> Vec<Process> {
    let all = (0..count).map(|_| Process::new(engine, 64)).collect();
    idle(20).await;
    all
}

fn count(all: &[Process], host: &str, state: State) -> usize {
    let of = |process: &&Process| process.state(host) == state;
    all.iter().filter(of).count()
}

/// Votes of three instances elsewhere.
pub(super) async fn open_elsewhere(engine: &InProcess, name: &[u8]) {
    let name = Name::new(name).unwrap();
    for voter in 1..=3 {
        let vote = Ask::Vote {
            quorum: 3,
            window_ms: 10_000,
            age_ms: 0,
            open_ms: 10_000,
            known: 0,
        };
        let asked = engine.ask(InstanceId::new(voter), &name, vote).await;
        asked.unwrap();
    }
}
