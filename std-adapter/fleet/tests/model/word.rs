//! The breaker of an instance, as far as its fleet sees it: it trips on one failure, and its calls take no time.

use super::{LONGEST_MS, OPEN_MS};
use crate::{Action, Local};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) state: State,
    /// In a row.
    trips: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    #[default]
    Closed,
    Open {
        until: u64,
    },
    HalfOpen,
}

/// The outcome of a call.
pub(super) enum Called {
    Rejected,
    Made {
        is_probe: bool,
        local: Option<Local>,
    },
}

impl Word {
    pub(super) fn call(&mut self, now_ms: u64, is_up: bool) -> Called {
        let is_probe = match self.state {
            State::Open { until } if now_ms < until => return Called::Rejected,
            State::Open { .. } | State::HalfOpen => true,
            State::Closed => false,
        };
        let local = if is_up {
            *self = Self::default();
            is_probe.then_some(Local::Recovered)
        } else {
            let open_ms = (OPEN_MS << self.trips.min(8)).min(LONGEST_MS);
            self.trips = (self.trips + 1).min(3);
            let until = now_ms + u64::from(open_ms);
            self.state = State::Open { until };
            Some(if is_probe {
                Local::ProbeFailed { open_ms }
            } else {
                let is_demanded = false;
                Local::Tripped {
                    open_ms,
                    is_demanded,
                }
            })
        };
        Called::Made { is_probe, local }
    }

    pub(super) fn act(&mut self, now_ms: u64, action: Action) {
        self.state = match (action, self.state) {
            (Action::Trip { for_ms } | Action::Extend { for_ms }, State::Open { until }) => {
                let until = until.max(now_ms + for_ms);
                State::Open { until }
            }
            (Action::Trip { for_ms }, _) => {
                let until = now_ms + for_ms;
                State::Open { until }
            }
            (Action::Probe, State::Open { .. }) => State::HalfOpen,
            (Action::Close, State::Open { .. } | State::HalfOpen) => {
                self.trips = 0;
                State::Closed
            }
            (_, state) => state,
        };
    }

    pub(super) fn key(&self, now_ms: u64) -> u64 {
        let state = match self.state {
            State::Closed => 0,
            State::HalfOpen => 1,
            State::Open { until } => 2 + until.saturating_sub(now_ms),
        };
        state << 8 | u64::from(self.trips)
    }
}
