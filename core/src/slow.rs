// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls that take too long, and their share if they have one of their own.

use crate::applied::Applied;
use crate::breaker::Breaker;
use crate::clock::Clock;
use crate::config::AsRules;
use crate::machine::Machine;
use crate::observer::Observer;
use crate::outcome::Failure;
use crate::tally::{Tally, Verdict};
use crate::token::Ticket;
use crate::word::Word;

impl<C: Clock, W: Word, T: Tally, O: Observer, R: AsRules<W::Bits>> Breaker<C, W, T, O, R> {
    /// A slow success, where slow calls have a share of their own.
    pub(crate) fn count_slow(
        &self,
        machine: Machine<'_, W::Bits>,
        ticket: Ticket<W::Bits>,
    ) -> Applied<W::Bits> {
        let applied = self.count_slow_as(machine, ticket, Some(ticket.granted));
        self.reported(applied, Failure::slow().into())
    }

    /// `succeeded` is the word when the permit was granted, if the call succeeded; otherwise it was dropped.
    #[cold]
    #[inline(never)]
    pub(crate) fn count_slow_as(
        &self,
        machine: Machine<'_, W::Bits>,
        ticket: Ticket<W::Bits>,
        succeeded: Option<W::Bits>,
    ) -> Applied<W::Bits> {
        let mut verdict = None;
        self.apply_if_current(machine, ticket, |circuit, now| {
            let recorded = self.record(machine, &mut verdict, circuit, None, true);
            machine.slow(circuit, succeeded, recorded == Verdict::Trip, now)
        })
    }

    /// Returns whether a call that failed was slow as well, where that counts.
    #[inline]
    pub(crate) fn is_also_slow(
        &self,
        machine: Machine<'_, W::Bits>,
        ticket: Ticket<W::Bits>,
    ) -> bool {
        self.has_slow_share(machine) && self.was_slow(machine, ticket)
    }

    /// Returns whether slow calls have a share of their own.
    #[inline]
    pub(crate) fn has_slow_share(&self, machine: Machine<'_, W::Bits>) -> bool {
        let ratio = machine.config.failure_ratio;
        self.counts_slow() && ratio.is_some_and(|ratio| ratio.trips_at_slow_percent().is_some())
    }

    #[inline]
    pub(crate) fn counts_slow(&self) -> bool {
        self.tally.memory().counts_slow
    }

    pub(crate) fn was_slow(&self, machine: Machine<'_, W::Bits>, ticket: Ticket<W::Bits>) -> bool {
        match (ticket.started_ms, machine.config.slow_call_ms) {
            (Some(started), Some(limit)) => {
                let took = self.clock.now_ms().wrapping_sub(started.get());
                // More than half the range: the clock stepped back.
                took >= limit && took <= u32::MAX / 2
            }
            _ => false,
        }
    }
}
