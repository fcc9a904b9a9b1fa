// SPDX-License-Identifier: MIT OR Apache-2.0
//! Moves a state to other times and epochs, so that every state is checked across every wrap.

use atomic_breaker::word::Bits;
use tests::reference::Mode;

use super::world::{Cell, World};

/// A time and an epoch to go to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// The clock reading, in ticks since before any wrap.
    tick: u64,
    epoch: u64,
}

/// Places around the wraps, for rules under which an age of more than `oldest` ticks does not matter.
///
/// The time takes every distance from the wrap: from two ticks before it, where only times ahead of now
/// wrap, to so long after it that the wrap has been at every point of every age. In every second place
/// the clock wraps, too. The epoch takes all 16 values in the 32-bit word, and in the 64-bit word those
/// on both sides of its wrap.
pub(crate) fn places<W: Cell>(tick: u64, oldest: u64) -> Vec<Place> {
    let distances = oldest + 4;
    let epochs = 1 << W::EPOCH.1;
    let clock_wrap = (1 << 33) / tick;
    let time_wrap = clock_wrap + 3 * (1_u64 << W::TIME.1);
    let count = if W::WIDTH == 32 {
        distances.max(16)
    } else {
        distances
    };
    (0..count)
        .map(|number| Place {
            tick: [clock_wrap, time_wrap][number as usize % 2] - 2 + number % distances,
            epoch: epochs + (epochs - 4 + number) % epochs,
        })
        .collect()
}

impl<B: Bits> World<B> {
    /// This world with all its times and epochs shifted so that it is at `place` now.
    pub(crate) fn at<W: Cell<Bits = B>>(&self, place: Place) -> Self {
        let mut there = self.clone();
        let tick = self.reference.rules.grain.tick;
        let shift = Shift {
            ticks: place.tick - self.reference.now / tick,
            epochs: place.epoch.wrapping_sub(self.reference.generation) % (1 << W::EPOCH.1),
        };
        let ms = shift.ticks * tick;
        there.reference.now += ms;
        there.reference.generation += shift.epochs;
        let has_time = shift.mode(&mut there.reference.mode);
        there.bits = shift.word::<W>(self.bits, has_time);
        for ((granted, started), permit) in there.held.iter_mut().flatten() {
            permit.generation += shift.epochs;
            permit.admitted += shift.ticks;
            *granted = shift.word::<W>(*granted, permit.is_probe);
            if let Some(begin) = &mut permit.started {
                *begin += ms;
                // 0 means that nothing is measured; a start at 0 is stored as 1.
                *begin += u64::from(begin.is_multiple_of(1 << 32));
                *started = *begin as u32;
            }
        }
        there
    }
}

struct Shift {
    ticks: u64,
    epochs: u64,
}

impl Shift {
    /// Shifts the time of a mode. Returns whether it has one.
    fn mode(&self, mode: &mut Mode) -> bool {
        let time = match mode {
            // If failures are counted without a time, the time is stored as 0.
            Mode::Closed { window_began, .. } if *window_began != 0 => window_began,
            Mode::Open { began: time, .. }
            | Mode::Returning { began: time, .. }
            | Mode::Probing { last: time, .. } => time,
            Mode::Closed { .. } | Mode::Held(_) => return false,
        };
        *time += self.ticks;
        true
    }

    /// A word with its epoch and, if it has one, its time shifted.
    fn word<W: Cell>(&self, word: W::Bits, has_time: bool) -> W::Bits {
        let bits = add(word.to_u64(), W::EPOCH, self.epochs);
        let ticks = if has_time { self.ticks } else { 0 };
        W::Bits::from_u64(add(bits, W::TIME, ticks))
    }
}

/// Adds to a field of a word, and wraps within the field.
fn add(bits: u64, (shift, width): (u32, u32), more: u64) -> u64 {
    let mask = ((1 << width) - 1) << shift;
    bits & !mask | bits.wrapping_add(more << shift) & mask
}
