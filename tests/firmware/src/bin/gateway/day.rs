// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ailments of the devices in a day, and their counts.

use core::cell::Cell;

use embassy_time::{Duration, Instant};

/// The rungs of the ladders.
pub const RUNGS: usize = 3;

/// A day's counts.
#[derive(Default)]
pub struct Day {
    /// Calls of devices that could not succeed, and the milliseconds that they took.
    pub in_vain: Cell<u32>,
    pub in_vain_ms: Cell<u64>,
    pub repairs: [Cell<u32>; RUNGS],
    pub received: Cell<u32>,
    pub kept: Cell<u32>,
    /// Frames that the server has, and the number of the last one.
    pub arrived: Cell<u32>,
    pub last: Cell<Option<u32>>,
    /// Frames that came to it twice.
    pub repeated: Cell<u32>,
    /// `true` if the modem has joined its network.
    pub is_joined: Cell<bool>,
}

pub fn add(count: &Cell<u32>) {
    count.set(count.get() + 1);
}

impl Day {
    /// Counts a call until the value is dropped, also by a time limit.
    pub fn call_in_vain(&self) -> impl Drop {
        add(&self.in_vain);
        InVain {
            day: self,
            since: Instant::now(),
        }
    }
}

struct InVain<'d> {
    day: &'d Day,
    since: Instant,
}

impl Drop for InVain<'_> {
    fn drop(&mut self) {
        let ms = &self.day.in_vain_ms;
        ms.set(ms.get() + self.since.elapsed().as_millis());
    }
}

/// An ailment that befalls a device, once, until a rung of its ladder heals it.
pub struct Ailment<'d> {
    from: Instant,
    healed_by: u8,
    is_healed: bool,
    day: &'d Day,
}

impl<'d> Ailment<'d> {
    pub fn from_hour(hour: u64, healed_by: u8, day: &'d Day) -> Self {
        Self {
            from: Instant::MIN + Duration::from_secs(hour * 3_600),
            healed_by,
            is_healed: false,
            day,
        }
    }

    pub fn ails(&self) -> bool {
        !self.is_healed && Instant::now() >= self.from
    }

    /// The repair of a rung, from 1.
    pub fn treat(&mut self, rung: u8) {
        add(&self.day.repairs[usize::from(rung) - 1]);
        self.is_healed |= self.ails() && rung >= self.healed_by;
    }
}
