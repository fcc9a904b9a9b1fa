//! Settings that contradict each other.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use atomic_breaker::{
    Breaker, Ratio, Rules, TripRule,
    word::{AtomicU64, Layout},
};

use super::{ClientConfig, Ending};
use crate::parts::check_capacity;
use crate::{SlidingRatio, StdClock};

/// Settings that contradict each other, or invalid ones; the message names them, and says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientConfigError(String);

impl ClientConfigError {
    pub(super) fn of(error: impl fmt::Display) -> Self {
        Self(error.to_string())
    }
}

impl<R: Ending> ClientConfig<R> {
    /// Whether the settings are consistent.
    ///
    /// # Errors
    /// [`ClientConfigError`] names the settings that contradict each other.
    pub fn check(&self) -> Result<(), ClientConfigError> {
        let (deadline, try_limit) = (self.deadline, self.try_limit);
        let refuse = |text: String| Err(ClientConfigError(text));
        if try_limit.is_zero() {
            return refuse("no try ends within 0: lengthen the limit of a try".to_owned());
        }
        if self.in_flight_limit == Some(0) {
            return refuse(
                "a limit of 0 tries in flight lets none pass: set at least 1, or leave it out for no limit".to_owned(),
            );
        }
        if try_limit >= deadline {
            return refuse(format!(
                "one try may take as long as the whole request: the limit of a try, {try_limit:?}, must be shorter than the \
                 deadline, {deadline:?}"
            ));
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
        let rules = self.rules();
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
            TripRule::Consecutive { .. } | TripRule::TallyOnly => None,
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
        Ok(())
    }

    /// Refuses what building the breakers would refuse.
    fn check_breakers(&self) -> Result<(), ClientConfigError> {
        check_capacity(self.capacity).map_err(ClientConfigError::of)?;
        let rules = Rules::<u64>::try_new(self.rules()).map_err(ClientConfigError::of)?;
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
