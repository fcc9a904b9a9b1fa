//! All settings, with sane defaults.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use atomic_breaker::{Config, Ratio};

use super::check::{ClientConfigError, check};
use super::ending::{AtEndOfBody, AtHead, Ending};
use crate::retry::{Backoff, BudgetConfig, RetryConfig};

/// How requests are made: deadline, tries, breakers.
///
/// | | default |
/// |---|---|
/// | [`deadline`](Self::deadline) | 10 s for all tries with their pauses |
/// | [`try_limit`](Self::try_limit) | 3 s for each |
/// | [`tries`](Self::tries), [`backoff`](Self::backoff) | 3, of requests that may be sent twice; full jitter, 100 ms × 2 to 2 s |
/// | [`rejection_waits`](Self::rejection_waits) | 0: a rejection is answered at once |
/// | [`budget`](Self::budget) | one retry for five successes; 100 at once, and one a second |
/// | [`breaker`](Self::breaker) | 5 failures in a row, or half of at least 20 within 10 s; open for 1 s, doubled up to 30 s, 20 % jitter |
/// | slow calls | half of a try, unless the breaker's settings say otherwise |
/// | a try is reported | at the head of its response, not [at the end of the body](Self::at_end_of_body) |
/// | [`capacity`](Self::capacity) | 4,096 hosts |
///
/// `Display` prints the plan that they make:
///
/// ```
/// use atomic_breaker_std::client::ClientConfig;
/// use std::time::Duration;
///
/// let config = ClientConfig::new().deadline(Duration::from_secs(30)).tries(4);
/// assert!(config.check().is_ok());
/// assert!(config.to_string().starts_with("30s for a request\n  up to 4 tries"));
///
/// let error = config.try_limit(Duration::from_secs(30)).check().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "a try may take as long as all of them: the limit of a try, 30s, must be shorter than the deadline, 30s"
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct ClientConfig<R = AtHead> {
    pub(super) deadline: Duration,
    pub(super) try_limit: Duration,
    pub(super) retry: RetryConfig,
    pub(super) budget: BudgetConfig,
    pub(super) breaker: Config,
    pub(super) capacity: usize,
    pub(crate) probes_at_end: bool,
    pub(super) ending: PhantomData<R>,
}

impl ClientConfig {
    /// The defaults.
    pub const fn new() -> Self {
        let ratio = Ratio::percent(50)
            .within(Duration::from_secs(10))
            .min_calls(20);
        Self {
            deadline: Duration::from_secs(10),
            try_limit: Duration::from_secs(3),
            retry: RetryConfig::new(),
            budget: BudgetConfig::new(),
            breaker: Config::new()
                .consecutive_failures(5)
                .failure_ratio(ratio)
                .open_for(Duration::from_secs(1))
                .exponential(2, Duration::from_secs(30))
                .jitter_percent(20),
            capacity: 4_096,
            probes_at_end: false,
            ending: PhantomData,
        }
    }

    /// A try is reported at the end of the response's body, so that one that breaks off is a failure of the host;
    /// unless set, at its head. The response then has a [`ReportingBody`](crate::http::ReportingBody), and
    /// [`AtEnd`](crate::http::AtEnd) says what counts as what.
    ///
    /// The deadline and the limit of a try still end with the head, and nothing is tried again after it: a body that
    /// hangs is a matter for its reader, or for a time limit of the client's on reading.
    ///
    /// Calls are not slow by default, as the time that counts ends with the body: set
    /// [`Config::slow_call`] to a time in which every body has come, or readers that give up do not count.
    ///
    /// A body of unknown length (chunked, or HTTP/2 without a `Content-Length`) may be endless, so a probe succeeds with
    /// its first data. If such bodies break off, each probe closes the breaker again: set
    /// [`probes_at_end`](ClientConfig::probes_at_end) where bodies come to an end.
    ///
    /// ```
    /// use atomic_breaker_std::StdClock;
    /// use atomic_breaker_std::client::{AtEndOfBody, ClientConfig, ClientGuard};
    /// use std::sync::LazyLock;
    ///
    /// static GUARD: LazyLock<ClientGuard<StdClock, (), AtEndOfBody>> = LazyLock::new(|| {
    ///     ClientGuard::new(ClientConfig::new().at_end_of_body()).expect("constant settings")
    /// });
    /// assert_eq!(GUARD.hosts().config().get_slow_call(), None);
    /// ```
    pub const fn at_end_of_body(self) -> ClientConfig<AtEndOfBody> {
        ClientConfig {
            deadline: self.deadline,
            try_limit: self.try_limit,
            retry: self.retry,
            budget: self.budget,
            breaker: self.breaker,
            capacity: self.capacity,
            probes_at_end: self.probes_at_end,
            ending: PhantomData,
        }
    }
}

