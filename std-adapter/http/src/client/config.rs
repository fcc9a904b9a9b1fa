// SPDX-License-Identifier: MIT OR Apache-2.0
//! All settings, with sane defaults.

use std::time::Duration;

use atomic_breaker::{Config, Ratio};
use atomic_breaker_tower::RetryConfig;

use crate::timed_body::BodyLimits;
use crate::{Backoff, BudgetConfig};

/// The settings of requests: deadline, tries, breakers. Each setting names its default.
///
/// `Display` prints the resulting plan:
///
/// ```
/// use atomic_breaker_http::ClientConfig;
/// use std::time::Duration;
///
/// let config = ClientConfig::new().deadline(Duration::from_secs(30)).tries(4);
/// assert!(config.check().is_ok());
/// assert!(config.to_string().starts_with("30s for a request\n  up to 4 tries"));
/// assert!(config.try_limit(Duration::from_secs(30)).check().is_err(), "not shorter than the deadline");
/// ```
///
/// With the feature `serde` it can be kept in a file, such as TOML or JSON, under the names of the methods; the names of
/// durations end in `_ms`. What the file leaves out is as here, within `breaker`, `backoff` and the budget, too; unknown
/// names and settings that contradict each other are errors that say what to do:
///
/// ```toml
/// deadline_ms = 5_000
/// try_limit_ms = 1_500
/// backoff = { first_ms = 50, longest_ms = 1_000 }
/// budget = { max_tokens = 50, deposit_percent = 10 }
///
/// [breaker]
/// consecutive_failures = 3
/// failure_ratio = { percent = 30, within_ms = 20_000, min_calls = 50 }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a setting of its own"
)]
pub struct ClientConfig {
    pub(super) deadline: Duration,
    pub(crate) try_limit: Duration,
    pub(super) probe_limit: Option<Duration>,
    pub(super) retry: RetryConfig,
    pub(super) budget: BudgetConfig,
    pub(super) shares_budget: bool,
    pub(super) slow_is_half_a_try: bool,
    pub(super) breaker: Config,
    pub(super) capacity: usize,
    pub(super) outliving: u32,
    pub(super) in_flight_limit: Option<u32>,
    pub(super) trip_in_flight: bool,
    pub(super) max_retry_after: Option<Duration>,
    pub(crate) trip_on_429: bool,
    pub(crate) at_end: Option<BodyRules>,
}

/// The reports of tries at the end of their bodies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BodyRules {
    /// Probes wait for the end of bodies of unknown length, too.
    pub(crate) probes_wait: bool,
    pub(crate) limits: BodyLimits,
}

impl BodyRules {
    pub(crate) const fn new() -> Self {
        Self {
            probes_wait: false,
            limits: BodyLimits::new(),
        }
    }
}

impl ClientConfig {
    /// The defaults.
    pub const fn new() -> Self {
        let ratio = Ratio::percent(90)
            .within(Duration::from_secs(10))
            .min_calls(20);
        Self {
            deadline: Duration::from_secs(10),
            try_limit: Duration::from_secs(3),
            probe_limit: None,
            retry: RetryConfig::new(),
            budget: BudgetConfig::new(),
            shares_budget: false,
            slow_is_half_a_try: true,
            breaker: Config::new()
                .consecutive_failures(10)
                .lasting(Duration::from_millis(100))
                .failure_ratio(ratio)
                .open_for(Duration::from_millis(200))
                .exponential_percent(111, Duration::from_secs(4))
                .max_retry_after(Duration::from_secs(60))
                .jitter_percent(20),
            capacity: 4_096,
            outliving: 32,
            in_flight_limit: None,
            trip_in_flight: false,
            max_retry_after: None,
            trip_on_429: false,
            at_end: None,
        }
    }

    /// Reports a try at the end of the response's body, so that a truncated body counts as a failure of the host;
    /// without this, a try is reported at its head. [`AtEnd`](crate::AtEnd) says what counts as what.
    ///
    /// The deadline and the limit of a try still end with the head, and nothing is tried again after it: for bodies that
    /// hang, set [`body_limits`](Self::body_limits), or a read timeout of the client.
    ///
    /// With this setting no call counts as slow by default, as the measured time ends with the body: set
    /// [`Config::slow_call`] to a time within which every body arrives, or calls whose readers give up do not count.
    pub const fn at_end_of_body(mut self) -> Self {
        if self.at_end.is_none() {
            self.at_end = Some(BodyRules::new());
        }
        self
    }

    /// [`at_end_of_body`](Self::at_end_of_body), and a probe waits for the end of its body even if the length is not known
    /// (chunked, or HTTP/2 without a `Content-Length`): for hosts whose bodies all end, and may be truncated. An endless one,
    /// such as a stream of events, would keep the breaker half-open; so without this setting a probe succeeds with its first
    /// data.
    pub const fn probes_at_end(mut self) -> Self {
        let limits = self.get_body_limits();
        self.at_end = Some(BodyRules {
            probes_wait: true,
            limits,
        });
        self
    }

