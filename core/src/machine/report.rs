// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps of a permit that reports.

use super::{Machine, Step};
use crate::circuit::Circuit;
use crate::clock::{Clock, Now};
use crate::config::TripRule;
use crate::observer::Cause;
use crate::outcome::Failure;
use crate::time::TimeBase;
use crate::word::{Bits, Peek};

impl<B: Bits> Machine<'_, B> {
    /// Returns whether a report still counts: the circuit must be in the epoch in which the permit was granted.
    /// `granted` is the word at that time.
    ///
    /// The word has no room to list the probes in flight, and its epochs wrap: a permit that outlives exactly 512
    /// transitions (16 in a 32-bit word), or a multiple, looks current if the trips in a row are the same again. A
    /// call of a closed breaker cannot be told from that. A probe can, where one is in flight at a time: it was
    /// admitted in the very tick of the last admission. So an old one is mistaken for a current one only if the time
    /// has wrapped to the same value, too.
    // Once in flash: 20 bytes less on a Cortex-M0.
    #[cfg_attr(target_pointer_width = "64", inline)]
    #[cfg_attr(not(target_pointer_width = "64"), inline(never))]
    pub(crate) fn holds(self, circuit: Circuit<B>, granted: B) -> bool {
        if !circuit.bits().is_same_epoch(granted) {
            return false;
        }
        if circuit.counts_failures() || circuit.is_same_time(granted) {
            return true;
        }
        // Several may be in flight under rules that have been replaced since.
        !circuit.has_lost() && (self.config.probes > 1 || circuit.in_flight() > 1)
    }

    /// Returns whether the permit was granted in the epoch before this one, and that epoch ended by opening. Three
    /// calls fail, the first trips the breaker, the third brings a `Retry-After`: its demand still counts.
    ///
    /// Opening raises the epoch and the trips by one each, and comes from the states in which calls pass.
    pub(crate) fn has_just_opened(circuit: Circuit<B>, granted: B) -> bool {
        let Some(granted) = Circuit::decode(granted) else {
            return false;
        };
        let epoch = (granted.epoch() + 1) & B::LAYOUT.epoch.max();
        let trips = (granted.trips() + 1).min(B::LAYOUT.trips.max());
        circuit.is_open()
            && circuit.epoch() == epoch
            && circuit.trips() == trips
            && (granted.counts_failures() || granted.is_half_open())
    }

    /// A success of a permit that holds, or of one that has ended. Of the latter, only a success of a probe that
    /// lost its slot says something: the resource is responding now. It counts for the current round, and frees no
    /// slot.
    pub(crate) fn succeed(
        self,
        circuit: Circuit<B>,
        granted: B,
        holds: bool,
        now: &Now<'_, impl Clock>,
    ) -> Step<B> {
        if circuit.is_half_open() {
            if !holds && !Self::is_of_a_lost_round(circuit, granted) {
                return Step::Keep;
            }
            // A token that is resumed twice reports twice, so do not go below zero.
            let others = circuit.in_flight().saturating_sub(holds.into());
            return self.probe_succeeded(circuit, others, now);
        }
        if !holds || !circuit.counts_failures() || circuit.failures() == 0 {
            return Step::Keep;
        }
        let is_over = match self.config.trip {
            // Failures counted beside a tally are left over from rules that were replaced.
            TripRule::Consecutive { .. } | TripRule::Lasting { .. } | TripRule::TallyOnly => true,
            // Failures that stayed would look recent again after the time wraps.
            TripRule::Within { window_ms, .. } => {
                circuit.trips() == 0 && B::age(now.ms(), circuit.time()) >= B::ticks(window_ms)
            }
        };
        if is_over {
            Step::Update(self.cleared_while_passing(circuit))
        } else {
            Step::Keep
        }
    }

    /// Closed, with no failures counted.
    pub(crate) fn cleared(circuit: Circuit<B>) -> Circuit<B> {
        circuit.with_failures(0).with_time(0)
    }

    /// Closed or returning, with no failures counted.
    fn cleared_while_passing(self, circuit: Circuit<B>) -> Circuit<B> {
        if circuit.trips() == 0 {
            return Self::cleared(circuit);
        }
        // The stored time is the start of the return.
        let since = self.returning_since(circuit);
        circuit.with_failures(0).with_time(since)
    }

    /// Arrow 2, or 5 of a probe: a failure in the current epoch that trips at once.
    pub(crate) fn trip_at_once(
        self,
        circuit: Circuit<B>,
        failure: Failure,
        now: &Now<'_, impl Clock>,
    ) -> Step<B> {
        let shortest_ms = self.demanded_ms(failure);
        let demanded = match failure.retry_after_ms {
            Some(_) => Cause::RetryAfter,
            None => Cause::TripDemanded,
        };
        if circuit.is_half_open() {
            self.trip(circuit, shortest_ms, now, Cause::ProbeFailed)
        } else if circuit.counts_failures() {
            self.trip(circuit, shortest_ms, now, demanded)
        } else {
            Step::Keep
        }
    }

    /// A failure whose permit has ended: its demand still counts if the breaker has just opened.
    pub(crate) fn demand_late(
        self,
        circuit: Circuit<B>,
        granted: B,
        failure: Failure,
        now: &Now<'_, impl Clock>,
    ) -> Step<B> {
        let shortest_ms = self.demanded_ms(failure);
        if shortest_ms > 0 && Self::has_just_opened(circuit, granted) {
            self.extend(circuit, shortest_ms, now)
        } else {
            Step::Keep
        }
    }

    /// Arrow 1, or 5 of a probe: a failure in the current epoch, which trips if a limit is reached or the tally says
    /// that the failure ratio is, and then for at least `shortest_ms`.
    // As a separate function this would take the rules, and those that are known at compile time could not be folded into
    // the code: 280 bytes more of a call on a Cortex-M0.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "see above")]
    pub(crate) fn count(
        self,
        circuit: Circuit<B>,
        weight: u16,
        ratio_reached: bool,
        shortest_ms: u32,
        now: &Now<'_, impl Clock>,
    ) -> Step<B> {
        let cause = if circuit.is_half_open() {
            Cause::ProbeFailed
        } else if !circuit.counts_failures() || weight == 0 {
            return Step::Keep;
        } else if self.config.trip == TripRule::TallyOnly {
            // The word counts nothing, so it is not written needlessly.
            if !ratio_reached {
                return Step::Keep;
            }
            Cause::FailureRatio
        } else {
            match self.counted(circuit, weight.into(), now) {
                None => Cause::FailureLimit,
                Some(_) if ratio_reached => Cause::FailureRatio,
                Some(next) => return Step::Update(next),
            }
        };
        let cause = match cause {
            Cause::FailureLimit | Cause::FailureRatio if shortest_ms > 0 => Cause::RetryAfter,
            _ => cause,
        };
        self.trip(circuit, shortest_ms, now, cause)
    }

    /// Arrow 1, or 5 of a probe: a slow call in the current epoch, where slow calls have a share of their own. It trips if
    /// the tally says so. If it succeeded, it does what a success does; a probe has failed.
    pub(crate) fn slow(
        self,
        circuit: Circuit<B>,
        succeeded: Option<B>,
        ratio_reached: bool,
        now: &Now<'_, impl Clock>,
    ) -> Step<B> {
        if circuit.is_half_open() {
            return self.trip(circuit, 0, now, Cause::ProbeFailed);
        }
        match succeeded {
            _ if ratio_reached => self.trip(circuit, 0, now, Cause::SlowRatio),
            Some(granted) => self.succeed(circuit, granted, true, now),
            None => Step::Keep,
        }
    }

    /// With `weight` more failures; `None` if they reach the limit.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as `count`")]
    fn counted(
        self,
        circuit: Circuit<B>,
        weight: u32,
        now: &Now<'_, impl Clock>,
    ) -> Option<Circuit<B>> {
        let failures = circuit.failures() + weight;
        match self.config.trip {
            TripRule::Consecutive { failures: limit } => {
                Self::counted_in_a_row(circuit, weight, limit)
            }
            TripRule::Lasting {
                failures: limit,
                lasting_ms,
            } => self.counted_lasting(circuit, weight, (limit, lasting_ms), now.ms()),
            // While traffic returns, the stored time is the start of the return.
            TripRule::Within {
                failures: limit,
                window_ms,
            } if circuit.trips() != 0 => {
                let is_reached =
                    self.is_reached_while_returning(circuit, failures, now, limit, window_ms);
                (!is_reached).then(|| circuit.with_failures(failures))
            }
            TripRule::Within {
                failures: limit,
                window_ms,
            } => {
                let is_first = circuit.failures() == 0
                    || B::age(now.ms(), circuit.time()) >= B::ticks(window_ms);
                if is_first {
                    let begin = || circuit.with_failures(weight).with_time(B::stamp(now.ms()));
                    (weight < limit).then(begin)
                } else {
                    (failures < limit).then(|| circuit.with_failures(failures))
                }
            }
            TripRule::TallyOnly => Some(circuit),
        }
    }

    /// [`counted`](Self::counted) under the rule that needs no time.
    pub(crate) fn counted_in_a_row(
        circuit: Circuit<B>,
        weight: u32,
        limit: u32,
    ) -> Option<Circuit<B>> {
        (circuit.failures() + weight < limit).then(|| circuit.with_more_failures(weight))
    }

    /// Returns whether this many failures since traffic began to return reach the limit times the number of windows
    /// that the return has lasted (at least one), or are all that the word can count.
    fn is_reached_while_returning(
        self,
        circuit: Circuit<B>,
        failures: u32,
        now: &Now<'_, impl Clock>,
        limit: u32,
        window_ms: u32,
    ) -> bool {
        let window = B::ticks(window_ms);
        // Rules that keep no trips may have taken over.
        let whole = self.return_ticks(circuit);
        let lasted = B::age(now.ms(), circuit.time()).min(whole).max(window);
        // `failures / lasted >= limit / window`, multiplied by both: no division.
        failures >= B::LAYOUT.max_failures()
            || u64::from(failures) * u64::from(window) >= u64::from(limit) * u64::from(lasted)
    }
}
