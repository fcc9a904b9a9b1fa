// SPDX-License-Identifier: MIT OR Apache-2.0
//! The changes that a report makes to the word, off the closed path.
//!
//! The rules may be replaced at any time, so the function that decides what becomes of a report reads them once and
//! passes them on as a [`Machine`].

#![expect(
    clippy::inline_always,
    reason = "where what is reported is a constant, as it mostly is, the other cases take no code"
)]

use crate::applied::Applied;
use crate::breaker::Breaker;
use crate::circuit::Circuit;
use crate::clock::{Clock, Now};
use crate::config::{AsRules, Memory};
use crate::machine::{Machine, Step};
use crate::observer::Observer;
use crate::outcome::{Demand, Failure, Outcome};
use crate::short_way::{HAS_SHORT_WAY, Way};
use crate::tally::{Call, Tally, Verdict};
use crate::token::Ticket;
use crate::word::{self, Peek, Word};

impl<C: Clock, W: Word, T: Tally, O: Observer, R: AsRules<W::Bits>> Breaker<C, W, T, O, R> {
    /// Applies what a permit reports.
    #[inline(always)]
    pub(crate) fn report(&self, ticket: Ticket<W::Bits>, outcome: Outcome) -> Applied<W::Bits> {
        match outcome {
            Outcome::Success => self.success(ticket),
            Outcome::Failure(failure) => self.fail(ticket, failure),
            Outcome::Ignored => self.ignore(ticket),
        }
    }

    /// Notifies the observer of the report, and of the transition if it made one.
    #[inline]
    pub(crate) fn reported(&self, applied: Applied<W::Bits>, outcome: Outcome) -> Applied<W::Bits> {
        self.observer.outcome(outcome);
        self.notify(applied);
        applied
    }

    /// A success. Closed with nothing counted: one load, plus recording in a tally if there is one.
    #[inline]
    fn success(&self, ticket: Ticket<W::Bits>) -> Applied<W::Bits> {
        let is_all = if self.has_tally() {
            HAS_SHORT_WAY && ticket.started_ms.is_none() && self.remember(self.machine(), ticket)
        } else {
            // Whatever the permit's epoch: in a clear word there is nothing to change.
            ticket.started_ms.is_none() && word::load_relaxed(&self.word).is_closed_and_clear()
        };
        if !is_all {
            return self.succeed(ticket);
        }
        self.reported(Applied::nothing(ticket.granted), Outcome::Success)
    }

    /// Records a success in the tally, if nothing else is needed.
    #[inline]
    fn remember(&self, machine: Machine<'_, W::Bits>, ticket: Ticket<W::Bits>) -> bool {
        let seen = word::load_relaxed(&self.word);
        let is_all = seen.is_closed_and_clear() && seen.is_same_epoch(ticket.granted);
        if is_all {
            // Only a failure can trip.
            let _ = self.record_in(machine, Circuit::of_valid(seen), None, false);
        }
        is_all
    }

    #[inline(always)]
    fn fail(&self, ticket: Ticket<W::Bits>, failure: Failure) -> Applied<W::Bits> {
        if failure.demand != Demand::Nothing {
            self.fail_demanding(ticket, failure)
        } else if self.counts_slow() && failure.is_slow() && self.has_slow_share(self.machine()) {
            self.count_slow(self.machine(), ticket)
        } else if HAS_SHORT_WAY && self.has_tally() {
            let machine = self.machine();
            match self.count_remembered(machine, ticket, failure.weight) {
                Way::Short => self.reported(Applied::nothing(ticket.granted), failure.into()),
                Way::Long(None) => self.count(machine, ticket, failure),
                Way::Long(Some(verdict)) => {
                    let applied = self.count_recorded(machine, ticket, failure.weight, verdict);
                    self.reported(applied, failure.into())
                }
            }
        } else if HAS_SHORT_WAY && self.count_in_a_row(ticket, failure.weight) {
            self.reported(Applied::nothing(ticket.granted), failure.into())
        } else {
            self.count(self.machine(), ticket, failure)
        }
    }