    /// [`at_end_of_body`](Self::at_end_of_body), with limits of the time for which a host may keep the reader of a body
    /// waiting: for streams of events, language models, large downloads. A body that takes longer ends with an error
    /// and is a failure of the host; one that its reader drops counts as nothing.
    pub const fn body_limits(mut self, limits: BodyLimits) -> Self {
        let probes_wait = match self.at_end {
            Some(rules) => rules.probes_wait,
            None => false,
        };
        self.at_end = Some(BodyRules {
            probes_wait,
            limits,
        });
        self
    }

    pub(super) const fn get_body_limits(&self) -> BodyLimits {
        match self.at_end {
            Some(rules) => rules.limits,
            None => BodyLimits::new(),
        }
    }

    /// Sets the time limit of a request, all tries and pauses together, until the head of the response has arrived: 10
    /// s unless set. After that it fails with [`DeadlineExceeded`](crate::RequestError::DeadlineExceeded). A request
    /// may carry a shorter time of its own, a [`Deadline`](crate::Deadline) among its extensions, or with `HttpClient`
    /// the `timeout` of reqwest's request; after that it fails with
    /// [`OwnDeadlineExceeded`](crate::RequestError::OwnDeadlineExceeded), or with reqwest's timeout. With a time of 0
    /// it fails at once and is not sent.
    pub const fn deadline(mut self, time: Duration) -> Self {
        self.deadline = time;
        self
    }

    /// Sets the time limit of one try, until the head of its response has arrived: 3 s unless set. A try that takes
    /// longer is dropped and counts as a failure of the host.
    ///
    /// If a connection breaks before a response, another one is tried at once, within the same try and so within the
    /// same probe, up to eight times: idle connections fail this way, one after the other, if the host closed its side
    /// unnoticed. Each attempt costs a token of the [budget](Self::budget). Only requests that may be sent twice are
    /// sent again, and those that were refused unprocessed (a `GOAWAY` before them; `REFUSED_STREAM`, after which once is
    /// enough, as the connection goes on). A try that is refused to its end is a failure of the host, counted once for all that were under way.
    pub const fn try_limit(mut self, time: Duration) -> Self {
        self.try_limit = time;
        self
    }

    /// The limit of a try that is the first probe after a trip, so that its caller does not wait for a host that hangs as
    /// long as for one that works. It doubles with each probe that fails, and the fourth in a row has the limit of a try: a
    /// host that is healthy, but slower than this, is served again after up to three open times more. At most the limit of a
    /// try. In a fleet, whose members take turns to probe, set it to more than a healthy host takes.
    ///
    /// With or without this setting, a probe ends when its answer would count as [slow](Config::slow_call) and so as a
    /// failure, but not before half of a try: after 1.5 s, with the defaults. No host is found later for that. In
    /// shadow mode probes have the limit of a try.
    pub const fn probe_limit(mut self, time: Duration) -> Self {
        self.probe_limit = Some(time);
        self
    }

    /// Sets the largest number of tries of a request, if it may be sent twice: 3 unless set; 1 for no retry.
    pub const fn tries(mut self, tries: u32) -> Self {
        self.retry = self.retry.tries(tries);
        self
    }

    /// The pauses between tries: [`Backoff::new`] unless set.
    pub const fn backoff(mut self, backoff: Backoff) -> Self {
        self.retry = self.retry.backoff(backoff);
        self
    }

    /// Sets the number of times that a request waits for a breaker that rejects it; with 0, the default, the rejection
    /// is returned at once. A server with a bounded number of callers should not wait: all of them would wait for the
    /// host that is down.
    pub const fn rejection_waits(mut self, waits: u32) -> Self {
        self.retry = self.retry.rejection_waits(waits);
        self
    }

    /// Sets the number of retries that all requests to one host together may make: each host has a budget of its own,
    /// so one that is down does not use up the retries of the others. The table has 4,096 places, whatever the
    /// [capacity](Self::capacity): of a hundred hosts that are in trouble at a time, two or three share one.
    /// [`BudgetConfig::new`] unless set.
    pub const fn budget(mut self, budget: BudgetConfig) -> Self {
        (self.budget, self.shares_budget) = (budget, false);
        self
    }

    /// Sets the number of retries that all requests together may make, whatever their host.
    pub const fn shared_budget(mut self, budget: BudgetConfig) -> Self {
        (self.budget, self.shares_budget) = (budget, true);
        self
    }

