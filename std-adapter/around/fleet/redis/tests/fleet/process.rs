// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instances of a fleet, all in this process: each with a breaker, a task and connections of its own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use atomic_breaker_fleet::{FleetConfig, Joined, Seat};
use atomic_breaker_fleet_redis::RedisFleet;
use atomic_breaker_server::{Breaker, Clock, Config, State, StdClock, word::NativeWord};

use crate::server::Server;

/// A clock that is ahead of the others by this many milliseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ahead(u32);

impl Clock for Ahead {
    fn now_ms(&self) -> u32 {
        StdClock.now_ms().wrapping_add(self.0)
    }

    fn entropy(&self) -> u32 {
        StdClock.entropy()
    }
}

pub(crate) struct Process {
    pub(crate) joined: Joined,
    pub(crate) breaker: Arc<Breaker<Ahead, NativeWord, (), Seat>>,
}

/// The open time; the grace is 1 s.
pub(crate) const OPEN_MS: u64 = 2_000;
pub(crate) const GRACE_MS: u64 = 1_000;

impl Process {
    pub(crate) fn new(fleet: RedisFleet) -> Self {
        Self::ahead(fleet, 0)
    }

    /// Joins with a clock that is ahead of the others by this many milliseconds.
    pub(crate) fn ahead(fleet: RedisFleet, ms: u32) -> Self {
        let config = FleetConfig::new(3).poll(Duration::from_millis(500));
        let joined = Joined::new(fleet, config).unwrap();
        let seat = joined.seat("payments").unwrap();
        let rules = Config::new()
            .consecutive_failures(3)
            .open_for(Duration::from_millis(OPEN_MS));
        let breaker = Breaker::builder(rules, Ahead(ms))
            .observer(seat.clone())
            .build();
        let breaker = Arc::new(breaker);
        assert!(seat.take(Arc::clone(&breaker)));
        Self { joined, breaker }
    }

    /// Makes a call, and returns whether it was admitted.
    pub(crate) fn call(&self, is_up: bool) -> bool {
        let result = if is_up { Ok(()) } else { Err(()) };
        !matches!(
            self.breaker.call(|| result),
            Err(atomic_breaker_server::CallError::Rejected(_))
        )
    }
}

pub(crate) async fn until(mut is_so: impl FnMut() -> bool, limit_ms: u64, what: &str) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_millis(limit_ms), "{what}");
        pause(5).await;
    }
}

/// Ten processes whose breakers are open by three votes.
pub(crate) async fn open_fleet(server: &Server) -> Vec<Process> {
    let all: Vec<Process> = (0..10).map(|_| Process::new(server.fleet())).collect();
    connected(&all).await;
    trip(&all).await;
    all
}

pub(crate) async fn connected(all: &[Process]) {
    let are_connected = || {
        all.iter()
            .all(|process| process.joined.status().is_connected)
    };
    until(are_connected, 15_000, "connected").await;
}

pub(crate) async fn trip(all: &[Process]) {
    for sick in &all[..3] {
        for _ in 0..3 {
            sick.call(false);
        }
    }
    let are_open = || {
        let mut all = all.iter();
        all.all(|process| process.breaker.state() == State::Open)
    };
    until(are_open, 1_000, "open").await;
}

pub(crate) async fn pause(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}