    /// A success that may change something: failures are counted, a probe is in flight, outcomes are remembered, or
    /// the call may have been slow.
    #[cold]
    #[inline(never)]
    fn succeed(&self, ticket: Ticket<W::Bits>) -> Applied<W::Bits> {
        let way = if HAS_SHORT_WAY {
            self.clear(ticket)
        } else {
            Way::Long(None)
        };
        match way {
            Way::Short => self.reported(Applied::nothing(ticket.granted), Outcome::Success),
            Way::Long(recorded) => self.succeed_cold(ticket, recorded),
        }
    }

    /// Out of line where there is a short way, so that the short way does not spill registers for this one.
    #[cfg_attr(target_pointer_width = "64", cold, inline(never))]
    #[cfg_attr(not(target_pointer_width = "64"), inline(always))]
    fn succeed_cold(&self, ticket: Ticket<W::Bits>, recorded: Option<Verdict>) -> Applied<W::Bits> {
        let machine = self.machine();
        if self.was_slow(machine, ticket) {
            return if self.has_slow_share(machine) {
                self.count_slow(machine, ticket)
            } else {
                self.count(machine, ticket, Failure::slow())
            };
        }
        let mut verdict = recorded;
        let applied = self.apply(|circuit, now| {
            let holds = machine.holds(circuit, ticket.granted);
            if holds {
                // Only a failure can trip.
                let _ = self.record(machine, &mut verdict, circuit, None, false);
            }
            machine.succeed(circuit, ticket.granted, holds, now)
        });
        self.reported(applied, Outcome::Success)
    }

    /// A success without a call.
    #[cold]
    pub(crate) fn succeed_elsewhere(&self, ticket: Ticket<W::Bits>) -> Applied<W::Bits> {
        let (machine, granted) = (self.machine(), ticket.granted);
        let applied = self.apply(|circuit, now| {
            machine.succeed(circuit, granted, machine.holds(circuit, granted), now)
        });
        self.notify(applied);
        applied
    }

    #[inline]
    fn count(
        &self,
        machine: Machine<'_, W::Bits>,
        ticket: Ticket<W::Bits>,
        failure: Failure,
    ) -> Applied<W::Bits> {
        let applied = self.count_cold(machine, ticket, failure.weight);
        self.reported(applied, failure.into())
    }

    #[cold]
    #[inline(never)]
    fn count_cold(
        &self,
        machine: Machine<'_, W::Bits>,
        ticket: Ticket<W::Bits>,
        weight: u16,
    ) -> Applied<W::Bits> {
        self.rules.assume(machine.config);
        self.count_with(machine, ticket, weight, None)
    }

    /// [`count_cold`](Self::count_cold) of a failure that a tally has recorded already.
    #[cold]
    #[inline(never)]
    fn count_recorded(
        &self,
        machine: Machine<'_, W::Bits>,
        ticket: Ticket<W::Bits>,
        weight: u16,
        verdict: Verdict,
    ) -> Applied<W::Bits> {
        self.count_with(machine, ticket, weight, Some(verdict))
    }

    #[inline(always)]
    fn count_with(
        &self,
        machine: Machine<'_, W::Bits>,
        ticket: Ticket<W::Bits>,
        weight: u16,
        mut verdict: Option<Verdict>,
    ) -> Applied<W::Bits> {
        let is_slow = verdict.is_none() && self.is_also_slow(machine, ticket);
        self.apply_if_current(machine, ticket, |circuit, now| {
            let recorded = self.record(machine, &mut verdict, circuit, Some(weight), is_slow);
            let ratio_reached = recorded == Verdict::Trip;
            machine.count(circuit, weight, ratio_reached, 0, now)
        })
    }

