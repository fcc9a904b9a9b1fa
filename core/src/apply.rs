// SPDX-License-Identifier: MIT OR Apache-2.0
//! The compare-and-swap loop that applies a step of the machine to the word. (`short_way` has one for the common
//! reports of a closed breaker.)

use crate::applied::Applied;
use crate::breaker::Breaker;
use crate::circuit::Circuit;
use crate::clock::{Clock, Now};
use crate::config::AsRules;
use crate::machine::Step;
use crate::observer::{Cause, Observer};
use crate::tally::Tally;
use crate::word::{self, Bits, Word};

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
                    return match cause {
                        Some(cause) => Applied::transition(circuit, next, cause, now.ms()),
                        None => Applied::nothing(next.bits()),
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
                let closed = Circuit::of_valid(W::Bits::FRESH);
                let now_ms = self.clock.now_ms();
                self.notify(Applied::transition(
                    closed,
                    healed,
                    Cause::CorruptWord,
                    now_ms,
                ));
                healed.bits()
            }
            Err(found) => found,
        }
    }

    // Once in flash, as it may be a loop or a critical section: 200 bytes less of a call with a time limit on a Cortex-M3.
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
        if let Some(transition) = applied.made(&self.clock) {
            self.observer.changed(&transition, self.present());
        }
    }
}
