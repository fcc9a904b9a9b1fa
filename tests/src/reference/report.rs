// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reports of how calls ended.

use atomic_breaker::{Cause, State};

use super::{Mode, Permit, Reference, Report, Trip};

impl Reference {
    /// Reports how the call of a permit went. Returns the outcome that it counts as.
    pub fn report(&mut self, permit: Permit, report: Report) -> Report {
        self.noticed = None;
        let report = match report {
            Report::Success if self.was_slow(permit) => Report::Slow,
            _ => report,
        };
        if !self.holds(permit) {
            match report {
                Report::RetryAfter(time) | Report::TripFor(time) => self.report_late(permit, time),
                Report::Success if self.has_lost(permit) => self.succeeded(),
                _ => {}
            }
            return report;
        }
        self.take_back(permit);
        match report {
            Report::Nothing => {}
            Report::Success => self.succeeded(),
            Report::Failure(weight) => self.failed(weight, 0),
            Report::Slow => self.failed(1, 0),
            Report::RetryAfter(time) => self.failed(1, self.rules.allowed(time)),
            Report::TripAtOnce => {
                let cause = self.or_probe_failed(Cause::TripDemanded);
                self.trip(0, cause);
            }
            Report::TripFor(time) => {
                let cause = self.or_probe_failed(Cause::RetryAfter);
                let time = self.rules.allowed(time);
                self.trip(time, cause);
            }
        }
        report
    }

    /// A permit is dropped without a report.
    pub fn drop_permit(&mut self, permit: Permit) {
        self.noticed = None;
        if !self.holds(permit) {
            return;
        }
        self.take_back(permit);
        let was_slow = self.was_slow(permit);
        if self.state() == State::HalfOpen {
            let limit = self.rules.grain.up(self.rules.cancel_limit);
            if was_slow || self.age(permit.admitted).max(0) >= limit.cast_signed() {
                self.trip(0, Cause::ProbeCancelled);
            }
        } else if was_slow {
            self.failed(1, 0);
        }
    }

    /// Returns whether a report of the permit would still count, before it is reported.
    pub fn still_counts(&self, permit: Permit) -> bool {
        self.holds(permit)
    }

    /// Returns whether a report of this permit still counts.
    pub(super) fn holds(&self, permit: Permit) -> bool {
        let is_same = permit.generation == self.generation;
        match self.mode {
            Mode::Closed { .. } | Mode::Returning { .. } => is_same,
            Mode::Probing {
                ref out,
                last,
                lost_rounds,
                ..
            } => {
                // If one probe is allowed at a time, only the last one counts. There may be more than the
                // current rules allow.
                let are_many = lost_rounds == 0 && (self.rules.probes > 1 || out.len() > 1);
                is_same && (are_many || self.looks_same(permit.admitted, last))
            }
            Mode::Open { .. } | Mode::Held(_) => false,
        }
    }

    /// Returns whether the permit belongs to a probe that lost its slot in the current half-open time, in
    /// one of the counted rounds.
    fn has_lost(&self, permit: Permit) -> bool {
        let Mode::Probing { lost_rounds, .. } = self.mode else {
            return false;
        };
        let rounds = self.generation - permit.generation;
        permit.is_probe
            && permit.generation >= self.half_open_since
            && (1..=u64::from(lost_rounds)).contains(&rounds)
    }

    /// A probe gives its slot back.
    fn take_back(&mut self, permit: Permit) {
        if let Mode::Probing { out, .. } = &mut self.mode {
            out.retain(|number| *number != permit.number);
        }
    }

    fn succeeded(&mut self) {
        self.remember(false);
        let is_window_over = self.is_window_over();
        let returning_since = self.returning_since();
        match &mut self.mode {
            Mode::Closed { failures, .. } if *failures > 0 => match self.rules.trip {
                Trip::InARow(_) | Trip::Lasting(..) | Trip::ByRatio => self.mode = Mode::CLEAR,
                Trip::Within(..) if is_window_over => self.mode = Mode::CLEAR,
                Trip::Within(..) => {}
            },
            Mode::Returning { failures, began } => {
                if let Trip::InARow(_) | Trip::Lasting(..) | Trip::ByRatio = self.rules.trip {
                    *failures = 0;
                    *began = returning_since;
                }
            }
            Mode::Probing { successes, .. } => {
                *successes += 1;
                if *successes >= self.rules.close_after {
                    self.recover();
                }
            }
            _ => {}
        }
    }

