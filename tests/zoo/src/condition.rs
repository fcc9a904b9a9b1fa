// SPDX-License-Identifier: MIT OR Apache-2.0
//! The condition of a device: well, or ill in one of three ways until it is repaired.

use std::cell::Cell;

/// A way in which a device is ill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ill {
    /// It does not answer at all.
    Silent,
    /// It acknowledges commands, and neither measures nor answers.
    Mute,
    /// It answers rubbish.
    Rubbish,
}

impl Ill {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Silent, Self::Mute, Self::Rubbish];
}

/// The condition of one device, shared by its model, its power switch and the run.
#[derive(Debug, Default)]
pub struct Condition {
    ill: Cell<Option<Ill>>,
    cause_lasts: Cell<bool>,
    cycles: Cell<u32>,
    truth: Cell<u32>,
    noise: Cell<u32>,
}

impl Condition {
    /// Returns how the device is ill, if it is.
    pub fn ill(&self) -> Option<Ill> {
        self.ill.get()
    }

    /// Returns whether the device is ill in this way.
    pub fn is(&self, ill: Ill) -> bool {
        self.ill() == Some(ill)
    }

    /// Makes the device ill. Until the [cause ends](Self::end_cause) no repair helps.
    pub fn fall_ill(&self, ill: Ill) {
        self.ill.set(Some(ill));
        self.cause_lasts.set(true);
    }

    /// Lets the next repair help.
    pub fn end_cause(&self) {
        self.cause_lasts.set(false);
    }

    /// Cures the device, if the cause has ended.
    pub fn cure(&self) {
        if !self.cause_lasts.get() {
            self.ill.set(None);
        }
    }

    /// Cures a device that hears its reset, which one that is silent does not.
    pub fn reset(&self) {
        if !self.is(Ill::Silent) {
            self.cure();
        }
    }

    /// Switches the power of the device off and on.
    pub fn cycle_power(&self) {
        self.cure();
        self.cycles.set(self.cycles.get() + 1);
    }

    /// Returns whether the power was cycled since `seen`, which is updated.
    pub fn was_cycled(&self, seen: &mut u32) -> bool {
        std::mem::replace(seen, self.cycles.get()) != self.cycles.get()
    }

    /// Sets what a right measurement shows now.
    pub fn set_truth(&self, truth: u32) {
        self.truth.set(truth);
    }

    /// Returns what a right measurement shows now.
    pub fn truth(&self) -> u32 {
        self.truth.get()
    }

    /// Returns a byte of rubbish.
    pub fn noise(&self) -> u8 {
        let mut state = self.noise.get() ^ 0x2545_F491;
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        self.noise.set(state ^ 0x2545_F491);
        (state >> 24) as u8
    }
}
