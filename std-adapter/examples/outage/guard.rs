//! The breaker of this example, and how a call goes through it.

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use atomic_breaker_std::word::NativeWord;
use atomic_breaker_std::{Breaker, CallError, Config, Observer, StdClock, Transition};

use super::load::{self, Outcome};

/// One breaker for the one server, for as long as the program runs.
static SERVER: Breaker<(), &History> =
    Breaker::from_parts(NativeWord::new(0), RULES, StdClock, (), &HISTORY);

const RULES: Config = Config::new()
    // Five in a row are no accident, and with eight threads they come at once.
    .consecutive_failures(5)
    // Short, as a call costs little: a wrong guess is put right soon. Doubled while probes fail, so
    // that a long outage is probed less and less, up to twice a second.
    .open_for(Duration::from_millis(125))
    .exponential(2, Duration::from_millis(500))
    // Other processes that lost the same server do not come back in step with this one.
    .jitter_percent(20)
    // An answer that takes this long is no good to our callers, and a sign of overload.
    .slow_call(Duration::from_millis(100))
    // Longer than the longest call: connecting and reading time out before.
    .probe_lease(Duration::from_secs(1));

/// Calls the server if the breaker admits it.
pub(crate) fn call(address: SocketAddr) -> Outcome {
    match SERVER.call(|| load::call(address)) {
        Ok(()) => Outcome::Answered,
        Err(CallError::Failed(_)) => Outcome::Failed,
        Err(CallError::Rejected(_)) => Outcome::Refused,
    }
}

/// Writes down every transition and when it happened.
pub(crate) struct History(Mutex<Vec<(Instant, Transition)>>);

static HISTORY: History = History(Mutex::new(Vec::new()));

impl Observer for History {
    fn transition(&self, transition: &Transition) {
        let mut transitions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        transitions.push((Instant::now(), *transition));
    }
}

/// All transitions so far, in the order of time.
pub(crate) fn history() -> Vec<(Instant, Transition)> {
    let mut transitions = HISTORY
        .0
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    transitions.sort_by_key(|(at, _)| *at);
    transitions
}

/// The state of the breaker in a word.
pub(crate) fn state() -> &'static str {
    SERVER.state().name()
}
