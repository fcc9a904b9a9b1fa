//! The compare-and-swap loop that applies a step of the machine to the word. (`report` has two shorter
//! ones, for common cases that need no machine.)

use crate::breaker::Breaker;
use crate::circuit::Circuit;
use crate::clock::{Clock, Now};
use crate::config::AsRules;
use crate::machine::{Machine, Step};
use crate::observer::{Cause, Observer, Transition};
use crate::state::State;
use crate::tally::Tally;
use crate::word::{self, Bits, Word};

/// What became of the word. It travels in two registers, so that an unused result costs nothing.
#[derive(Clone, Copy)]
pub(crate) struct Applied<B> {
    pub(crate) bits: B,
    made: Made,
}

/// What the word does not say about the transition that led to it: the state before, why and when. It takes
/// one register.
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

impl<B> Applied<B> {
    #[inline]
    pub(crate) const fn nothing(bits: B) -> Self {
        Self {
            bits,
            made: Made::NOTHING,
        }
    }

    /// Whether there was a transition.
    pub(crate) fn has_changed(&self) -> bool {
        self.made != Made::NOTHING
    }
}

impl<B: Bits> Applied<B> {
    /// Depends on nothing but numbers, so that the compiler drops it if the result is unused.
    #[cfg_attr(not(target_pointer_width = "64"), inline(never))]
    fn transition(self, at_ms: u32) -> Transition {
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
                State::Closed
                | State::HalfOpen
                | State::Returning
                | State::ForcedOpen
                | State::Disabled => 0,
            },
        }
    }
}

impl<C: Clock, W: Word, T: Tally, O: Observer, R: AsRules<W::Bits>> Breaker<C, W, T, O, R> {
    /// Applies `step` to the word, again if another caller was faster. The caller of this function
    /// [notifies](Self::notify) the observer, once a panic in it can lose nothing.
    ///
    /// Ends with the first exchange that succeeds; one fails only because another caller's
    /// succeeded, or spuriously.
    #[inline]
    pub(crate) fn apply(
        &self,
        mut step: impl FnMut(Circuit<W::Bits>, &Now<'_, C>) -> Step<W::Bits>,
    ) -> Applied<W::Bits> {
        let mut seen = word::load_acquire(&self.word);
        loop {
            let now = Now::new(&self.clock);
            if !word::is_valid(seen) {
                seen = self.heal(seen);
                continue;
            }
            let circuit = Circuit::of_valid(seen);
            let (next, cause) = match step(circuit, &now) {
                Step::Keep => return Applied::nothing(seen),
                Step::Update(next) => (next, None),
                Step::Transition(next, cause) => (next, Some(cause)),
            };
            if cause.is_some() && next.counts_failures() {
                // Before the exchange: afterwards calls of the new epoch may already have been recorded.
                self.tally.clear();
            }
            match self.exchange(seen, next) {
                Ok(()) => {
                    return Applied {
                        bits: next.bits(),
                        made: cause.map_or(Made::NOTHING, |cause| {
                            Made::new(circuit.trace(), cause, now.ms())
                        }),
                    };
                }
                Err(found) => seen = found,
            }
        }
    }

    /// Replaces a word that no breaker writes, and returns what is there now.
    #[cold]
    #[inline(never)]
    fn heal(&self, corrupt: W::Bits) -> W::Bits {
        self.tally.clear();
        let healed = Circuit::healed(corrupt);
        match self.exchange(corrupt, healed) {
            Ok(()) => {
                let closed = Circuit::of_valid(W::Bits::FRESH).trace();
                let made = Made::new(closed, Cause::CorruptWord, self.clock.now_ms());
                let bits = healed.bits();
                self.notify(Applied { bits, made });
                bits
            }
            Err(found) => found,
        }
    }

    // On a microcontroller flash is scarcer than time, so there is one copy of what may be a loop or a
    // critical section.
    #[cfg_attr(not(target_pointer_width = "64"), inline(never))]
    fn exchange(&self, seen: W::Bits, next: Circuit<W::Bits>) -> Result<(), W::Bits> {
        word::compare_exchange(&self.word, seen, next.bits())
    }

    /// Notifies the observer of a transition, if there was one and it listens.
    #[inline]
    pub(crate) fn notify(&self, applied: Applied<W::Bits>) {
        if !self.observer.is_listening() {
            return;
        }
        if let Some(transition) = self.answer(applied) {
            self.observer.changed(&transition, self.present());
        }
    }

    /// The transition that was made.
    #[inline]
    pub(crate) fn answer(&self, applied: Applied<W::Bits>) -> Option<Transition> {
        (applied.made != Made::NOTHING).then(|| applied.transition(applied.made.at_ms(&self.clock)))
    }
}
