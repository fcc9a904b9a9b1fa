// SPDX-License-Identifier: MIT OR Apache-2.0
//! The breaker of an instance, as far as its fleet sees it: it trips on one failure, and its calls take no time, except
//! for probes that hang.

use super::{LEASE_MS, LONGEST_MS, OPEN_MS};
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
    HalfOpen {
        /// The time since which a probe has hung.
        hung: Option<u64>,
    },
}

/// A call that was admitted and has ended.
#[derive(Clone, Copy)]
pub(super) struct Made {
    pub(super) is_probe: bool,
    pub(super) local: Option<Local>,
}

impl Word {
    /// `None` if it is rejected.
    pub(super) fn call(&mut self, now_ms: u64, is_up: bool) -> Option<Made> {
        let is_probe = match self.state {
            State::Open { until } if now_ms < until => return None,
            State::Open { .. } | State::HalfOpen { .. } => true,
            State::Closed => false,
        };
        Some(self.report(now_ms, is_up, is_probe))
    }

    /// Returns whether a call at this time is rejected, as far as a caller that looks first can see.
    pub(super) fn is_open(&self, now_ms: u64) -> bool {
        matches!(self.state, State::Open { until } if now_ms < until)
    }

    /// Returns whether a call at this time is a probe.
    pub(super) fn is_due(&self, now_ms: u64) -> bool {
        match self.state {
            State::Open { until } => now_ms >= until,
            State::HalfOpen { hung } => hung.is_none_or(|since| now_ms >= since + LEASE_MS),
            State::Closed => false,
        }
    }

    /// A probe begins, and does not end.
    pub(super) fn hang(&mut self, now_ms: u64) {
        let hung = Some(now_ms);
        self.state = State::HalfOpen { hung };
    }

    pub(super) fn is_probing(&self) -> bool {
        matches!(self.state, State::HalfOpen { hung: Some(_) })
    }

    /// The outcome of a call that was admitted.
    pub(super) fn report(&mut self, now_ms: u64, is_up: bool, is_probe: bool) -> Made {
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
        Made { is_probe, local }
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
            (Action::Probe, State::Open { .. } | State::HalfOpen { .. }) => {
                State::HalfOpen { hung: None }
            }
            (Action::Close, State::Open { .. } | State::HalfOpen { .. }) => {
                self.trips = 0;
                State::Closed
            }
            (_, state) => state,
        };
    }

    pub(super) fn key(&self, now_ms: u64) -> u64 {
        let state = match self.state {
            State::Closed => 0,
            State::HalfOpen { hung: None } => 1,
            State::HalfOpen { hung: Some(since) } => 1 << 32 | (now_ms - since).min(LEASE_MS),
            State::Open { until } => 2 + until.saturating_sub(now_ms),
        };
        state << 8 | u64::from(self.trips)
    }
}
