//! Settings that contradict each other.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use atomic_breaker::{
    Breaker, Config, ConfigError, Rules,
    word::{AtomicU64, Layout},
};

use super::{ClientConfig, Ending};
use crate::{SlidingRatio, StdClock};
use atomic_breaker_registry::{RegistryError, parts::check_capacity};
use atomic_breaker_tower::RetryConfigError;

/// Settings that contradict each other; the message names both, and says what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientConfigError {
    /// The limit of a try is not above 0.
    NoTryLimit,
    /// The limit of tries in flight is not above 0.
    NoTryInFlight,
    /// The limit of a try is not shorter than the deadline.
    TryBeyondDeadline {
        /// The limit of a try.
        try_limit: Duration,
        /// The deadline.
        deadline: Duration,
    },
    /// All tries and their pauses take longer than the deadline.
    TriesBeyondDeadline {
        /// All tries and their longest pauses.
        tries: Duration,
        /// The deadline.
        deadline: Duration,
    },
    /// The lease of a probe is shorter than a try.
    LeaseBelowTry {
        /// The lease.
        lease: Duration,
        /// The limit of a try.
        try_limit: Duration,
    },
    /// The window of a failure ratio, or of counted failures, is shorter than two tries.
    WindowBelowTries {
        /// The window.
        window: Duration,
        /// The limit of a try.
        try_limit: Duration,
    },
    /// The settings of the retries.
    Retry(RetryConfigError),
    /// The settings of the breakers, or their number.
    Registry(RegistryError),
}

pub(super) fn check<R: Ending>(config: &ClientConfig<R>) -> Result<(), ClientConfigError> {
    use ClientConfigError as Fault;
    let &ClientConfig {
        deadline,
        try_limit,
        ..
    } = config;
    if try_limit.is_zero() {
        return Err(Fault::NoTryLimit);
    }
    if config.in_flight_limit == Some(0) {
        return Err(Fault::NoTryInFlight);
    }
    if try_limit >= deadline {
        return Err(Fault::TryBeyondDeadline {
            try_limit,
            deadline,
        });
    }
    config.retry().check().map_err(Fault::Retry)?;
    config.budget.check().map_err(Fault::Retry)?;
    let tries = try_limit.saturating_mul(config.retry.get_tries());
    let tries = tries.saturating_add(config.retry.most_paused());
    if tries > deadline {
        return Err(Fault::TriesBeyondDeadline { tries, deadline });
    }
    let rules = config.rules();
    check_breakers(rules, config.capacity)?;
    let lease = rules.get_probe_lease_in(Layout::WIDE);
    if lease < try_limit {
        return Err(Fault::LeaseBelowTry { lease, try_limit });
    }
    let windows = [
        rules
            .get_failure_ratio()
            .and_then(atomic_breaker::Ratio::within_ms)
            .map(|ms| Duration::from_millis(ms.into())),
        rules.get_failures_within().map(|(_, window)| window),
    ];
    for window in windows.into_iter().flatten() {
        if window < try_limit.saturating_mul(2) {
            return Err(Fault::WindowBelowTries { window, try_limit });
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

impl fmt::Display for ClientConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTryLimit => f.write_str("no try ends within 0: lengthen the limit of a try"),
            Self::NoTryInFlight => f.write_str(
                "a limit of 0 tries in flight lets none pass: set at least 1, or leave it out for no limit",
            ),
            Self::TryBeyondDeadline {
                try_limit,
                deadline,
            } => write!(
                f,
                "a try may take as long as all of them: the limit of a try, {try_limit:?}, must be shorter \
                 than the deadline, {deadline:?}"
            ),
            Self::TriesBeyondDeadline { tries, deadline } => write!(
                f,
                "all tries with their pauses may take {tries:?}, longer than the deadline, {deadline:?}: \
                 lengthen it, or make fewer or shorter tries"
            ),
            Self::LeaseBelowTry { lease, try_limit } => write!(
                f,
                "a probe would be taken for lost while its try is under way: the lease, {lease:?}, must not be \
                 shorter than the limit of a try, {try_limit:?}: set probe_lease"
            ),
            Self::WindowBelowTries { window, try_limit } => write!(
                f,
                "timeouts would fall out of the window before there are two of them: the window, {window:?}, \
                 must not be shorter than twice the limit of a try, {try_limit:?}"
            ),
            Self::Retry(error) => error.fmt(f),
            Self::Registry(error) => error.fmt(f),
        }
    }
}

impl Error for ClientConfigError {}
