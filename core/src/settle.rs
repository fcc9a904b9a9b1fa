//! The way out: what a report changes in the word, off the closed path.

use core::convert::Infallible;

use crate::breaker::Breaker;
use crate::circuit::Circuit;
use crate::clock::{Clock, Now};
use crate::machine::{Machine, Step};
use crate::observer::Observer;
use crate::outcome::Failure;
use crate::state::State;
use crate::tally::{Call, Tally, Verdict};
use crate::token::Ticket;
use crate::word::{Peek, Word};

impl<C: Clock, W: Word, T: Tally, O: Observer> Breaker<C, W, T, O> {
    /// A success that may change something: failures are counted, a probe is out, outcomes are
    /// remembered, or the call may have been slow.
    #[cold]
    #[inline(never)]
    pub(crate) fn succeed(&self, ticket: Ticket<W::Bits>) {
        if self.was_slow(ticket) {
            return self.count(ticket, Failure::new().weight);
        }
        let machine = self.machine();
        let mut is_recorded = !T::ENABLED;
        self.settle(ticket, |circuit, _| {
            if !is_recorded && circuit.state() == State::Closed {
                // Only a failure can trip.
                let _ = self.tally.record(Call::success(circuit.epoch() as u16));
                is_recorded = true;
            }
            machine.succeed(circuit)
        });
    }

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "where the failure is a constant, as it mostly is, one of the two takes no code"
    )]
    pub(crate) fn fail(&self, ticket: Ticket<W::Bits>, failure: Failure) {
        if failure.trips {
            self.trip_at_once(ticket, failure);
        } else {
            self.count(ticket, failure.weight);
        }
    }

    #[cold]
    #[inline(never)]
    fn count(&self, ticket: Ticket<W::Bits>, weight: u16) {
        let machine = self.machine();
        let mut verdict = None;
        self.settle(ticket, |circuit, now| {
            // A failure that weighs nothing counts nowhere.
            let is_told = T::ENABLED && weight > 0 && circuit.state() == State::Closed;
            let ratio_reached = is_told && {
                let call = Call::failure(circuit.epoch() as u16, weight);
                *verdict.get_or_insert_with(|| self.tally.record(call)) == Verdict::Trip
            };
            machine.count(circuit, weight, ratio_reached, now)
        });
    }

    #[cold]
    #[inline(never)]
    fn trip_at_once(&self, ticket: Ticket<W::Bits>, failure: Failure) {
        let machine = self.machine();
        self.settle(ticket, |circuit, now| {
            machine.trip_at_once(circuit, failure, now)
        });
    }

    /// A permit that ends without a word about the resource: only a probe has something to return.
    #[inline]
    pub(crate) fn put_back(&self, ticket: Ticket<W::Bits>) {
        if !ticket.granted.is_closed() {
            self.give_back(ticket);
        }
    }

    #[cold]
    #[inline(never)]
    fn give_back(&self, ticket: Ticket<W::Bits>) {
        self.settle(ticket, |circuit, _| Machine::<W::Bits>::give_back(circuit));
    }

    /// Applies what a permit says, if it still holds.
    fn settle(
        &self,
        ticket: Ticket<W::Bits>,
        mut step: impl FnMut(Circuit<W::Bits>, &Now<'_, C>) -> Step<W::Bits>,
    ) {
        let machine = self.machine();
        let Ok(_) = self.apply(|circuit, now| {
            Ok::<_, Infallible>(if machine.holds(circuit, ticket.granted) {
                step(circuit, now)
            } else {
                Step::Stay
            })
        });
    }

    fn was_slow(&self, ticket: Ticket<W::Bits>) -> bool {
        match (ticket.started_ms, self.config.slow_call_ms) {
            (Some(started), Some(limit)) => {
                let took = self.clock.now_ms().wrapping_sub(started.get());
                // More than half the range: the clock stepped back.
                took >= limit && took <= u32::MAX / 2
            }
            _ => false,
        }
    }
}
