// SPDX-License-Identifier: MIT OR Apache-2.0
//! The breakers of this example, and how a call goes through them.

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use atomic_breaker_http::{Breaker, Config, State, StdClock};
use atomic_breaker_server::{CallError, Observer, Tally, Transition, word::NativeWord};

use super::load::{self, Outcome};

/// One breaker for the one server, for as long as the program runs; here it is one per run.
pub(crate) static WITH: Guard = Guard::new(RULES);
pub(crate) static ALL_AT_ONCE: Guard = Guard::new(RULES);
pub(crate) static GRADUALLY: Guard = Guard::new(GRADUAL);

const RULES: Config = Config::new()
    // Five in a row are no accident, and with eight threads they come at once.
    .consecutive_failures(5)
    // Short, because a call costs little and a wrong guess is soon corrected. Doubled while probes fail, so that a long
    // outage is probed less and less, down to twice a second.
    .open_for(Duration::from_millis(125))
    .exponential(2, Duration::from_millis(500))
    // Other processes that lost the same server do not return in lockstep with this one.
    .jitter_percent(20)
    // A response that takes this long is useless to our callers, and a sign of overload.
    .slow_call(USEFUL)
    // Longer than the longest call: connecting and reading time out sooner.
    .probe_lease(Duration::from_secs(1));

/// The same for a server that needs time to warm up: first a tenth of the calls, all of them after two
/// seconds.
const GRADUAL: Config = RULES.gradual_return(10, Duration::from_secs(2));

/// Answers that take longer are useless to the callers.
pub(crate) const USEFUL: Duration = Duration::from_millis(100);

/// A breaker that records its transitions, with memory for a ratio or without.
pub(crate) struct Guard<T = ()>(Breaker<StdClock, NativeWord, T, History>);

impl Guard {
    pub(crate) const fn new(rules: Config) -> Self {
        let history = History(Mutex::new(Vec::new()));
        Self(Breaker::builder(rules, StdClock).observer(history).build())
    }
}

impl<T: Tally> Guard<T> {
    /// With memory for a ratio.
    pub(crate) fn with_tally(rules: Config, tally: T) -> Self {
        let builder = Breaker::builder(rules, StdClock).tally(tally);
        Self(builder.observer(History(Mutex::new(Vec::new()))).build())
    }
}

/// A guard, whatever its memory.
pub(crate) trait Guarding: Sync {
    /// Calls the server if the breaker admits it.
    fn call(&self, address: SocketAddr) -> Outcome;

    fn state(&self) -> State;

    /// All transitions so far, in the order of time.
    fn history(&self) -> Vec<(Instant, Transition)>;
}

impl<T: Tally + Sync> Guarding for Guard<T> {
    fn call(&self, address: SocketAddr) -> Outcome {
        match self.0.call(|| load::call(address)) {
            Ok(()) => Outcome::Answered,
            Err(CallError::Failed(_)) => Outcome::Failed,
            Err(CallError::Rejected(_)) => Outcome::Rejected,
        }
    }

    fn state(&self) -> State {
        self.0.state()
    }

    fn history(&self) -> Vec<(Instant, Transition)> {
        let mut transitions = self.0.observer().locked().clone();
        transitions.sort_by_key(|(at, _)| *at);
        transitions
    }
}

/// Records every transition and its time.
struct History(Mutex<Vec<(Instant, Transition)>>);

impl History {
    fn locked(&self) -> std::sync::MutexGuard<'_, Vec<(Instant, Transition)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for History {
    fn transition(&self, transition: &Transition) {
        self.locked().push((Instant::now(), *transition));
    }
}
