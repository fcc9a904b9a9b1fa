// SPDX-License-Identifier: MIT OR Apache-2.0
//! Outages: from the first trip until calls pass again.

use std::sync::Arc;

use atomic_breaker_server::{State, Transition};

use super::event::TimelineEvent;

/// An outage lasts from the transition after which calls are rejected, for its probes, to the one after which they pass. The
/// time for which trips are remembered, and a gradual return, come after it.
#[derive(Clone, Debug)]
pub(crate) struct Outage {
    /// The time at which it began, or was first noticed: milliseconds since 1970.
    pub(crate) since: u64,
    /// `true` if it was down before: for how long is not known.
    pub(crate) is_longer: bool,
    /// The event that stands for the probes so far, if they were the last that happened.
    pub(super) probes: Option<Arc<TimelineEvent>>,
}

/// Returns whether the resource has not answered its probes yet, or an operator holds it open.
pub(crate) const fn is_down(state: State) -> bool {
    matches!(state, State::Open | State::HalfOpen | State::ForcedOpen)
}

impl Outage {
    /// The outage after this transition, if it is still down.
    pub(super) fn after(
        before: Option<Self>,
        event: &Arc<TimelineEvent>,
        made: &Transition,
    ) -> Option<Self> {
        if !is_down(made.to) {
            return None;
        }
        match before.filter(|_| is_down(made.from)) {
            Some(mut outage) => {
                outage.probes = event.is_probing().then(|| Arc::clone(event));
                Some(outage)
            }
            None => Some(Self {
                since: event.at,
                is_longer: is_down(made.from),
                probes: None,
            }),
        }
    }

    /// Notes a transition whose notice arrives after that of a later one.
    pub(super) fn note_late(&mut self, event: &Arc<TimelineEvent>, made: &Transition) {
        if self.probes.is_some() && event.is_probing() {
            self.probes = Some(Arc::clone(event));
        }
        // The transition that began the outage.
        self.is_longer &= is_down(made.from) || !is_down(made.to);
    }
}