    /// No try counts as slow, unless the breaker's settings say [when](Config::slow_call). For hosts that are slow but
    /// healthy: those whose usual time is near the limit.
    ///
    /// Without this, a try that takes half of its limit or longer is slow, although it succeeds: the breaker opens when 80 % of
    /// the tries within the time of the [`failure_ratio`](Config::failure_ratio) are slow. (Where the rules set
    /// [their share](Ratio::slow_percent), that; without a ratio within a time each slow try counts as a failure.)
    pub const fn without_slow_limit(mut self) -> Self {
        self.slow_is_half_a_try = false;
        self
    }

    /// The rules of each host's breaker. Unless set: 10 failures in a row that last 100 ms, or 90 % of at least 20 within
    /// 10 s; open for 200 ms, 11 % longer each time up to 4 s, 20 % jitter; a `Retry-After` holds it open for 60 s at most.
    ///
    /// All of them: what is not set has core's default, not that of this type. So
    /// [`Config::max_retry_after`] is 5 minutes unless set there or by [`max_retry_after`](Self::max_retry_after): for that
    /// long each host may keep its breaker open, and its place among the [hosts](Self::capacity) that are remembered.
    pub const fn breaker(mut self, breaker: Config) -> Self {
        self.breaker = breaker;
        self
    }

    /// The rules of each host's breaker, to be modified for one of them.
    pub const fn breaker_config(&self) -> Config {
        self.breaker
    }

    /// Sets the number of hosts that are remembered: 4,096 unless set. An open one keeps its place. Where callers
    /// choose the hosts, this many of them that send `Retry-After` fill all places for [`Config::max_retry_after`], and
    /// calls to others pass unguarded meanwhile. See [`Registry`](crate::Registry).
    pub const fn capacity(mut self, hosts: usize) -> Self {
        self.capacity = hosts;
        self
    }

    /// Sets the number of tries of a host that may continue at a time, each in a task of its own, when their callers
    /// leave; 32 unless set. Probes always may. Each continues until the head of its response has arrived, or its body
    /// where that is [waited for](Self::at_end_of_body), or the limit of a try has passed, and is then reported like
    /// any other. A body of which a part has arrived by then counts as if its reader had stopped there.
    ///
    /// So a host is judged only by what it does itself, within the [bounds](crate::ClientGuard#bounds) of a guard. If the
    /// rules require more failures than this number, this many calls count in each limit of a try.
    ///
    /// The price: the request of a caller that leaves keeps its connection a little longer, for at most 32 calls per
    /// host. With 0 no try continues, not even a probe: a call whose caller leaves is
    /// [cancelled](atomic_breaker_server::Permit#dropped). A runtime that shuts down cancels what it runs. One that is kept but not
    /// run, such as a current-thread runtime between two calls of `block_on`, holds the tries that callers left in it:
    /// until it runs again they keep their places here, and count as [in flight](Self::in_flight_limit). With such
    /// runtimes use 0.
    pub const fn outliving(mut self, tries: u32) -> Self {
        self.outliving = tries;
        self
    }

    /// Bounds the tries of a host in flight, at least 1; no limit unless set. Probes are not limited. As with
    /// [`InFlightLimit`](atomic_breaker_server::InFlightLimit), a try that exceeds the limit is
    /// [rejected](crate::Rejection::is_over_limit), and says nothing about the host.
    pub const fn in_flight_limit(mut self, tries: u32) -> Self {
        self.in_flight_limit = Some(tries);
        self
    }

    /// Sets whether the try that would exceed the [limit in flight](Self::in_flight_limit) opens the breaker of its
    /// host; not unless set. A host that hangs is then noticed before its first try has timed out; a healthy one that
    /// comes to the limit is shut out. So set the limit to twice what a host has at the busiest time: calls per second,
    /// times the seconds of one.
    pub const fn trip_in_flight(mut self, trip: bool) -> Self {
        self.trip_in_flight = trip;
        self
    }

    /// The longest time for which a `Retry-After` may hold the breaker of a host open, in place of the
    /// [`Config::max_retry_after`] of the [rules](Self::breaker), which is a minute in the preset. With zero such hints say
    /// nothing to the breaker, which opens for its own time. On its own a hint opens nothing; it counts once the rules
    /// trip. The retry of the caller that got it waits in any case.
    pub const fn max_retry_after(mut self, time: Duration) -> Self {
        self.max_retry_after = Some(time);
        self
    }

    /// Sets whether a 429 is a failure of its host, and with `Retry-After` opens its breaker at once, at least for that
    /// time. By default it concerns only the [caller](crate::Scope::Quota), whose retry waits for the `Retry-After`:
    /// one tenant over its quota does not shut out the others. Set it where all calls to a host share one quota, so
    /// that none is sent in vain.
    pub const fn trip_on_429(mut self, trip: bool) -> Self {
        self.trip_on_429 = trip;
        self
    }
}

impl Default for ClientConfig {
    fn default() -> Self {
        Self::new()
    }
}