    /// Enough probes succeeded.
    fn recover(&mut self) {
        let mode = if self.rules.keep_trips() {
            self.trips = self.trips.max(1);
            Mode::Returning {
                failures: 0,
                began: self.stamp(),
            }
        } else {
            Mode::CLEAR
        };
        self.enter(mode, Cause::ProbesSucceeded);
    }

    /// A failure that demands this many milliseconds, if it trips.
    fn failed(&mut self, weight: u32, demand: u64) {
        if self.state() == State::HalfOpen {
            return self.trip(demand, Cause::ProbeFailed);
        }
        if weight == 0 {
            return;
        }
        self.remember(true);
        let is_by_ratio = self
            .rules
            .ratio
            .is_some_and(|ratio| ratio.is_reached(&self.calls));
        let cause = match (self.count(weight), is_by_ratio) {
            (false, false) => return,
            _ if demand > 0 => Cause::RetryAfter,
            (true, _) => Cause::FailureLimit,
            (false, true) => Cause::FailureRatio,
        };
        self.trip(demand, cause);
    }

    /// Counts a failure while calls pass. Returns whether the limit is reached.
    fn count(&mut self, weight: u32) -> bool {
        let now = self.stamp();
        let is_window_over = self.is_window_over();
        let limit = match self.rules.trip {
            Trip::InARow(limit) | Trip::Within(limit, _) => limit,
            Trip::Lasting(limit, time) => return self.count_lasting(weight, limit, time),
            Trip::ByRatio => return false,
        };
        let windows = self.windows_of_the_return();
        match &mut self.mode {
            Mode::Closed {
                failures,
                window_began,
            } => {
                if let Trip::Within(..) = self.rules.trip
                    && (*failures == 0 || is_window_over)
                {
                    *failures = 0;
                    *window_began = now;
                }
                *failures += weight;
                *failures >= limit
            }
            Mode::Returning { failures, .. } => {
                *failures += weight;
                let share = u64::from(*failures) * windows.1;
                share >= u64::from(limit) * windows.0 || *failures >= self.rules.grain.most_failures
            }
            _ => false,
        }
    }

    /// Counts a failure of a row that must last. Returns whether it trips.
    fn count_lasting(&mut self, weight: u32, limit: u32, time: u64) -> bool {
        let lasting = self.rules.grain.up(time);
        if self.state() == State::Returning && self.rules.keep_trips() {
            return self.count_while_returning(weight, limit, lasting);
        }
        let now = self.stamp();
        let (Mode::Closed {
            failures,
            window_began: began,
        }
        | Mode::Returning { failures, began }) = &mut self.mode
        else {
            return false;
        };
        if *failures == 0 {
            *began = now;
        }
        *failures = (*failures + weight).min(limit);
        let (has_reached, began) = (*failures >= limit, *began);
        has_reached && self.age(began).max(0) >= lasting.cast_signed()
    }

    /// The number of windows of failures for which traffic has been returning, as a fraction: at least one,
    /// and no more than the whole return.
    fn windows_of_the_return(&self) -> (u64, u64) {
        let (Mode::Returning { .. }, Trip::Within(_, window)) = (&self.mode, self.rules.trip)
        else {
            return (1, 1);
        };
        let grain = self.rules.grain;
        let window = grain.up(window);
        let whole = self.rules.trips_kept_for(self.trips);
        (self.return_age().min(whole).max(window), window)
    }

    /// Returns whether the window of the failures counted has passed.
    fn is_window_over(&self) -> bool {
        match (&self.mode, self.rules.trip) {
            (Mode::Closed { window_began, .. }, Trip::Within(_, window)) => {
                let window = self.rules.grain.up(window).cast_signed();
                self.age(*window_began) >= window
            }
            _ => false,
        }
    }

    /// Remembers an outcome for the failure ratio, and no more of them than the current rules need.
    fn remember(&mut self, failed: bool) {
        if let (Some(ratio), State::Closed | State::Returning) = (self.rules.ratio, self.state()) {
            self.calls.push(failed);
            let too_many = self.calls.len().saturating_sub(ratio.of_last);
            self.calls.drain(..too_many);
        }
    }

    fn or_probe_failed(&self, cause: Cause) -> Cause {
        match self.state() {
            State::HalfOpen => Cause::ProbeFailed,
            _ => cause,
        }
    }
}