    /// Shows a call to the tally, once. A failure of weight 0 counts nowhere.
    #[inline]
    pub(crate) fn record(
        &self,
        machine: Machine<'_, W::Bits>,
        verdict: &mut Option<Verdict>,
        circuit: Circuit<W::Bits>,
        failure: Option<u16>,
        is_slow: bool,
    ) -> Verdict {
        if !self.has_tally() || !circuit.counts_failures() || failure == Some(0) {
            return Verdict::Keep;
        }
        *verdict.get_or_insert_with(|| self.record_in(machine, circuit, failure, is_slow))
    }

    #[inline]
    pub(crate) fn record_in(
        &self,
        machine: Machine<'_, W::Bits>,
        circuit: Circuit<W::Bits>,
        failure: Option<u16>,
        is_slow: bool,
    ) -> Verdict {
        let call = Call {
            epoch: circuit.epoch() as u16,
            failure,
            is_slow,
        };
        self.tally.record(call, machine.config.failure_ratio)
    }

    #[inline]
    pub(crate) fn has_tally(&self) -> bool {
        self.tally.memory() != Memory::NONE
    }

    #[cold]
    #[inline(never)]
    fn fail_demanding(&self, ticket: Ticket<W::Bits>, failure: Failure) -> Applied<W::Bits> {
        let machine = self.machine();
        let is_slow = self.is_also_slow(machine, ticket);
        let mut verdict = None;
        let applied = self.apply(|circuit, now| {
            if !machine.holds(circuit, ticket.granted) {
                machine.demand_late(circuit, ticket.granted, failure, now)
            } else if failure.is_tripping() {
                machine.trip_at_once(circuit, failure, now)
            } else {
                let weight = Some(failure.weight);
                let recorded = self.record(machine, &mut verdict, circuit, weight, is_slow);
                let ratio_reached = recorded == Verdict::Trip;
                let shortest_ms = machine.demanded_ms(failure);
                machine.count(circuit, failure.weight, ratio_reached, shortest_ms, now)
            }
        });
        self.reported(applied, failure.into())
    }

    /// A permit that ends without saying anything about the resource: only a probe has something to return.
    #[inline]
    fn ignore(&self, ticket: Ticket<W::Bits>) -> Applied<W::Bits> {
        if !ticket.granted.is_closed() {
            self.give_back(ticket);
        }
        self.reported(Applied::nothing(ticket.granted), Outcome::Ignored)
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn give_back(&self, ticket: Ticket<W::Bits>) {
        self.apply_if_current(self.machine(), ticket, |circuit, _| {
            Machine::<W::Bits>::give_back(circuit)
        });
    }

    /// A permit that is dropped: nothing is learned from it, unless it took too long.
    #[inline]
    pub(crate) fn cancel(&self, ticket: Ticket<W::Bits>) -> Applied<W::Bits> {
        if ticket.granted.is_closed() && ticket.started_ms.is_none() {
            self.observer.cancelled();
            return Applied::nothing(ticket.granted);
        }
        self.cancel_cold(ticket)
    }

    #[cold]
    #[inline(never)]
    fn cancel_cold(&self, ticket: Ticket<W::Bits>) -> Applied<W::Bits> {
        let machine = self.machine();
        let was_slow = self.was_slow(machine, ticket);
        let applied = if was_slow && !ticket.is_probe() {
            if self.has_slow_share(machine) {
                self.count_slow_as(machine, ticket, None)
            } else {
                self.count_cold(machine, ticket, Failure::new().weight)
            }
        } else {
            self.apply_if_current(machine, ticket, |circuit, now| {
                machine.cancel(circuit, ticket.granted, was_slow, now)
            })
        };
        self.observer.cancelled();
        self.notify(applied);
        applied
    }

    /// Applies what a permit says, if it still holds.
    #[inline]
    pub(crate) fn apply_if_current(
        &self,
        machine: Machine<'_, W::Bits>,
        ticket: Ticket<W::Bits>,
        mut step: impl FnMut(Circuit<W::Bits>, &Now<'_, C>) -> Step<W::Bits>,
    ) -> Applied<W::Bits> {
        self.apply(|circuit, now| {
            if machine.holds(circuit, ticket.granted) {
                step(circuit, now)
            } else {
                Step::Keep
            }
        })
    }
}
