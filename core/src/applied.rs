// SPDX-License-Identifier: MIT OR Apache-2.0
//! The result of a change of the word, in two registers.
//!
//! Reports and commands return the transition that they made, and most callers drop it at once. Carried in memory, each
//! of them would make room for it and copy it: that costs 216 bytes of flash on a Cortex-M0. So the new word travels
//! with one number for what it does not say, and both become a `Transition` only where one is wanted.

use crate::circuit::Circuit;
use crate::clock::Clock;
use crate::machine::Machine;
use crate::observer::{Cause, Transition};
use crate::state::State;
use crate::word::Bits;

/// The result of a change: the new word, and the transition that led to it, if one did.
#[derive(Clone, Copy)]
pub(crate) struct Applied<B> {
    pub(crate) bits: B,
    made: Made,
}

/// The part of a transition that the word does not hold: the state before, the cause and the time. It takes one
/// register.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Made(Packed);

/// 4 bits for the cause, 6 bits for the state before; the rest is as much of the clock reading as fits.
#[cfg(target_pointer_width = "64")]
type Packed = u64;
#[cfg(not(target_pointer_width = "64"))]
type Packed = u32;

const CAUSE_BITS: u32 = 4;
const TIME_SHIFT: u32 = CAUSE_BITS + 6;

impl Made {
    const NOTHING: Self = Self(0);

    #[inline]
    fn new(from: u32, cause: Cause, at_ms: u32) -> Self {
        let why = from << CAUSE_BITS | (cause as u32 + 1);
        Self(Packed::from(at_ms) << TIME_SHIFT | Packed::from(why))
    }

    #[inline]
    fn cause(self) -> Cause {
        // One more than the cause, since 0 means nothing.
        let index = (self.0 as u32 & ((1 << CAUSE_BITS) - 1)).wrapping_sub(1);
        let cause = Cause::ALL.get(index as usize);
        cause.copied().unwrap_or(Cause::Manual)
    }

    /// The [`trace`](Circuit::trace) of the state before.
    #[inline]
    fn from(self) -> u32 {
        (self.0 >> CAUSE_BITS) as u32 & 0x3F
    }

    #[cfg(target_pointer_width = "64")]
    #[inline]
    fn at_ms(self, _clock: &impl Clock) -> u32 {
        (self.0 >> TIME_SHIFT) as u32
    }

    /// 22 bits of the reading are kept, the others are taken from a reading now: right if the two are less
    /// than half an hour apart.
    #[cfg(not(target_pointer_width = "64"))]
    #[inline]
    fn at_ms(self, clock: &impl Clock) -> u32 {
        let now_ms = clock.now_ms();
        // Signed, because clocks may step back a little.
        let since = (now_ms << TIME_SHIFT).wrapping_sub(self.0 & !((1 << TIME_SHIFT) - 1));
        now_ms.wrapping_sub((since.cast_signed() >> TIME_SHIFT).cast_unsigned())
    }
}

// A cause and a trace fit.
const _: () = assert!(Cause::ALL.len() < 1 << CAUSE_BITS);

impl<B: Bits> Applied<B> {
    /// No transition, whether the word has changed or not.
    #[inline]
    pub(crate) const fn nothing(bits: B) -> Self {
        Self {
            bits,
            made: Made::NOTHING,
        }
    }

    #[inline]
    pub(crate) fn transition(from: Circuit<B>, to: Circuit<B>, cause: Cause, at_ms: u32) -> Self {
        Self {
            bits: to.bits(),
            made: Made::new(from.trace(), cause, at_ms),
        }
    }

    /// Returns whether there was a transition.
    #[inline]
    pub(crate) fn is_transition(self) -> bool {
        self.made != Made::NOTHING
    }

    /// The transition that was made, if one was.
    #[inline]
    pub(crate) fn made(self, clock: &impl Clock) -> Option<Transition> {
        self.is_transition()
            .then(|| self.unpack(self.made.at_ms(clock)))
    }

    /// Depends on nothing but numbers, so that the compiler drops it if the result is unused.
    fn unpack(self, at_ms: u32) -> Transition {
        let next = Circuit::of_valid(self.bits);
        let to = next.state();
        Transition {
            from: Circuit::<B>::state_of(self.made.from()),
            to,
            cause: self.made.cause(),
            at_ms,
            epoch: next.epoch() as u16,
            trips: next.trips() as u8,
            open_for_ms: match to {
                State::Open => Machine::<B>::opened_for(next, at_ms),
                _ => 0,
            },
        }
    }
}
