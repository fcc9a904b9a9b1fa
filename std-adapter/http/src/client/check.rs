// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings that contradict each other; all of them as text.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use atomic_breaker::{
    Breaker, Config, Ratio, Rules, TripRule,
    word::{AtomicU64, Layout},
};
use atomic_breaker_server::SlidingRatio;
use atomic_breaker_server::check_capacity;

use super::ClientConfig;
use super::rules::slow_call;
use crate::StdClock;

/// Settings that contradict each other, or invalid ones; the message names them, and says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientConfigError(String);

impl ClientConfigError {
    pub(super) fn of(error: impl fmt::Display) -> Self {
        Self(error.to_string())
    }
}

impl ClientConfig {
    /// Checks that the settings are consistent.
    pub fn check(&self) -> Result<(), ClientConfigError> {
        let (deadline, try_limit) = (self.deadline, self.try_limit);
        let refuse = |text: String| Err(ClientConfigError(text));
        if try_limit.is_zero() {
            return refuse("no try ends within 0: lengthen the limit of a try".to_owned());
        }
        if self.trip_in_flight && self.in_flight_limit.is_none() {
            return refuse(
                "trip_in_flight without a limit never trips: set in_flight_limit, or leave it out"
                    .to_owned(),
            );
        }
        if self.in_flight_limit == Some(0) {
            return refuse(
                "a limit of 0 tries in flight lets none pass: set at least 1, or leave it out for no limit".to_owned(),
            );
        }
        if let Some(error) = self.get_body_limits().error() {
            return refuse(error.to_owned());
        }
        if try_limit >= deadline {
            return refuse(format!(
                "one try may take as long as the whole request: the limit of a try, {try_limit:?}, must be shorter than the \
                 deadline, {deadline:?}"
            ));
        }
        match self.probe_limit {
            Some(Duration::ZERO) => {
                return refuse(
                    "no probe ends within 0: lengthen probe_limit, or leave it out".to_owned(),
                );
            }
            Some(limit) if limit > try_limit => {
                return refuse(format!(
                    "a probe is a try, too: probe_limit, {limit:?}, must not be longer than the limit of a try, {try_limit:?}"
                ));
            }
            _ => {}
        }
        self.retry().check().map_err(ClientConfigError::of)?;
        self.budget.check().map_err(ClientConfigError::of)?;
        let tries = try_limit.saturating_mul(self.retry.tries);
        let tries = tries.saturating_add(self.retry.most_paused());
        if tries > deadline {
            return refuse(format!(
                "all tries with their pauses may take {tries:?}, longer than the deadline, {deadline:?}: lengthen it, \
                 or make fewer or shorter tries"
            ));
        }
        self.check_breakers()?;
        let rules = self.effective_breaker_config();
        let lease = Duration::from_millis(rules.lease_ms(Layout::WIDE.max_ms()).into());
        if lease < try_limit {
            return refuse(format!(
                "a probe would be presumed lost while its try is under way: the lease, {lease:?}, must not be shorter \
                 than the limit of a try, {try_limit:?}: set probe_lease"
            ));
        }
        let of_ratio = rules.failure_ratio.and_then(Ratio::within_ms);
        let of_failures = match rules.trip {
            TripRule::Within { window_ms, .. } => Some(window_ms),
            _ => None,
        };
        for ms in of_ratio.into_iter().chain(of_failures) {
            let window = Duration::from_millis(ms.into());
            if window < try_limit.saturating_mul(2) {
                return refuse(format!(
                    "timeouts would fall out of the window before there are two of them: the window, {window:?}, must \
                     not be shorter than twice the limit of a try, {try_limit:?}"
                ));
            }
        }
        self.check_reachable(&rules)
    }

    /// Refuses rules that a host which hangs never reaches: with so many tries in flight, of which each takes its limit, too
    /// few of them end within a window.
    fn check_reachable(&self, rules: &Config) -> Result<(), ClientConfigError> {
        let Some(in_flight) = self.in_flight_limit else {
            return Ok(());
        };
        let most = |window_ms: u32| {
            // Eight slices, which are rounded up.
            let seen_ms = u64::from(window_ms).next_multiple_of(8) + u64::from(window_ms / 100_000);
            let seen = Duration::from_millis(seen_ms).as_nanos();
            let rounds = seen.div_ceil(self.try_limit.as_nanos());
            rounds.saturating_mul(in_flight.into())
        };
        let by_count = match rules.trip {
            TripRule::Within {
                failures,
                window_ms,
            } => Some((window_ms, failures, "failures_within")),
            TripRule::TallyOnly => None,
            _ => return Ok(()),
        };
        let by_ratio = rules.failure_ratio.and_then(|ratio| {
            Some((
                ratio.within_ms()?,
                ratio.needed_calls(),
                "the min_calls of failure_ratio",
            ))
        });
        let mut limits = [by_count, by_ratio].into_iter().flatten().peekable();
        let Some(&(window_ms, needed, name)) = limits.peek() else {
            return Ok(());
        };
        if limits.any(|(window_ms, needed, _)| u128::from(needed) <= most(window_ms)) {
            return Ok(());
        }
        Err(ClientConfigError(format!(
            "a host that hangs would never open its breaker: of at most {in_flight} tries in flight, each of which takes \
             {:?}, no more than {} end within {:?}, fewer than {name}, {needed}: set consecutive_failures, or a lower number",
            self.try_limit,
            most(window_ms),
            Duration::from_millis(window_ms.into()),
        )))
    }

