// SPDX-License-Identifier: MIT OR Apache-2.0
//! Records the breaker's reports to its observer during one operation, while the clock stands still.

use std::cell::Cell as Slot;

use atomic_breaker::{Clock, Observer, Outcome, Rejected, SharedClock, Transition};

/// A clock that stands still, with dice.
pub(crate) struct Still {
    pub(crate) ms: u32,
    pub(crate) dice: u32,
}

impl Clock for Still {
    fn now_ms(&self) -> u32 {
        self.ms
    }

    fn random(&self) -> u32 {
        self.dice
    }
}

impl SharedClock for Still {}

/// Keeps what the breaker reports during one operation.
#[derive(Default)]
pub(crate) struct Listener {
    pub(crate) transition: Slot<Option<Transition>>,
    pub(crate) notices: Slot<Notices>,
}

/// The number of reports of each kind, and the last of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Notices {
    pub(crate) transitions: u32,
    pub(crate) rejected: Option<Rejected>,
    pub(crate) rejections: u32,
    pub(crate) outcome: Option<Outcome>,
    pub(crate) outcomes: u32,
    pub(crate) cancelled: u32,
    /// Outcomes reported after the transition that they caused.
    pub(crate) late: u32,
}

impl Listener {
    fn note(&self, change: impl FnOnce(&mut Notices)) {
        let mut notices = self.notices.get();
        change(&mut notices);
        self.notices.set(notices);
    }
}

impl Observer for Listener {
    fn transition(&self, transition: &Transition) {
        self.transition.set(Some(*transition));
        self.note(|notices| notices.transitions += 1);
    }

    fn rejected(&self, rejected: Rejected) {
        self.note(|notices| {
            notices.rejected = Some(rejected);
            notices.rejections += 1;
        });
    }

    fn outcome(&self, outcome: Outcome) {
        self.note(|notices| {
            notices.outcome = Some(outcome);
            notices.outcomes += 1;
            notices.late += notices.transitions;
        });
    }

    fn cancelled(&self) {
        self.note(|notices| {
            notices.cancelled += 1;
            notices.late += notices.transitions;
        });
    }
}
