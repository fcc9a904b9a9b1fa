//! Settings that contradict each other.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use atomic_breaker::{
    Breaker, Config, ConfigError, Ratio, Rules, TripRule,
    word::{AtomicU64, Layout},
};

use super::{ClientConfig, Ending};
use crate::parts::check_capacity;
use crate::{RegistryError, RetryConfigError, SlidingRatio, StdClock};

/// Settings that contradict each other, or invalid ones; the message names them, and says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientConfigError {
    /// The limits of tries and requests, among themselves or compared with the rules of the breakers.
    Limits(String),
    /// The settings of the retries.
    Retry(RetryConfigError),
    /// The settings of the breakers, or their number.
    Registry(RegistryError),
}

pub(super) fn check<R: Ending>(config: &ClientConfig<R>) -> Result<(), ClientConfigError> {
    let &ClientConfig {
        deadline,
        try_limit,
        ..
    } = config;
    let refuse = |text: String| Err(ClientConfigError::Limits(text));
    if try_limit.is_zero() {
        return refuse("no try ends within 0: lengthen the limit of a try".to_owned());
    }
    if config.in_flight_limit == Some(0) {
        return refuse(
            "a limit of 0 tries in flight lets none pass: set at least 1, or leave it out for no limit".to_owned(),
        );
    }
    if try_limit >= deadline {
        return refuse(format!(
            "a try may take as long as all of them: the limit of a try, {try_limit:?}, must be shorter than the \
             deadline, {deadline:?}"
        ));
    }
    config.retry().check()?;
    config.budget.check()?;
    let tries = try_limit.saturating_mul(config.retry.get_tries());
    let tries = tries.saturating_add(config.retry.most_paused());
    if tries > deadline {
        return refuse(format!(
            "all tries with their pauses may take {tries:?}, longer than the deadline, {deadline:?}: lengthen it, or \
             make fewer or shorter tries"
        ));
    }
    let rules = config.rules();
    check_breakers(rules, config.capacity)?;
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
                "timeouts would fall out of the window before there are two of them: the window, {window:?}, must not \
                 be shorter than twice the limit of a try, {try_limit:?}"
            ));
        }
    }
    Ok(())
}

/// Refuses what building the breakers would refuse.
fn check_breakers(rules: Config, capacity: usize) -> Result<(), ClientConfigError> {
    check_capacity(capacity)?;
    let rules = Rules::<u64>::try_new(rules)?;
    let memory = SlidingRatio::<StdClock, 1>::by(StdClock);
    let _ = Breaker::try_from_parts(AtomicU64::new(0), &rules, StdClock, memory, ())?;
    Ok(())
}

impl From<RegistryError> for ClientConfigError {
    fn from(error: RegistryError) -> Self {
        Self::Registry(error)
    }
}

impl From<ConfigError> for ClientConfigError {
    fn from(error: ConfigError) -> Self {
        Self::Registry(error.into())
    }
}

impl From<RetryConfigError> for ClientConfigError {
    fn from(error: RetryConfigError) -> Self {
        Self::Retry(error)
    }
}

impl fmt::Display for ClientConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limits(text) => text.fmt(f),
            Self::Retry(error) => error.fmt(f),
            Self::Registry(error) => error.fmt(f),
        }
    }
}

impl Error for ClientConfigError {}
