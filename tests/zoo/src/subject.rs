// SPDX-License-Identifier: MIT OR Apache-2.0
//! A driver over the model of its device, with the few lines that a user writes around it.

use std::fmt::Debug;

/// A measurement that a driver returned as good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// `true` if it is right, which only the model knows.
    pub right: bool,
    /// `true` if the user's own check of the value lets it pass.
    pub plausible: bool,
}

impl Reading {
    /// A reading that a check of the user compares with what must come.
    pub const fn compared(right: bool) -> Self {
        Self {
            right,
            plausible: right,
        }
    }
}

/// A driver over its device.
#[expect(async_fn_in_trait, reason = "no thread but this one")]
pub trait Subject {
    /// The driver's own error.
    type Error: Debug;

    /// Makes one measurement: command, wait, read.
    ///
    /// # Errors
    /// That of the driver.
    async fn measure(&mut self, truth: u32) -> Result<Reading, Self::Error>;

    /// Resets the device, if it has a reset, and sets it up as the driver's `new` does: the end of every repair.
    ///
    /// # Errors
    /// That of the driver.
    async fn set_up(&mut self) -> Result<(), Self::Error>;
}
