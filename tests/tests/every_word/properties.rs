// SPDX-License-Identifier: MIT OR Apache-2.0
//! What must hold after a call, a report, a look.

use atomic_breaker::{Cause, Outcome, State, Token, TripRule};

use crate::form::Form;
use crate::operations::Case;
use crate::spec::{Kind, Meaning};

/// The reasons that an operation may have.
const OF_CALLS: [Cause; 3] = [
    Cause::OpenTimeOver,
    Cause::ProbeLost,
    Cause::TrafficReturned,
];

const fn causes(outcome: Option<Outcome>, was_slow: bool) -> &'static [Cause] {
    match outcome {
        // A success that took too long, or a caller that left late, counts as a failure.
        Some(Outcome::Success) if was_slow => &[Cause::FailureLimit, Cause::ProbeFailed],
        Some(Outcome::Success) => &[Cause::ProbesSucceeded],
        Some(Outcome::Failure(failure)) => match (failure.min_open_time(), failure.is_tripping()) {
            (Some(_), _) => &[Cause::RetryAfter, Cause::ProbeFailed],
            (None, true) => &[Cause::TripDemanded, Cause::ProbeFailed],
            (None, false) => &[Cause::FailureLimit, Cause::ProbeFailed],
        },
        None => &[Cause::ProbeCancelled, Cause::FailureLimit],
        _ => &[],
    }
}