impl ClientConfig<AtEndOfBody> {
    /// A probe waits for the end of its body also where the length is not known: for hosts all of whose bodies come to
    /// an end. An endless one, such as a stream of events, would keep the breaker half-open.
    ///
    /// ```
    /// use atomic_breaker_std::client::ClientConfig;
    ///
    /// let config = ClientConfig::new().at_end_of_body().probes_at_end();
    /// assert!(config.check().is_ok());
    /// ```
    pub const fn probes_at_end(mut self) -> Self {
        self.probes_at_end = true;
        self
    }
}

impl<R> ClientConfig<R> {
    /// How long a request may take, all tries and pauses together, until the head of the response has come. What
    /// is not done then is dropped.
    pub const fn deadline(mut self, time: Duration) -> Self {
        self.deadline = time;
        self
    }

    /// How long one try may take, until the head of its response has come. A try that takes longer is dropped,
    /// and is a failure of the host.
    pub const fn try_limit(mut self, time: Duration) -> Self {
        self.try_limit = time;
        self
    }

    /// [`try_limit`](Self::try_limit).
    pub const fn get_try_limit(&self) -> Duration {
        self.try_limit
    }

    /// The most times that a request is made; 1 for no retry.
    pub const fn tries(mut self, tries: u32) -> Self {
        self.retry = self.retry.tries(tries);
        self
    }

    /// The pauses between tries.
    pub const fn backoff(mut self, backoff: Backoff) -> Self {
        self.retry = self.retry.backoff(backoff);
        self
    }

    /// How often a request waits for a breaker that rejects it; 0, the default, to answer at once. A server whose
    /// callers are bounded should not wait: all of them would wait for the host that is down.
    pub const fn rejection_waits(mut self, waits: u32) -> Self {
        self.retry = self.retry.rejection_waits(waits);
        self
    }

    /// How many retries all requests together may make.
    pub const fn budget(mut self, budget: BudgetConfig) -> Self {
        self.budget = budget;
        self
    }

    /// The rules of each host's breaker.
    pub const fn breaker(mut self, breaker: Config) -> Self {
        self.breaker = breaker;
        self
    }

    /// The rules of each host's breaker, to be varied for one of them.
    pub const fn get_breaker(&self) -> Config {
        self.breaker
    }

    /// How many hosts are remembered; see [`Registry`](crate::registry::Registry).
    pub const fn capacity(mut self, hosts: usize) -> Self {
        self.capacity = hosts;
        self
    }

    pub(super) fn retry(&self) -> RetryConfig {
        self.retry.within(self.deadline)
    }
}

impl<R: Ending> ClientConfig<R> {
    /// Whether the settings fit each other.
    ///
    /// # Errors
    /// [`ClientConfigError`] names the settings that contradict each other.
    pub fn check(&self) -> Result<(), ClientConfigError> {
        check(self)
    }

    /// The rules of each host's breaker: a call that was cut off after half of its time counts, so that clients
    /// that give up early do not hide a host that hangs.
    pub(super) fn rules(&self) -> Config {
        match self.breaker.get_slow_call() {
            None if !R::WAITS_FOR_BODY => self.breaker.slow_call(self.try_limit / 2),
            _ => self.breaker,
        }
    }
}

impl Default for ClientConfig {
    fn default() -> Self {
        Self::new()
    }
}

/// The plan, from the outside in.
impl<R: Ending> fmt::Display for ClientConfig<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules = self.rules();
        writeln!(f, "{:?} for a request", self.deadline)?;
        writeln!(
            f,
            "  up to {} tries of requests that may be sent twice, at most {:?} of pauses",
            self.retry.get_tries(),
            self.retry.most_paused()
        )?;
        write!(
            f,
            "    a breaker per host, {} at most: opens",
            self.capacity
        )?;
        let mut or = "";
        if let Some(failures) = rules.get_consecutive_failures() {
            write!(f, " after {failures} failures in a row")?;
            or = " or";
        }
        if let Some((failures, window)) = rules.get_failures_within() {
            write!(f, " after {failures} failures within {window:?}")?;
            or = " or";
        }
        if let Some(ratio) = rules.get_failure_ratio() {
            let (percent, calls) = (ratio.trips_at_percent(), ratio.needed_calls());
            write!(f, "{or} when {percent} % of at least {calls} calls fail")?;
        }
        write!(f, ", for {:?}", rules.get_open_for())?;
        if let Some(longest) = rules.get_max_open_for() {
            write!(f, " up to {longest:?}")?;
        }
        if let Some(slow) = rules.get_slow_call() {
            write!(f, "; slow after {slow:?}")?;
        }
        if R::WAITS_FOR_BODY {
            f.write_str("; bodies that break off are failures")?;
        }
        write!(f, "\n      {:?} for a try", self.try_limit)
    }
}
