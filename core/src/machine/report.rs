//! Steps of a permit that reports.

use super::{Machine, Step};
use crate::circuit::Circuit;
use crate::clock::{Clock, Now};
use crate::config::TripRule;
use crate::observer::Cause;
use crate::outcome::Failure;
use crate::state::State;
use crate::word::Bits;

/// A failure on its way into the word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fail {
    pub(crate) failure: Failure,
    /// The tally says that the failure ratio is reached.
    pub(crate) ratio_reached: bool,
}

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

    /// A failure in the current epoch.
    pub(crate) fn fail(
        self,
        circuit: Circuit<B>,
        fail: Fail,
        now: &Now<'_, impl Clock>,
    ) -> Step<B> {
        let failure = fail.failure;
        let cause = match circuit.state() {
            State::Closed if failure.retry_after_ms.is_some() => Cause::RetryAfter,
            State::Closed if failure.trips => Cause::TripDemanded,
            State::Closed => return self.count(circuit, fail, now),
            State::HalfOpen => Cause::ProbeFailed,
            _ => return Step::Stay,
        };
        self.trip(circuit, failure, now, cause)
    }

    /// A failure that trips only if a limit is reached.
    fn count(self, circuit: Circuit<B>, fail: Fail, now: &Now<'_, impl Clock>) -> Step<B> {
        let weight = u32::from(fail.failure.weight);
        let (limit, counted) = match self.config.trip {
            _ if weight == 0 => return Step::Stay,
            TripRule::TallyOnly => (u32::MAX, None),
            TripRule::Consecutive { failures: limit } => {
                (limit, Some((circuit.failures() + weight, 0)))
            }
            TripRule::Within {
                failures: limit,
                window_ms,
            } => (
                limit,
                Some(self.in_window(circuit, weight, window_ms, now.ms())),
            ),
        };
        match counted {
            Some((failures, _)) if failures >= limit => {
                self.trip(circuit, fail.failure, now, Cause::FailureLimit)
            }
            _ if fail.ratio_reached => self.trip(circuit, fail.failure, now, Cause::FailureRatio),
            Some((failures, since)) => {
                Step::Within(circuit.with_failures(failures).with_time(since))
            }
            None => Step::Stay,
        }
    }

    /// The failures in the window and its start, with one more failure.
    fn in_window(
        self,
        circuit: Circuit<B>,
        weight: u32,
        window_ms: u32,
        now_ms: u32,
    ) -> (u32, u32) {
        let age = self.time.age(now_ms, circuit.time());
        if circuit.failures() == 0 || age >= self.time.ticks(window_ms) {
            (weight, self.time.stamp(now_ms))
        } else {
            (circuit.failures() + weight, circuit.time())
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
