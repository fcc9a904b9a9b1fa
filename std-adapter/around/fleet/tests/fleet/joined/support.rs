// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processes, their calls, and the server that they call.

use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_fleet::{FleetConfig, FleetStatus, InProcess, Joined, Seat};
use atomic_breaker_server::{Breaker, Clock, Config, State, TokioClock, word::NativeWord};

/// A clock that is ahead of the others by this many milliseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ahead(pub(super) u32);

impl Clock for Ahead {
    fn now_ms(&self) -> u32 {
        TokioClock.now_ms().wrapping_add(self.0)
    }

    fn entropy(&self) -> u32 {
        self.0
    }
}

pub(super) struct Process {
    pub(super) joined: Option<Joined>,
    pub(super) breaker: Arc<Breaker<Ahead, NativeWord, (), Seat>>,
}

pub(super) struct World {
    pub(super) engine: InProcess,
    pub(super) processes: Vec<Process>,
    /// `true` if the server responds.
    pub(super) is_up: bool,
    /// The time of each call, in milliseconds since the start, and its instance.
    pub(super) made: Vec<(u64, usize)>,
    pub(super) now_ms: u64,
}

/// The grace after an open time of 10 s.
pub(super) const GRACE_MS: u64 = 1_000;
/// The time between two calls of a process.
pub(super) const STEP_MS: u64 = 10;

pub(super) fn rules() -> Config {
    Config::new()
        .consecutive_failures(3)
        .open_for(Duration::from_secs(10))
        .exponential(2, Duration::from_secs(40))
}

impl Process {
    pub(super) fn new(engine: &InProcess, fleet: FleetConfig, rules: Config, ahead: u32) -> Self {
        let joined = Joined::new(engine.clone(), fleet).unwrap();
        let seat = joined.seat("payments").unwrap();
        let breaker = Breaker::builder(rules, Ahead(ahead))
            .observer(seat.clone())
            .build();
        let breaker = Arc::new(breaker);
        assert!(seat.take(Arc::clone(&breaker)));
        Self {
            joined: Some(joined),
            breaker,
        }
    }

    /// Makes one call, and returns whether it was admitted.
    pub(super) fn call(&self, is_up: bool) -> bool {
        let Ok(permit) = self.breaker.acquire() else {
            return false;
        };
        if is_up {
            permit.success();
        } else {
            permit.failure();
        }
        true
    }

    pub(super) fn is_connected(&self) -> bool {
        let joined = self.joined.as_ref();
        joined.is_some_and(|joined| joined.status().is_connected)
    }
}

impl World {
    /// This many joined processes, whose clocks are an hour apart each.
    pub(super) async fn new(processes: u32, fleet: FleetConfig) -> Self {
        Self::with_rules(processes, fleet, rules()).await
    }

    pub(super) async fn with_rules(processes: u32, fleet: FleetConfig, rules: Config) -> Self {
        let engine = InProcess::new();
        let processes =
            (0..processes).map(|each| Process::new(&engine, fleet, rules, each * 3_600_000));
        let mut world = Self {
            processes: processes.collect(),
            engine,
            is_up: true,
            made: Vec::new(),
            now_ms: 0,
        };
        world.settle().await;
        assert!(world.processes.iter().all(Process::is_connected));
        world
    }

    /// Lets pending work finish, without calls.
    pub(super) async fn settle(&mut self) {
        self.idle(20).await;
    }

    pub(super) async fn idle(&mut self, ms: u64) {
        tokio::time::sleep(Duration::from_millis(ms)).await;
        self.now_ms += ms;
    }

    /// All processes call, every 10 ms.
    pub(super) async fn run(&mut self, ms: u64) {
        for _ in 0..ms / STEP_MS {
            for (number, process) in self.processes.iter().enumerate() {
                if process.call(self.is_up) {
                    self.made.push((self.now_ms, number));
                }
            }
            self.idle(STEP_MS).await;
        }
    }

    /// The server fails, and the fleet opens.
    pub(super) async fn trip(&mut self) {
        self.is_up = false;
        self.run(100).await;
        assert!(self.all_are(State::Open), "{self:?}");
        self.made.clear();
    }

    /// Of the first process.
    pub(super) fn status(&self) -> FleetStatus {
        self.processes[0].joined.as_ref().unwrap().status()
    }

    pub(super) fn all_are(&self, state: State) -> bool {
        self.count(state) == self.processes.len()
    }

    pub(super) fn count(&self, state: State) -> usize {
        let all = self.processes.iter();
        let is_in = |seen: State| seen == state || or_closed(seen) == state;
        all.filter(|process| is_in(process.breaker.state())).count()
    }
}

/// The state, or closed while only the trips are not forgotten yet: calls pass, where the return is not gradual.
pub(super) fn or_closed(state: State) -> State {
    match state {
        State::Returning => State::Closed,
        other => other,
    }
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let states = self
            .processes
            .iter()
            .map(|process| process.breaker.snapshot());
        f.debug_list().entries(states).finish()
    }
}
