// SPDX-License-Identifier: MIT OR Apache-2.0
//! Half-open: the slots of the probes, and what becomes of probes that do not report.

use super::{Machine, Step};
use crate::circuit::Circuit;
use crate::clock::{Clock, Now};
use crate::observer::Cause;
use crate::state::State;
use crate::time::TimeBase;
use crate::word::{Bits, Peek};

impl<B: Bits> Machine<'_, B> {
    /// Admits a probe, if a slot is free.
    pub(super) fn take_slot(
        self,
        circuit: Circuit<B>,
        now: &Now<'_, impl Clock>,
    ) -> Option<Step<B>> {
        let in_flight = circuit.in_flight();
        (in_flight < self.slots(circuit)).then(|| {
            let next = circuit
                .with_probes(in_flight + 1, circuit.successes())
                .with_time(B::stamp(now.ms()));
            Step::Update(next)
        })
    }

    /// The slots that a half-open breaker has: no more probes than it still needs, and one after a lost round. At
    /// least one, because rules that took over may have a smaller `close_after`.
    fn slots(self, circuit: Circuit<B>) -> u32 {
        if circuit.has_lost() {
            return 1;
        }
        let needed = self.config.needed_successes();
        let needed = needed.saturating_sub(circuit.successes()).max(1);
        needed.min(self.config.probes.into())
    }

    /// The milliseconds until a call is admitted as a probe at the latest: none while a slot is free, otherwise until the
    /// probes in flight count as lost. Measured from the last admission, so that in sparse traffic a fresh probe keeps
    /// its slot.
    pub(super) fn slot_left(self, circuit: Circuit<B>, now_ms: u32) -> Option<u32> {
        if circuit.in_flight() < self.slots(circuit) {
            return None;
        }
        B::left(now_ms, circuit.time(), self.lease(circuit.lost()))
    }

    /// The lease in ticks: doubled with each round lost in a row, so that healthy but slow calls eventually report
    /// in time.
    pub(super) fn lease(self, lost: u32) -> u32 {
        let most_ms = B::LAYOUT.max_ms();
        let lease_ms = self.config.lease_ms(most_ms);
        // Doubled before it is rounded up to a tick, which would be doubled as well.
        if lease_ms > most_ms >> lost {
            B::MAX_TICKS
        } else {
            ((lease_ms << lost) + B::BELOW_A_TICK) >> B::SHIFT
        }
    }

    /// Arrow 3, or after this many lost rounds arrow 6: a round with one probe in flight.
    pub(super) fn round(circuit: Circuit<B>, lost: u32, now_ms: u32) -> Step<B> {
        let next = circuit
            .enter_round(lost)
            // This distinguishes a round after lost ones from a word that is held.
            .with_trips(circuit.trips().max(1))
            .with_time(B::stamp(now_ms));
        let cause = match lost {
            0 => Cause::OpenTimeOver,
            _ => Cause::ProbeLost,
        };
        Step::Transition(next, cause)
    }

    /// Arrow 4, if no more successes are needed: a probe that succeeded, leaving this many others in flight.
    pub(super) fn probe_succeeded(
        self,
        circuit: Circuit<B>,
        others: u32,
        now: &Now<'_, impl Clock>,
    ) -> Step<B> {
        let successes = circuit.successes() + 1;
        if successes >= self.config.needed_successes() {
            let next = if self.keeps_trips() {
                Self::recovered(circuit, now.ms())
            } else {
                circuit.enter(State::Closed)
            };
            return Step::Transition(next, Cause::ProbesSucceeded);
        }
        Step::Update(circuit.with_probes(others, successes))
    }

    /// Returns whether the permit belongs to a probe that lost its slot during the current half-open time. The rounds
    /// that the word counts as lost began in consecutive epochs, and no more are counted than there were, so this is
    /// certain unless the epochs have wrapped; then the trips in a row usually differ. Only called while half-open.
    pub(super) fn is_of_a_lost_round(circuit: Circuit<B>, granted: B) -> bool {
        let rounds_since = circuit
            .epoch()
            .wrapping_sub(B::LAYOUT.epoch.get(granted.to_u64()) + 1);
        circuit.bits().is_same_half_open_time(granted)
            && rounds_since & B::LAYOUT.epoch.max() < circuit.lost()
    }

    /// A permit that ends without saying anything about the resource, in the current epoch.
    pub(crate) fn give_back(circuit: Circuit<B>) -> Step<B> {
        if !circuit.is_half_open() {
            return Step::Keep;
        }
        // A token that is resumed twice reports twice, so do not go below zero.
        let others = circuit.in_flight().saturating_sub(1);
        Step::Update(circuit.with_probes(others, circuit.successes()))
    }

    /// Arrow 5, if it is late: a permit that is dropped, in the current epoch. A probe that was dropped young says
    /// nothing; one that hung until its caller gave up has failed.
    pub(crate) fn cancel(
        self,
        circuit: Circuit<B>,
        granted: B,
        was_slow: bool,
        now: &Now<'_, impl Clock>,
    ) -> Step<B> {
        if !circuit.is_half_open() {
            return Step::Keep;
        }
        let admitted = B::LAYOUT.time.get(granted.to_u64());
        let limit = B::ticks(self.config.cancel_limit_ms);
        if was_slow || B::age(now.ms(), admitted) >= limit {
            self.trip(circuit, 0, now, Cause::ProbeCancelled)
        } else {
            Self::give_back(circuit)
        }
    }
}
