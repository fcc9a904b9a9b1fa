// SPDX-License-Identifier: MIT OR Apache-2.0
//! The visible state of a fleet: the standing of this process in it, and the state of each breaker that it holds open.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::error::FleetError;
use crate::member::Member;
use crate::member::period::Phase;
use crate::name::Name;

/// The status of a joined process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FleetStatus {
    /// `true` if the engine answers, and its messages arrive.
    pub is_connected: bool,
    /// Living instances, as the engine last reported; 0 if it has never answered.
    pub living: u32,
    /// `true` if there are fewer living instances than the quorum, which then cannot be reached.
    pub is_below_quorum: bool,
    /// Breakers that were taken, and registry keys that are followed now: those that are open here, or recently were.
    pub breakers: usize,
    /// Breakers that the fleet holds open.
    pub open: usize,
    /// Requests that failed or got no answer within the limit, and subscriptions that failed or ended, since the start.
    pub unanswered: u64,
    /// The reason for the last of these, in the words of the engine's client; kept after reconnecting.
    pub last_error: Option<FleetError>,
    /// Breaker events that were dropped because the queue was full, since the start.
    pub overflows: u64,
    /// The number of times that a registry key could not follow because its name is too long or there was no room,
    /// since the start.
    pub left_alone: u64,
    /// In shadow mode: how many actions on breakers were withheld, since the start.
    pub withheld: u64,
}

/// The state of a breaker that the fleet holds open, by the latest news of this instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FleetHold {
    /// The instances that may probe.
    pub stage: FleetStage,
    /// The time until an instance may probe for all; zero if one may now.
    pub probe_in: Duration,
    /// `true` if calls of this instance have failed, too: it had tripped when the fleet opened, or its probe failed
    /// since.
    pub is_tripped_here: bool,
}

/// The instances that may probe a breaker that the fleet holds open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FleetStage {
    /// No instance yet.
    Waiting,
    /// The first instance that rejects a call, or, if none does, one after the other.
    Due,
    /// This instance probes for all, or its next call does.
    ProbedHere,
    /// Another instance probes for all.
    ProbedElsewhere,
    /// This instance by itself: the fleet no longer binds it, such as when the engine does not answer.
    Alone,
}

impl FleetStage {
    const fn of(phase: Phase) -> Self {
        match phase {
            Phase::Waiting => Self::Waiting,
            Phase::Due(_) | Phase::BidAt(_) | Phase::Bidding => Self::Due,
            Phase::Probing { .. } => Self::ProbedHere,
            Phase::Taken(_) => Self::ProbedElsewhere,
            Phase::Alone => Self::Alone,
        }
    }
}

/// The breakers that are held, no more entries than breakers that follow, and the zero of their times.
#[derive(Debug)]
struct AllHeld {
    clock: Instant,
    held: Mutex<HashMap<Name, HeldBreaker>>,
}

#[derive(Clone, Copy, Debug)]
struct HeldBreaker {
    stage: FleetStage,
    ends_ms: u64,
    is_tripped_here: bool,
}

/// The breakers that the fleet holds open: a handle for pages and programs that show them. Once the process has left the
/// fleet, there are none.
#[derive(Clone, Debug)]
pub struct FleetHolds(Arc<AllHeld>);

impl FleetHolds {
    pub(super) fn new(clock: Instant) -> Self {
        let held = Mutex::default();
        Self(Arc::new(AllHeld { clock, held }))
    }

    /// The fleet's state for the breaker with this name, if it holds it open. The name of a registry's key is that of
    /// the registry, a slash and the key: `hosts/a.example`.
    pub fn of(&self, name: impl AsRef<[u8]>) -> Option<FleetHold> {
        let all = self.0.held.lock().unwrap_or_else(PoisonError::into_inner);
        let hold = *all.get(name.as_ref())?;
        drop(all);
        let now_ms = self.0.clock.elapsed().as_millis() as u64;
        Some(FleetHold {
            stage: hold.stage,
            probe_in: Duration::from_millis(hold.ends_ms.saturating_sub(now_ms)),
            is_tripped_here: hold.is_tripped_here,
        })
    }

    /// Shows what a member knows after a step. `was_open_here` says that it was open because of its own calls before.
    pub(super) fn show(&self, name: &Name, member: &Member, was_open_here: bool) {
        let hold = member.period.map(|period| HeldBreaker {
            stage: FleetStage::of(period.phase),
            ends_ms: period.ends,
            is_tripped_here: was_open_here || member.own.has_failed,
        });
        let mut all = self.0.held.lock().unwrap_or_else(PoisonError::into_inner);
        match (hold, all.get_mut(name)) {
            (Some(hold), Some(shown)) => {
                let is_tripped_here = shown.is_tripped_here || member.own.has_failed;
                *shown = HeldBreaker {
                    is_tripped_here,
                    ..hold
                };
            }
            (Some(hold), None) => drop(all.insert(name.clone(), hold)),
            (None, _) => drop(all.remove(name)),
        }
    }

    pub(super) fn forget(&self, name: &Name) {
        let mut all = self.0.held.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(name);
    }

    pub(super) fn clear(&self) {
        let mut all = self.0.held.lock().unwrap_or_else(PoisonError::into_inner);
        all.clear();
    }
}