    /// Refuses what building the breakers would refuse.
    fn check_breakers(&self) -> Result<(), ClientConfigError> {
        check_capacity(self.capacity).map_err(ClientConfigError::of)?;
        if self
            .breaker
            .failure_ratio
            .is_some_and(|ratio| ratio.calls().is_some())
        {
            return Err(ClientConfigError::of(
                "hosts are judged by the failures within a time, not by those of the last calls: set within instead of \
                 of_last in the failure_ratio",
            ));
        }
        // Core would advise an `of_last`.
        if self.breaker.failure_ratio.and_then(Ratio::within_ms) == Some(0) {
            return Err(ClientConfigError::of(
                "a failure_ratio within a time of 0 sees no calls: lengthen it",
            ));
        }
        let rules = Rules::<u64>::try_new(self.effective_breaker_config())
            .map_err(ClientConfigError::of)?;
        let memory = SlidingRatio::<StdClock, 1>::by(StdClock);
        Breaker::try_from_parts(AtomicU64::new(0), &rules, StdClock, memory, ())
            .map(drop)
            .map_err(ClientConfigError::of)
    }
}

impl fmt::Display for ClientConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for ClientConfigError {}

/// The plan, from the outside in.
impl fmt::Display for ClientConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.deadline {
            Duration::MAX => f.write_str("no deadline for a request\n")?,
            deadline => writeln!(f, "{deadline:?} for a request")?,
        }
        self.write_retries(f)?;
        self.write_breaker(f)?;
        match self.outliving {
            0 => f.write_str("; ends when its caller leaves"),
            tries => write!(f, "; {tries} per host go on when their callers leave"),
        }
    }
}

impl ClientConfig {
    fn write_retries(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tries = self.retry.tries;
        if tries == 1 {
            f.write_str("  1 try")?;
        } else {
            write!(
                f,
                "  up to {tries} tries of requests that may be sent twice, "
            )?;
            match self.retry.most_paused() {
                Duration::MAX => f.write_str("no limit of pauses")?,
                paused => write!(f, "at most {paused:?} of pauses")?,
            }
            let whose = if self.shares_budget {
                "in all"
            } else {
                "per host"
            };
            write!(f, "\n  a budget of retries {whose}: {}", self.budget)?;
        }
        match self.retry.rejection_waits {
            0 => f.write_str("\n"),
            waits => writeln!(f, "\n  waits {waits} times for a breaker that rejects"),
        }
    }

    fn write_breaker(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules = self.effective_breaker_config();
        write!(
            f,
            "    a breaker per host, {} at most: opens",
            self.capacity
        )?;
        let time = |ms: u32| Duration::from_millis(ms.into());
        let mut or = " or";
        match rules.trip {
            TripRule::Consecutive { failures } => {
                write!(f, " after {failures} failures in a row")?;
            }
            TripRule::Lasting {
                failures,
                lasting_ms,
            } => {
                let lasting = time(lasting_ms);
                write!(
                    f,
                    " after {failures} failures in a row that last {lasting:?}"
                )?;
            }
            TripRule::Within {
                failures,
                window_ms,
            } => write!(f, " after {failures} failures within {:?}", time(window_ms))?,
            _ => or = "",
        }
        if let Some(ratio) = rules.failure_ratio {
            let percent = f64::from(ratio.trips_at_basis_points()) / 100.0;
            let calls = ratio.needed_calls();
            write!(f, "{or} when {percent} % of at least {calls} calls")?;
            if let Some(ms) = ratio.within_ms() {
                write!(f, " within {:?}", time(ms))?;
            }
            f.write_str(" fail")?;
            if let Some(percent) = ratio.trips_at_slow_percent() {
                write!(f, " or {percent} % of them are slow")?;
            }
        }
        write!(f, ", for {:?}", time(rules.open_for_ms))?;
        if let Some(growth) = rules.growth {
            write!(f, " up to {:?}", time(growth.max_ms))?;
        }
        match rules.jitter_percent {
            0 => f.write_str(", no jitter")?,
            percent => write!(f, ", up to {percent} % longer by jitter")?,
        }
        match rules.slow_call_ms {
            Some(slow) => write!(f, "; slow after {:?}", time(slow))?,
            None => f.write_str("; never slow")?,
        }
        match self.in_flight_limit {
            Some(most) if self.trip_in_flight => {
                write!(f, "; opens with more than {most} in flight")?;
            }
            Some(most) => write!(f, "; at most {most} in flight")?,
            None => {}
        }
        match self.max_retry_after {
            Some(Duration::ZERO) => f.write_str("; a Retry-After says nothing to it")?,
            Some(most) => write!(f, "; a Retry-After holds it open for at most {most:?}")?,
            None => {}
        }
        if self.trip_on_429 {
            f.write_str("; a 429 is a failure")?;
        }
        if self.at_end.is_some() {
            f.write_str("; truncated bodies are failures")?;
        }
        let limits = self.get_body_limits();
        for (limit, what) in [
            (limits.first_byte, "for the first data of a body"),
            (limits.idle, "for further data"),
            (limits.whole, "for a whole body"),
        ] {
            if let Some(limit) = limit {
                write!(f, "; {limit:?} {what}")?;
            }
        }
        write!(f, "\n      {:?} for a try", self.try_limit)?;
        let first = self.try_limits().of_probe(1, slow_call(&rules));
        if first < self.try_limit {
            let whose = if self.probe_limit.is_some_and(|limit| limit == first) {
                "the first probe"
            } else {
                "a probe"
            };
            write!(f, ", {first:?} for {whose}")?;
        }
        Ok(())
    }
}
