//! Steps of a permit that reports.

use super::{Machine, Step};
use crate::circuit::Circuit;
use crate::clock::{Clock, Now};
use crate::config::TripRule;
use crate::observer::Cause;
use crate::outcome::Failure;
use crate::state::State;
use crate::word::Bits;

impl<B: Bits> Machine<'_, B> {
    /// Whether the circuit is still in the epoch in which the permit was granted. `granted` is the
    /// word at that time.
    ///
    /// Epochs wrap, so a permit that lives through exactly 512 transitions (16 in a 32-bit word),
    /// or a multiple, is taken for a new one. A probe must also fit in time: where one probe is
    /// in flight at a time, it must have been admitted in the very tick of the last admission, so
    /// an old one passes for a new one only if the time has come round, too.
    pub(crate) fn holds(self, circuit: Circuit<B>, granted: B) -> bool {
        let layout = B::LAYOUT;
        circuit.agrees(granted, layout.state)
            && circuit.agrees(granted, layout.epoch)
            && match circuit.state() {
                State::Closed => true,
                State::HalfOpen => self.config.probes > 1 || circuit.agrees(granted, layout.time),
                _ => false,
            }
    }

    /// A success in the current epoch.
    pub(crate) fn succeed(self, circuit: Circuit<B>) -> Step<B> {
        match circuit.state() {
            State::Closed if circuit.failures() != 0 => match self.config.trip {
                TripRule::Consecutive { .. } => Step::Within(circuit.cleared()),
                TripRule::Within { .. } | TripRule::TallyOnly => Step::Stay,
            },
            State::HalfOpen => {
                let successes = circuit.successes() + 1;
                if successes >= self.config.needed_successes() {
                    return Step::To(circuit.enter(State::Closed), Cause::ProbesSucceeded);
                }
                let others = circuit.in_flight().saturating_sub(1);
                Step::Within(circuit.with_probes(others, successes))
            }
            _ => Step::Stay,
        }
    }

    /// A failure in the current epoch that trips at once.
    pub(crate) fn trip_at_once(
        self,
        circuit: Circuit<B>,
        failure: Failure,
        now: &Now<'_, impl Clock>,
    ) -> Step<B> {
        let (shortest_ms, demanded) = match failure.retry_after_ms {
            Some(ms) => (ms, Cause::RetryAfter),
            None => (0, Cause::TripDemanded),
        };
        let cause = match circuit.state() {
            State::Closed => demanded,
            State::HalfOpen => Cause::ProbeFailed,
            _ => return Step::Stay,
        };
        self.trip(circuit, shortest_ms, now, cause)
    }

    /// A failure in the current epoch that trips if a limit is reached, or if the tally says that
    /// the failure ratio is.
    pub(crate) fn count(
        self,
        circuit: Circuit<B>,
        weight: u16,
        ratio_reached: bool,
        now: &Now<'_, impl Clock>,
    ) -> Step<B> {
        let cause = match circuit.state() {
            State::HalfOpen => Cause::ProbeFailed,
            // The word counts nothing: not to be written for nothing.
            State::Closed if self.config.trip == TripRule::TallyOnly && !ratio_reached => {
                return Step::Stay;
            }
            State::Closed if weight > 0 => {
                let (failures, since, limit) = self.counted(circuit, weight.into(), now);
                if failures >= limit {
                    Cause::FailureLimit
                } else if ratio_reached {
                    Cause::FailureRatio
                } else {
                    return Step::Within(circuit.with_failures(failures).with_time(since));
                }
            }
            _ => return Step::Stay,
        };
        self.trip(circuit, 0, now, cause)
    }

    /// The failures with one more, the start of their window, and how many trip.
    fn counted(
        self,
        circuit: Circuit<B>,
        weight: u32,
        now: &Now<'_, impl Clock>,
    ) -> (u32, u32, u32) {
        match self.config.trip {
            TripRule::Consecutive { failures: limit } => (circuit.failures() + weight, 0, limit),
            TripRule::Within {
                failures: limit,
                window_ms,
            } => {
                let age = self.time.age(now.ms(), circuit.time());
                if circuit.failures() == 0 || age >= self.time.ticks(window_ms) {
                    (weight, self.time.stamp(now.ms()), limit)
                } else {
                    (circuit.failures() + weight, circuit.time(), limit)
                }
            }
            TripRule::TallyOnly => (0, 0, u32::MAX),
        }
    }

    /// A permit that ends without saying anything about the resource, in the current epoch.
    pub(crate) fn give_back(circuit: Circuit<B>) -> Step<B> {
        match circuit.state() {
            State::HalfOpen => {
                let others = circuit.in_flight().saturating_sub(1);
                Step::Within(circuit.with_probes(others, circuit.successes()))
            }
            _ => Step::Stay,
        }
    }
}
