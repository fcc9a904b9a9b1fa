// SPDX-License-Identifier: MIT OR Apache-2.0
//! A CAN bus with a node that sends a frame every ten seconds, and a controller that keeps the last three.

use embassy_time::Instant;
use embedded_can::{ErrorKind, Frame, Id, StandardId, nb::Can};

use crate::day::{Ailment, Day};

/// Seconds from frame to frame.
pub const PERIOD_S: u64 = 10;
const MAILBOXES: u64 = 3;

/// A measurement.
#[derive(Clone)]
pub struct Measurement([u8; 8]);

impl Frame for Measurement {
    fn new(_: impl Into<Id>, data: &[u8]) -> Option<Self> {
        data.try_into().ok().map(Self)
    }

    fn new_remote(_: impl Into<Id>, _: usize) -> Option<Self> {
        None
    }

    fn is_extended(&self) -> bool {
        false
    }

    fn is_remote_frame(&self) -> bool {
        false
    }

    fn id(&self) -> Id {
        StandardId::ZERO.into()
    }

    fn dlc(&self) -> usize {
        self.0.len()
    }

    fn data(&self) -> &[u8] {
        &self.0
    }
}

pub struct Controller<'d> {
    day: &'d Day,
    ailment: Ailment<'d>,
    /// The number of frames that the bus had seen when the controller took the last one.
    taken: u64,
}

impl<'d> Controller<'d> {
    pub fn new(day: &'d Day) -> Self {
        Self {
            day,
            // A restart is not enough for the transceiver.
            ailment: Ailment::from_hour(9, 2, day),
            taken: 0,
        }
    }

    fn on_the_bus() -> u64 {
        Instant::now().as_secs() / PERIOD_S
    }

    /// Restarts it; frames that it misses meanwhile are lost.
    pub fn restart(&mut self) {
        self.ailment.treat(1);
        self.taken = Self::on_the_bus();
    }

    pub fn cycle_transceiver(&mut self) {
        self.ailment.treat(2);
        self.taken = Self::on_the_bus();
    }
}

impl Can for Controller<'_> {
    type Frame = Measurement;
    type Error = ErrorKind;

    fn transmit(&mut self, _: &Measurement) -> nb::Result<Option<Measurement>, ErrorKind> {
        unreachable!("this gateway only listens")
    }

    fn receive(&mut self) -> nb::Result<Measurement, ErrorKind> {
        if self.ailment.ails() {
            // Off the bus.
            let _call = self.day.call_in_vain();
            return Err(nb::Error::Other(ErrorKind::Other));
        }
        let seen = Self::on_the_bus();
        if seen - self.taken > MAILBOXES {
            self.taken = seen - MAILBOXES;
            return Err(nb::Error::Other(ErrorKind::Overrun));
        }
        if seen == self.taken {
            return Err(nb::Error::WouldBlock);
        }
        self.taken += 1;
        Ok(Measurement(self.taken.to_le_bytes()))
    }
}
