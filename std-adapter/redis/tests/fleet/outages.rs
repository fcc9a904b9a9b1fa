//! The server is stopped, killed or flushed in the midst of an outage.

use std::sync::Arc;
use std::time::{Duration, Instant};

use atomic_breaker_redis::RedisFleet;
use atomic_breaker_std::fleet::{FleetConfig, Joined, Seat};
use atomic_breaker_std::word::NativeWord;
use atomic_breaker_std::{Breaker, Config, State, StdClock};

use crate::contract::pause;
use crate::server::Server;

struct Process {
    joined: Joined,
    breaker: Arc<Breaker<StdClock, NativeWord, (), Seat>>,
}

/// The open time; the grace is 1 s.
const OPEN_MS: u64 = 2_000;
const GRACE_MS: u64 = 1_000;

impl Process {
    fn new(fleet: RedisFleet) -> Self {
        let config = FleetConfig::new(3).poll(Duration::from_millis(500));
        let joined = Joined::new(fleet, config).unwrap();
        let seat = joined.seat("payments").unwrap();
        let rules = Config::new()
            .consecutive_failures(3)
            .open_for(Duration::from_millis(OPEN_MS));
        let breaker = Breaker::builder(rules, StdClock)
            .observer(seat.clone())
            .build();
        let breaker = Arc::new(breaker);
        assert!(seat.take(Arc::clone(&breaker)));
        Self { joined, breaker }
    }

    fn call(&self, is_up: bool) -> bool {
        let result = if is_up { Ok(()) } else { Err(()) };
        !matches!(
            self.breaker.call(|| result),
            Err(atomic_breaker_std::CallError::Rejected(_))
        )
    }
}

async fn until(mut is_so: impl FnMut() -> bool, limit_ms: u64, what: &str) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_millis(limit_ms), "{what}");
        pause(5).await;
    }
}

/// Ten processes whose breakers are open by three votes.
async fn open_fleet(server: &Server) -> Vec<Process> {
    let all: Vec<Process> = (0..10).map(|_| Process::new(server.fleet())).collect();
    let are_connected = || {
        all.iter()
            .all(|process| process.joined.status().is_connected)
    };
    until(are_connected, 10_000, "connected").await;
    trip(&all).await;
    all
}

async fn trip(all: &[Process]) {
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

/// Everybody is closed again by the deadline and the grace, with some time for a busy machine.
async fn returns(all: &[Process], opened: Instant) {
    let limit = Duration::from_millis(OPEN_MS + GRACE_MS + 500);
    let are_closed = || {
        let closed = all.iter().filter(|process| process.call(true));
        closed.count() == all.len()
    };
    until(are_closed, 10_000, "closed").await;
    assert!(opened.elapsed() <= limit, "{:?}", opened.elapsed());
}

#[tokio::test]
async fn one_probe_for_all_by_way_of_the_server() {
    let Some(server) = Server::start() else {
        return;
    };
    let all = open_fleet(&server).await;
    let mut probes = 0;
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(OPEN_MS + GRACE_MS) {
        probes += all.iter().filter(|process| process.call(false)).count();
        pause(5).await;
    }
    assert_eq!(probes, 1);
}

#[tokio::test]
async fn the_server_is_stopped_and_goes_on() {
    let Some(server) = Server::start() else {
        return;
    };
    let all = open_fleet(&server).await;
    let opened = Instant::now();
    server.signal("STOP");
    returns(&all, opened).await;
    server.signal("CONT");
    let are_connected = || {
        all.iter()
            .all(|process| process.joined.status().is_connected)
    };
    until(are_connected, 15_000, "connected again").await;
    trip(&all).await;
}

#[tokio::test]
async fn the_server_is_killed_and_started_again() {
    let Some(server) = Server::start() else {
        return;
    };
    let all = open_fleet(&server).await;
    let opened = Instant::now();
    let port = server.port();
    drop(server);
    returns(&all, opened).await;
    let _server = Server::start_at(port).expect("as before");
    let are_connected = || {
        all.iter()
            .all(|process| process.joined.status().is_connected)
    };
    until(are_connected, 15_000, "connected again").await;
    trip(&all).await;
}

#[tokio::test]
async fn the_server_is_flushed() {
    let Some(server) = Server::start() else {
        return;
    };
    let all = open_fleet(&server).await;
    let opened = Instant::now();
    server.command(&["FLUSHALL"]);
    returns(&all, opened).await;
    trip(&all).await;
}

#[tokio::test]
async fn every_connection_is_cut() {
    let Some(server) = Server::start() else {
        return;
    };
    let all = open_fleet(&server).await;
    let opened = Instant::now();
    server.command(&["CLIENT", "KILL", "TYPE", "normal"]);
    server.command(&["CLIENT", "KILL", "TYPE", "pubsub"]);
    returns(&all, opened).await;
}
