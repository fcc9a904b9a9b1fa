//! Steps of a permit that reports.

use super::{Machine, Step};
use crate::circuit::{Circuit, Phase};
use crate::clock::{Clock, Now};
use crate::config::TripRule;
use crate::observer::Cause;
use crate::outcome::Failure;
use crate::word::{Bits, Field};

/// A failure on its way into the word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fail {
    pub(crate) failure: Failure,
    /// The tally says that the failure ratio is reached.
    pub(crate) ratio_reached: bool,
}

impl<B: Bits> Machine<'_, B> {
    /// Whether the word, which holds `circuit`, is still in the epoch in which the permit was granted.
    /// `granted` is the word at that time.
    ///
    /// Epochs wrap, so a permit that lives through exactly 512 transitions (16 in a 32-bit word),
    /// or a multiple, is taken for a new one. A probe must also fit in time: where one probe is
    /// in flight at a time, it must have been admitted in the very tick of the last admission, so
    /// an old one passes for a new one only if the time has come round, too.
    pub(crate) fn holds(self, circuit: Circuit, word: B, granted: B) -> bool {
        let changed = word.to_u64() ^ granted.to_u64();
        let is_same = |field: Field| field.get(changed) == 0;
        is_same(B::LAYOUT.state)
            && is_same(B::LAYOUT.epoch)
            && match circuit.phase {
                Phase::Closed { .. } => true,
                Phase::HalfOpen { .. } => is_same(B::LAYOUT.time) || self.config.probes > 1,
                _ => false,
            }
    }

    /// A success in the current epoch.
    pub(crate) fn succeed(self, circuit: Circuit) -> Step {
        match circuit.phase {
            Phase::Closed { failures, .. } if failures != 0 => match self.config.trip {
                TripRule::Consecutive { .. } => Step::Within(Circuit {
                    phase: Phase::CLEAR,
                    ..circuit
                }),
                TripRule::Within { .. } | TripRule::TallyOnly => Step::Stay,
            },
            Phase::HalfOpen {
                in_flight,
                successes,
                last,
            } => {
                let successes = successes + 1;
                if successes >= self.config.needed_successes() {
                    return Self::enter(circuit, Phase::CLEAR, 0, Cause::ProbesSucceeded);
                }
                Step::Within(Circuit {
                    phase: Phase::HalfOpen {
                        in_flight: in_flight.saturating_sub(1),
                        successes,
                        last,
                    },
                    ..circuit
                })
            }
            _ => Step::Stay,
        }
    }

    /// A failure in the current epoch.
    pub(crate) fn fail(self, circuit: Circuit, fail: Fail, now: &Now<'_, impl Clock>) -> Step {
        let failure = fail.failure;
        match circuit.phase {
            Phase::Closed { failures, since } => {
                if failure.retry_after_ms.is_some() {
                    return self.trip(circuit, fail.failure, now, Cause::RetryAfter);
                }
                if failure.trips {
                    return self.trip(circuit, fail.failure, now, Cause::TripDemanded);
                }
                self.count(circuit, failures, since, fail, now)
            }
            Phase::HalfOpen { .. } => self.trip(circuit, fail.failure, now, Cause::ProbeFailed),
            _ => Step::Stay,
        }
    }

    /// A failure that trips only if a limit is reached.
    fn count(
        self,
        circuit: Circuit,
        failures: u32,
        since: u32,
        fail: Fail,
        now: &Now<'_, impl Clock>,
    ) -> Step {
        let weight = u32::from(fail.failure.weight);
        let (limit, counted) = match self.config.trip {
            _ if weight == 0 => (u32::MAX, None),
            TripRule::TallyOnly => (u32::MAX, None),
            TripRule::Consecutive { failures: limit } => (limit, Some((failures + weight, 0))),
            TripRule::Within {
                failures: limit,
                window_ms,
            } => {
                let now_ms = now.ms();
                let is_over = self.time.age(now_ms, since) >= self.time.ticks(window_ms);
                let counted = if failures == 0 || is_over {
                    (weight, self.time.stamp(now_ms))
                } else {
                    (failures + weight, since)
                };
                (limit, Some(counted))
            }
        };
        match counted {
            Some((failures, _)) if failures >= limit => {
                self.trip(circuit, fail.failure, now, Cause::FailureLimit)
            }
            _ if fail.ratio_reached => self.trip(circuit, fail.failure, now, Cause::FailureRatio),
            Some((failures, since)) => Step::Within(Circuit {
                phase: Phase::Closed { failures, since },
                ..circuit
            }),
            None => Step::Stay,
        }
    }

    /// A permit that ends without saying anything about the resource, in the current epoch.
    pub(crate) fn give_back(circuit: Circuit) -> Step {
        match circuit.phase {
            Phase::HalfOpen {
                in_flight,
                successes,
                last,
            } => Step::Within(Circuit {
                phase: Phase::HalfOpen {
                    in_flight: in_flight.saturating_sub(1),
                    successes,
                    last,
                },
                ..circuit
            }),
            _ => Step::Stay,
        }
    }
}
