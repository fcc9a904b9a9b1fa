//! The settings as text.

use std::fmt;
use std::time::Duration;

use atomic_breaker::TripRule;

use super::{ClientConfig, Ending};

/// The plan, from the outside in.
impl<R: Ending> fmt::Display for ClientConfig<R> {
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

impl<R: Ending> ClientConfig<R> {
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
        let rules = self.rules();
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
            TripRule::Within {
                failures,
                window_ms,
            } => write!(f, " after {failures} failures within {:?}", time(window_ms))?,
            TripRule::TallyOnly => or = "",
        }
        if let Some(ratio) = rules.failure_ratio {
            let percent = f64::from(ratio.trips_at_basis_points()) / 100.0;
            let calls = ratio.needed_calls();
            write!(f, "{or} when {percent} % of at least {calls} calls")?;
            if let Some(ms) = ratio.within_ms() {
                write!(f, " within {:?}", time(ms))?;
            }
            f.write_str(" fail")?;
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
        if let Some(most) = self.in_flight_limit {
            write!(f, "; opens with more than {most} in flight")?;
        }
        if self.ending.at_end().is_some() {
            f.write_str("; truncated bodies are failures")?;
        }
        write!(f, "\n      {:?} for a try", self.try_limit)
    }
}
