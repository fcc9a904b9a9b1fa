//! The one compare-and-swap loop: takes a step of the machine to the word, and tells the observer.

use crate::breaker::Breaker;
use crate::circuit::Circuit;
use crate::clock::{Clock, Now};
use crate::machine::Step;
use crate::observer::{Cause, Observer, Transition};
use crate::state::State;
use crate::tally::Tally;
use crate::word::{self, Word};

impl<C: Clock, W: Word, T: Tally, O: Observer> Breaker<C, W, T, O> {
    /// Applies `step` to the word until nobody else was faster, and tells the observer if that made
    /// a transition. Answers the word as it is afterwards.
    ///
    /// Ends with the first exchange that succeeds; one fails only because another caller's
    /// succeeded, or spuriously.
    pub(crate) fn apply<E>(
        &self,
        mut step: impl FnMut(Circuit<W::Bits>, &Now<'_, C>) -> Result<Step<W::Bits>, E>,
    ) -> Result<W::Bits, E> {
        let mut seen = word::read(&self.word);
        loop {
            let now = Now::new(&self.clock);
            let Ok(circuit) = Circuit::decode(seen) else {
                let next = Circuit::healed(seen);
                seen = self
                    .go(seen, State::Closed, next, Cause::CorruptWord, &now)
                    .unwrap_or_else(|found| found);
                continue;
            };
            let swapped = match step(circuit, &now)? {
                Step::Stay => return Ok(seen),
                Step::Within(next) => self.swap(seen, next),
                Step::To(next, cause) => self.go(seen, circuit.state(), next, cause, &now),
            };
            match swapped {
                Ok(bits) => return Ok(bits),
                Err(found) => seen = found,
            }
        }
    }

    /// A transition: swaps, and tells the observer if that succeeded.
    fn go(
        &self,
        seen: W::Bits,
        from: State,
        next: Circuit<W::Bits>,
        cause: Cause,
        now: &Now<'_, C>,
    ) -> Result<W::Bits, W::Bits> {
        let bits = self.swap(seen, next)?;
        if self.observer.is_listening() {
            self.tell(from, next, cause, now);
        }
        Ok(bits)
    }

    // A microcontroller has more time than flash: one copy of what may be a loop or a critical
    // section.
    #[cfg_attr(not(target_pointer_width = "64"), inline(never))]
    fn swap(&self, seen: W::Bits, next: Circuit<W::Bits>) -> Result<W::Bits, W::Bits> {
        word::swap(&self.word, seen, next.bits()).map(|()| next.bits())
    }

    fn tell(&self, from: State, next: Circuit<W::Bits>, cause: Cause, now: &Now<'_, C>) {
        let to = next.state();
        let open_for = match to {
            State::Open => next.open_for(),
            _ => 0,
        };
        self.observer.transition(&Transition {
            from,
            to,
            cause,
            at_ms: now.ms(),
            epoch: next.epoch() as u16,
            trips: next.trips() as u8,
            open_for_ms: self.machine().time.ms(open_for),
        });
    }
}
