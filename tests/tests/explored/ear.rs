//! What the breaker tells during one operation, and the clock that stands still meanwhile.

use std::cell::Cell as Slot;

use atomic_breaker::{Clock, Observer, Outcome, Rejected, Transition};

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

/// Keeps what the breaker tells during one operation.
#[derive(Default)]
pub(crate) struct Ear {
    pub(crate) told: Slot<Option<Transition>>,
    pub(crate) heard: Slot<Heard>,
}

/// How often each was told, and the last of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) transitions: u32,
    pub(crate) rejected: Option<Rejected>,
    pub(crate) rejections: u32,
    pub(crate) outcome: Option<Outcome>,
    pub(crate) outcomes: u32,
    pub(crate) cancelled: u32,
    /// Outcomes told after the transition that they made.
    pub(crate) late: u32,
}

impl Ear {
    fn hear(&self, change: impl FnOnce(&mut Heard)) {
        let mut heard = self.heard.get();
        change(&mut heard);
        self.heard.set(heard);
    }
}

impl Observer for Ear {
    fn transition(&self, transition: &Transition) {
        self.told.set(Some(*transition));
        self.hear(|heard| heard.transitions += 1);
    }

    fn rejected(&self, rejected: Rejected) {
        self.hear(|heard| {
            heard.rejected = Some(rejected);
            heard.rejections += 1;
        });
    }

    fn outcome(&self, outcome: Outcome) {
        self.hear(|heard| {
            heard.outcome = Some(outcome);
            heard.outcomes += 1;
            heard.late += heard.transitions;
        });
    }

    fn cancelled(&self) {
        self.hear(|heard| {
            heard.cancelled += 1;
            heard.late += heard.transitions;
        });
    }
}
