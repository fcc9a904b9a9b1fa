// SPDX-License-Identifier: MIT OR Apache-2.0
//! The time since which something has been down.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use atomic_breaker_server::{State, Transition};

use crate::lock;

/// Returns whether the resource has not answered its probes yet, or an operator holds it open. An outage lasts for as
/// long as that is so: while traffic returns it is over, as calls pass, and if it grows or returns gradually, its end
/// is met by a call alone.
pub(super) const fn is_down(state: State) -> bool {
    matches!(state, State::Open | State::HalfOpen | State::ForcedOpen)
}

/// Milliseconds since 1970, and never 0.
fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let since = since.unwrap_or_default().as_millis();
    u64::try_from(since).unwrap_or(u64::MAX).max(1)
}

/// Milliseconds as they are published: in seconds.
#[expect(
    clippy::cast_precision_loss,
    reason = "milliseconds are exact until the year 287396"
)]
pub(super) const fn seconds(ms: u64) -> f64 {
    ms as f64 / 1000.0
}

/// The time at which the outage began, if there is one; 0 otherwise.
fn after(before: u64, is_down: bool) -> u64 {
    match (is_down, before) {
        (false, _) => 0,
        (true, 0) => now_ms(),
        (true, since) => since,
    }
}

/// The time since which a key has been down, 0 while it is up; and how often that was noted.
#[derive(Default)]
pub(super) struct DownSince(Mutex<(u64, u64)>);

impl DownSince {
    /// Notes whether it is down, which is looked up under the lock: of two threads the last one is right.
    pub(super) fn note(&self, is_down: impl FnOnce() -> bool) {
        let mut noted = lock(&self.0);
        *noted = (after(noted.0, is_down()), noted.1 + 1);
    }

    /// The number of times that it was noted: asked for before a look at all keys, which is slow and therefore not done
    /// under the lock.
    pub(super) fn times(&self) -> u64 {
        lock(&self.0).1
    }

    /// Notes what that look has found, unless something was noted since; without a number it was new then.
    /// Returns since when it has been down.
    pub(super) fn note_look(&self, times: Option<&u64>, is_down: bool) -> u64 {
        let mut noted = lock(&self.0);
        if times.copied().unwrap_or_default() == noted.1 {
            *noted = (after(noted.0, is_down), noted.1 + 1);
        }
        noted.0
    }
}

/// The state of a single breaker.
pub(super) struct Standing(Mutex<Noted>);

struct Noted {
    state: State,
    /// The time since which it has been down; 0 while it is up.
    since: u64,
    /// The time at which its open time ends, if it is open: from then on the next call is a probe, and no observer is
    /// notified of that.
    due: Option<Instant>,
}

impl Standing {
    pub(super) const fn up() -> Self {
        Self(Mutex::new(Noted {
            state: State::Closed,
            since: 0,
            due: None,
        }))
    }

    /// Notes its state. Two threads may report two transitions in either order, so the state is read under the lock: the
    /// thread that reports last has read it after everything that was reported.
    pub(super) fn note(&self, state: impl FnOnce() -> State) {
        let mut noted = lock(&self.0);
        let (state, before) = (state(), noted.since);
        *noted = Noted {
            state,
            since: after(before, is_down(state)),
            due: None,
        };
    }

    /// Notes its state after a transition, and when an open time that began with it ends.
    pub(super) fn note_after(&self, made: &Transition, state: impl FnOnce() -> State) {
        self.note(state);
        if made.to == State::Open {
            let open_time = Duration::from_millis(made.open_for_ms.into());
            lock(&self.0).due = Instant::now().checked_add(open_time);
        }
    }

    /// The state that a call would find now, and since when it has been down.
    pub(super) fn get(&self) -> (State, u64) {
        let noted = lock(&self.0);
        let is_due = noted.due.is_some_and(|due| Instant::now() >= due);
        match noted.state {
            State::Open if is_due => (State::HalfOpen, noted.since),
            state => (state, noted.since),
        }
    }
}

/// The times since which keys without a label have been down: those that were seen down when the metrics were published
/// last, so there are never more than registries have slots.
#[derive(Default)]
pub(super) struct Unlabelled(Mutex<BTreeMap<String, u64>>);

impl Unlabelled {
    /// Notes which keys are down now, and returns since when the first of them has been; 0 if none is.
    pub(super) fn note<'a>(&self, down: impl Iterator<Item = &'a String>) -> u64 {
        let mut since = lock(&self.0);
        let now_ms = now_ms();
        let still = down.map(|key| (key.clone(), since.get(key).copied().unwrap_or(now_ms)));
        *since = still.collect();
        since.values().min().copied().unwrap_or_default()
    }

    /// Notes that a key is up again, so that its next outage is another one. The key is written without the lock, as that
    /// is code of the user's.
    pub(super) fn end(&self, key: impl FnOnce() -> String) {
        if !lock(&self.0).is_empty() {
            let key = key();
            lock(&self.0).remove(&key);
        }
    }
}
