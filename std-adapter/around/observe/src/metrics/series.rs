// SPDX-License-Identifier: MIT OR Apache-2.0
//! The metrics by their names, and the counter of a series.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use atomic_breaker_server::redact::printable;
use metrics::{Key, Label, Level, Metadata, Recorder, Unit};

/// The name of a metric, and what it means.
pub(super) type Metric = (&'static str, &'static str);

/// Metrics, and a list of all of them.
macro_rules! metrics {
    ($all:ident: $($metric:ident = $name:literal, $text:literal;)*) => {
        $(pub(super) const $metric: Metric = (concat!("circuit_breaker.", $name), $text);)*
        const $all: &[Metric] = &[$($metric),*];
    };
}

metrics! { COUNTERS:
    CALLS = "calls", "Calls that were admitted, by how they ended.";
    REJECTIONS = "rejections", "Calls that were rejected or, in shadow mode, would have been.";
    TRANSITIONS = "transitions", "Changes of state, by the state after and the cause.";
    KEY_OPENED = "key.opened", "How often a key of a registry opened.";
    KEY_REJECTIONS = "key.rejections", "Rejections of a key, those in shadow mode included.";
    RETRIES = "retries", "What followed when a try of a request had failed and a retry was considered.";
    TRIES = "job.tries", "Tries of steps, by how they ended.";
    ENDED = "job.ended", "Jobs that ended in this process, by how.";
    LOST = "job.lost", "Claims on jobs that were lost before a result was saved.";
    TOLD = "job.told", "Jobs that a person was notified of, or could not be.";
    UNANSWERED = "fleet.unanswered", "Requests to the engine of a fleet that failed or got no answer in time.";
    STORE_ERRORS = "job.store_errors", "Calls of the store that failed or timed out.";
}

metrics! { GAUGES:
    BREAKERS = "breakers", "How many breakers, or keys of a registry, are in a state.";
    KEY_OPEN = "key.open", "1 if a key is open, forced open, half-open or returning, otherwise 0.";
    RETRY_TOKENS = "retry.tokens", "Retries that the emptiest budget allows at once.";
    CONNECTED = "fleet.connected", "1 if the engine of a fleet answers this process, otherwise 0.";
    INSTANCES = "fleet.instances", "Living instances of a fleet, as its engine last reported.";
    JOBS = "jobs", "How many jobs the store has, by their next lane.";
}

metrics! { TIMES:
    DOWN_SINCE = "down_since", "Since when a breaker has been down, in seconds since 1970; 0 if it is up.";
    KEY_DOWN_SINCE = "key.down_since", "Since when a key has been down, in seconds since 1970; 0 if it is up.";
    OLDEST_DUE = "job.oldest_due", "For how many seconds the longest-waiting job has been due; 0 if none is.";
}

const NAME: &str = "circuit_breaker.name";
pub(super) const OUTCOME: &str = "circuit_breaker.outcome";
pub(super) const ENFORCEMENT: &str = "circuit_breaker.enforcement";
pub(super) const STATE: &str = "circuit_breaker.state";
pub(super) const CAUSE: &str = "circuit_breaker.cause";
pub(super) const KEY: &str = "circuit_breaker.key";

static METADATA: Metadata<'_> = Metadata::new("atomic_breaker", Level::INFO, None);

/// Labels and their values.
pub(super) type Labels<'a> = &'a [(&'static str, &'a str)];

pub(super) fn describe(recorder: &dyn Recorder) {
    for &(name, text) in COUNTERS {
        recorder.describe_counter(name.into(), Some(Unit::Count), text.into());
    }
    for (gauges, unit) in [(GAUGES, Unit::Count), (TIMES, Unit::Seconds)] {
        for &(name, text) in gauges {
            recorder.describe_gauge(name.into(), Some(unit), text.into());
        }
    }
}

/// The series of a metric under that name, with other labels.
pub(super) fn key((metric, _): Metric, of: &str, labels: Labels<'_>) -> Key {
    let labels = [(NAME, of)].into_iter().chain(labels.iter().copied());
    let labels = labels.map(|(label, value)| Label::new(label, printable(value)));
    Key::from_parts(metric, labels.collect::<Vec<_>>())
}

/// The page on which the series of one name are published.
pub(super) struct Page<'a> {
    pub(super) name: &'a str,
    pub(super) recorder: &'a dyn Recorder,
}

impl Page<'_> {
    /// Sets a counter to the sum since the start, so that a recorder that was installed late, or replaced, misses
    /// nothing.
    pub(super) fn count(&self, key: &Key, total: u64) {
        let counter = self.recorder.register_counter(key, &METADATA);
        counter.absolute(total);
    }

    /// Sets a counter that is counted elsewhere.
    pub(super) fn counter(&self, metric: Metric, labels: Labels<'_>, total: u64) {
        self.count(&key(metric, self.name, labels), total);
    }

    pub(super) fn gauge(&self, metric: Metric, labels: Labels<'_>, value: f64) {
        let key = key(metric, self.name, labels);
        self.recorder.register_gauge(&key, &METADATA).set(value);
    }
}

#[expect(clippy::cast_precision_loss, reason = "there are never so many")]
pub(super) const fn float(count: u64) -> f64 {
    count as f64
}

/// Counts for the life of the program. No other memory depends on it, so all orderings are relaxed.
pub(super) struct Counter {
    total: AtomicU64,
    /// The time at which it was first published, as zero, if a reader has to see it rise.
    rises: Option<OnceLock<Instant>>,
}

impl Counter {
    pub(super) fn new(rises: bool) -> Self {
        Self {
            total: AtomicU64::new(0),
            rises: rises.then(OnceLock::new),
        }
    }

    pub(super) fn add(&self) {
        self.total.fetch_add(1, Ordering::Relaxed);
    }

    /// The value that is published: zero for that long, if a reader has to see it rise.
    pub(super) fn value(&self, at_zero_for: Duration) -> u64 {
        if let Some(since) = &self.rises {
            let mut is_first = false;
            let since = since.get_or_init(|| {
                is_first = true;
                Instant::now()
            });
            if is_first || since.elapsed() < at_zero_for {
                return 0;
            }
        }
        self.total.load(Ordering::Relaxed)
    }
}