/// What is true after one operation.
impl<F: Form> Case<'_, F> {
    /// What the word means, as the breaker tells it.
    pub(crate) fn snapshot(&mut self) {
        self.begin();
        let snapshot = self.breaker.snapshot();
        assert_eq!(self.memory.bits(), self.word, "looking changes nothing");
        let before = &self.before;
        let told = Meaning {
            trips: snapshot.trips().into(),
            epoch: snapshot.epoch().into(),
            failures: match (self.age_when_reached(), self.ruled.config.trip) {
                (Some(_), TripRule::Lasting { failures, .. }) => {
                    assert_eq!(u32::from(snapshot.failures()), failures);
                    before.failures
                }
                _ => snapshot.failures().into(),
            },
            open_for: snapshot.open_for().map_or(0, |it| it.as_millis() as u64),
            is_demanded: snapshot.is_demanded(),
            in_flight: snapshot.probes_in_flight().into(),
            successes: snapshot.successes().into(),
            lost: snapshot.lost_rounds().into(),
            ..*before
        };
        // That of a word which no breaker writes is the epoch that begins when it is replaced.
        let is_right = self.is_corrupt || told == *before;
        assert!(
            is_right && snapshot.entered() == before.state(),
            "{:#x}: {before:?}, {told:?}",
            self.word
        );
        *self.steps += 1;
    }

    pub(crate) fn acquire(&mut self) {
        self.begin();
        let answer = self.breaker.acquire();
        let answer = answer.map(|permit| {
            let is_probe = permit.is_probe();
            let _ = permit.into_token();
            is_probe
        });
        let after = self.end("a call", &OF_CALLS);
        let before = &self.before;
        let age = before.age::<F>(self.memory.now_ms.get());
        let return_age = self.return_age();
        let retry_in = answer.err().and_then(|rejected| rejected.retry_in_ms());
        let is_same = self.is_corrupt || self.memory.bits() == self.word;
        let is_right = match (before.kind, answer) {
            (Kind::Closed | Kind::Disabled, answer) => answer == Ok(false) && is_same,
            (Kind::ForcedOpen, answer) => answer.is_err() && retry_in.is_none() && is_same,
            (Kind::Open, Err(_)) => {
                let left = before.open_for.cast_signed() - age;
                left > 0 && retry_in.map(i64::from) == Some(left) && is_same
            }
            (Kind::Open, Ok(is_probe)) => {
                let is_first = after.in_flight == 1 && after.lost == 0;
                age >= before.open_for.cast_signed()
                    && is_probe
                    && after.kind == Kind::HalfOpen
                    && is_first
            }
            (Kind::HalfOpen, Err(_)) => {
                before.in_flight > 0 && age < self.lease() && retry_in.is_some() && is_same
            }
            (Kind::HalfOpen, Ok(is_probe)) => {
                let is_next = after.in_flight == before.in_flight + 1 && after.lost == before.lost;
                let is_new = after.in_flight == 1 && age >= self.lease();
                is_probe && after.kind == Kind::HalfOpen && (is_next || is_new)
            }
            (Kind::Returning, Ok(is_probe)) => !is_probe && self.passes_wholly(&after, return_age),
            (Kind::Returning, Err(_)) => retry_in.is_some() && is_same,
        };
        assert!(
            is_right,
            "{before:?} at the age of {age} with {:?}: {answer:?}, {retry_in:?}, {after:?}",
            self.ruled.config
        );
    }

    /// How long a probe may take in this round, in ticks.
    fn lease(&self) -> i64 {
        let lease = self.ruled.lease << self.before.lost;
        lease.min(F::LONGEST).cast_signed()
    }

    /// The age of the return, in ticks.
    fn return_age(&self) -> i64 {
        let reached = self.age_when_reached().unwrap_or(0) % F::RANGE;
        let begun = Meaning {
            time: (self.before.time + F::RANGE - reached) % F::RANGE,
            ..self.before
        };
        begun.age::<F>(self.memory.now_ms.get())
    }

    /// The age of the return, in ticks, when a row that must last had reached its limit, if it has.
    fn age_when_reached(&self) -> Option<u64> {
        let most = F::MOST_FAILURES >> 1;
        let keeps =
            self.ruled.config.gradual_return.is_some() || self.ruled.config.growth.is_some();
        let is_lasting = matches!(self.ruled.config.trip, TripRule::Lasting { .. });
        let is_returning = self.before.kind == Kind::Returning;
        if !(is_returning && is_lasting && keeps && self.before.failures > most) {
            return None;
        }
        let mut unit = 1;
        while self.ruled.keeps_trips_for(self.before.trips) / unit > u64::from(most) {
            unit *= 2;
        }
        let units = u64::from(self.before.failures - most - 1);
        Some(units * unit)
    }

    /// Whether a failure in a row that must last did what it must.
    fn lasts(&self, weight: u32, (limit, lasting): (u32, i64), after: &Meaning) -> bool {
        let before = &self.before;
        let most = F::MOST_FAILURES >> 1;
        let keeps = self.ruled.keeps_trips_for(before.trips) > 0;
        let age = before.age::<F>(self.memory.now_ms.get());
        let failures = before.failures.saturating_add(weight);
        let is_open = after.kind == Kind::Open;
        if before.kind == Kind::Closed || !keeps {
            let has_lasted = before.failures > 0 && age >= lasting;
            return is_open == (has_lasted && failures >= limit)
                && (is_open || after.failures == failures.min(limit));
        }
        match self.age_when_reached() {
            Some(_) => is_open == (age >= lasting) && (is_open || self.memory.bits() == self.word),
            None if failures < limit => after.failures == failures,
            None => after.kind == Kind::Returning && after.failures > most,
        }
    }

    /// Whether a returning word closes once its time is over, and not before.
    fn passes_wholly(&self, after: &Meaning, age: i64) -> bool {
        let over = self.ruled.keeps_trips_for(self.before.trips).cast_signed();
        // A time that lies ahead of the clock, by no more than the clock may step back, is now.
        let is_over = age.max(0) >= over;
        after.kind
            == if is_over {
                Kind::Closed
            } else {
                Kind::Returning
            }
    }

    /// Words with which a call may have been granted: this one, those of earlier epochs, one that has nothing to do with it.
    pub(crate) fn tokens(&self) -> [u64; 6] {
        // Closed with nothing counted, and half-open after as many trips.
        let closed = |word: u64| word >> F::EPOCH_AT << F::EPOCH_AT;
        let half_open = |word: u64| word & !0x3 | 2;
        let earlier = F::earlier(self.word, 1);
        [
            self.word,
            closed(self.word),
            closed(earlier),
            half_open(self.word),
            half_open(earlier),
            !self.word & F::MASK,
        ]
    }

    pub(crate) fn report(&mut self, granted: u64, outcome: Option<Outcome>, started_ms: u32) {
        self.begin();
        let permit = self
            .breaker
            .resume(Token::from_raw(F::of(granted), started_ms));
        let made = match outcome {
            Some(outcome) => permit.report(outcome),
            None => permit.cancel(),
        };
        if !self.is_corrupt {
            assert_eq!(made, self.memory.made.get(), "returned as it was reported");
        }
        let took = self.memory.now_ms.get().wrapping_sub(started_ms);
        // A start that lies ahead of the clock, after a step back, is now.
        let is_long = (5..u32::MAX / 2).contains(&took);
        let was_slow = started_ms != 0 && is_long && self.ruled.measures;
        let after = self.end("a report", causes(outcome, was_slow));
        let frees = self.before.in_flight.saturating_sub(after.in_flight);
        let is_right = (made.is_some() || frees <= 1)
            && (granted != self.word
                || self.is_corrupt
                || self.is_counted(outcome, was_slow, &after));
        assert!(
            is_right,
            "{:?} with {granted:#x}, {outcome:?}: {after:?}",
            self.before
        );
    }

    /// Whether the report of a call that was granted by this very word did what it must.
    fn is_counted(&self, outcome: Option<Outcome>, was_slow: bool, after: &Meaning) -> bool {
        let before = &self.before;
        let is_open = after.kind == Kind::Open;
        match (before.kind, outcome) {
            (Kind::HalfOpen, Some(Outcome::Failure(_))) => is_open,
            (Kind::HalfOpen, Some(Outcome::Success)) if !was_slow => {
                let successes = before.successes + 1;
                if successes >= self.ruled.config.needed_successes() {
                    matches!(after.kind, Kind::Closed | Kind::Returning)
                } else {
                    after.successes == successes
                        && after.in_flight == before.in_flight.saturating_sub(1)
                }
            }
            (Kind::HalfOpen, None) => is_open == (was_slow || self.is_dropped_late()),
            (Kind::Closed | Kind::Returning, Some(Outcome::Failure(failure))) => {
                if let TripRule::Lasting {
                    failures,
                    lasting_ms,
                } = self.ruled.config.trip
                    && !failure.is_tripping()
                {
                    return self.lasts(
                        failure.weight().into(),
                        (failures, lasting_ms.into()),
                        after,
                    );
                }
                let must_trip = failure.is_tripping() || failure.weight() == u16::MAX;
                if is_open {
                    must_trip || self.may_trip()
                } else {
                    !must_trip && after.failures == self.counted() + 1
                }
            }
            (Kind::Closed, Some(Outcome::Success)) if !was_slow => {
                let counted = match self.ruled.config.trip {
                    TripRule::Within { .. } => self.counted(),
                    _ => 0,
                };
                after.kind == Kind::Closed && after.failures == counted
            }
            (Kind::Open | Kind::ForcedOpen | Kind::Disabled, _) => after.kind == before.kind,
            _ => true,
        }
    }

    /// Whether one more failure may reach the limit.
    fn may_trip(&self) -> bool {
        let limit = match self.ruled.config.trip {
            TripRule::Consecutive { failures } => failures,
            // While traffic returns, the window is as long as the return has lasted.
            TripRule::Within { failures, .. } if self.before.kind == Kind::Closed => failures,
            _ => return true,
        };
        self.counted() + 1 >= limit
    }

    /// Whether a probe that is dropped now, and was admitted last, has had its time.
    fn is_dropped_late(&self) -> bool {
        let age = self.before.age::<F>(self.memory.now_ms.get());
        age >= i64::from(self.ruled.config.cancel_limit_ms)
    }

    /// The failures that are counted now: those of a window that is over are not.
    fn counted(&self) -> u32 {
        let age = self.before.age::<F>(self.memory.now_ms.get());
        let is_over = match self.ruled.config.trip {
            TripRule::Within { window_ms, .. } => age >= i64::from(window_ms),
            _ => false,
        };
        if is_over && self.before.kind == Kind::Closed {
            0
        } else {
            self.before.failures
        }
    }

    /// Asks again whenever the rejection says, with dice that never let a call pass before all do.
    pub(crate) fn served_again(&mut self) {
        self.begin();
        self.memory.random.set(u32::MAX);
        let lease = self.lease().cast_unsigned();
        let bound = self.before.open_for + lease + lease / 8 + self.ruled.span + F::GUARD + 2;
        let mut waited = 0;
        loop {
            *self.steps += 1;
            let Err(rejected) = self.breaker.acquire().map(|permit| permit.into_token()) else {
                return;
            };
            if self.before.kind == Kind::ForcedOpen {
                return;
            }
            let mut wait = rejected.retry_in_ms().expect("a time").max(1);
            if rejected.state() == State::HalfOpen {
                // It says when to ask again, as a probe may report at any time. None does.
                wait = wait.max((lease / 8) as u32);
            }
            let now = self.memory.now_ms.get().wrapping_add(wait);
            self.memory.now_ms.set(now);
            waited += u64::from(wait);
            assert!(
                waited <= bound,
                "{:?} with {:?}: shut for {waited} of {bound}",
                self.before,
                self.ruled.config
            );
        }
    }
}
