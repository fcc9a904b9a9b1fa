// SPDX-License-Identifier: MIT OR Apache-2.0
//! The common reports of a closed breaker: the machine's own steps in a loop of their own, without what only the others need.

use crate::breaker::Breaker;
use crate::circuit::Circuit;
use crate::clock::Clock;
use crate::config::{AsRules, TripRule};
use crate::machine::Machine;
use crate::observer::Observer;
use crate::tally::{Tally, Verdict};
use crate::token::Ticket;
use crate::word::{self, Peek, Word};

/// `true` if the common reports of a closed breaker go a short way: the same steps of the machine, without what only
/// the others need. Without it a failure takes 9.4 ns instead of 5.8 on a 64-bit processor; on a microcontroller flash
/// is scarcer than time.
pub(crate) const HAS_SHORT_WAY: bool = cfg!(target_pointer_width = "64");

/// The way that a report takes.
#[derive(Clone, Copy)]
pub(crate) enum Way {
    /// The report is done.
    Short,
    /// The full way, with the tally's verdict if the call was recorded already.
    Long(Option<Verdict>),
}

impl<C: Clock, W: Word, T: Tally, O: Observer, R: AsRules<W::Bits>> Breaker<C, W, T, O, R> {
    /// Counts a failure in a row, if that is all it does.
    #[inline]
    pub(crate) fn count_in_a_row(&self, ticket: Ticket<W::Bits>, weight: u16) -> bool {
        let TripRule::Consecutive { failures } = self.config().trip else {
            return false;
        };
        // The word is usually still what it was when the permit was granted.
        weight != 0
            && self.change_closed(ticket, ticket.granted, |circuit| {
                let counted = Machine::counted_in_a_row(circuit, weight.into(), failures);
                counted.filter(|_| word::is_valid(circuit.bits()))
            })
    }

    /// Records a failure in the tally, and counts it in a row if that is the rule.
    #[inline]
    pub(crate) fn count_remembered(
        &self,
        machine: Machine<'_, W::Bits>,
        ticket: Ticket<W::Bits>,
        weight: u16,
    ) -> Way {
        let seen = word::load_acquire(&self.word);
        let is_current = seen.is_closed() && seen.is_same_epoch(ticket.granted);
        if weight == 0 || !is_current || !word::is_valid(seen) {
            return Way::Long(None);
        }
        let is_slow = self.is_also_slow(machine, ticket);
        let verdict = self.record_in(machine, Circuit::of_valid(seen), Some(weight), is_slow);
        let is_all = verdict == Verdict::Keep
            && match machine.config.trip {
                TripRule::TallyOnly => true,
                TripRule::Consecutive { failures } => self.change_closed(ticket, seen, |circuit| {
                    let counted = Machine::counted_in_a_row(circuit, weight.into(), failures);
                    counted.filter(|_| word::is_valid(circuit.bits()))
                }),
                TripRule::Lasting { .. } | TripRule::Within { .. } => false,
            };
        if is_all {
            Way::Short
        } else {
            Way::Long(Some(verdict))
        }
    }

    /// Clears the count of failures in a row, if that is all the success does besides being remembered.
    #[inline]
    pub(crate) fn clear(&self, ticket: Ticket<W::Bits>) -> Way {
        let seen = word::load_relaxed(&self.word);
        let is_clearing = ticket.started_ms.is_none()
            && matches!(self.config().trip, TripRule::Consecutive { .. })
            && seen.is_closed()
            && seen.is_same_epoch(ticket.granted)
            // A closed word that counts failures is valid.
            && Circuit::of_valid(seen).failures() != 0;
        if !is_clearing {
            return Way::Long(None);
        }
        let recorded = self
            .has_tally()
            .then(|| self.record_in(self.machine(), Circuit::of_valid(seen), None, false));
        let is_cleared = self.change_closed(ticket, seen, |circuit| {
            (circuit.failures() != 0).then(|| Machine::cleared(circuit))
        });
        if is_cleared {
            Way::Short
        } else {
            Way::Long(recorded)
        }
    }

    /// Applies a step to the word if it is closed and the permit holds. The step returns `None` for whatever needs more,
    /// and for a word that no breaker writes.
    #[inline]
    fn change_closed(
        &self,
        ticket: Ticket<W::Bits>,
        mut seen: W::Bits,
        step: impl Fn(Circuit<W::Bits>) -> Option<Circuit<W::Bits>>,
    ) -> bool {
        while seen.is_closed() && seen.is_same_epoch(ticket.granted) {
            let Some(next) = step(Circuit::of_valid(seen)) else {
                return false;
            };
            match word::compare_exchange(&self.word, seen, next.bits()) {
                Ok(()) => return true,
                // Tried again at once with what was found: this core has just got the cache line.
                Err(found) => seen = found,
            }
        }
        false
    }
}
