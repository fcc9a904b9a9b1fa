//! The metrics by their names.

use metrics::{Key, KeyName, Label, Level, Metadata, Recorder, SharedString, Unit};

pub(super) const CALLS: &str = "circuit_breaker.calls";
pub(super) const REJECTIONS: &str = "circuit_breaker.rejections";
pub(super) const TRANSITIONS: &str = "circuit_breaker.transitions";
pub(super) const BREAKERS: &str = "circuit_breaker.breakers";
pub(super) const KEY_OPENED: &str = "circuit_breaker.key.opened";
pub(super) const KEY_REJECTIONS: &str = "circuit_breaker.key.rejections";
pub(super) const KEY_OPEN: &str = "circuit_breaker.key.open";
#[cfg(feature = "steps")]
pub(super) const JOBS: &str = "circuit_breaker.jobs";
#[cfg(feature = "steps")]
pub(super) const JOB_OLDEST_DUE: &str = "circuit_breaker.job.oldest_due";
#[cfg(feature = "steps")]
pub(super) const JOB_TRIES: &str = "circuit_breaker.job.tries";
#[cfg(feature = "steps")]
pub(super) const JOB_ENDED: &str = "circuit_breaker.job.ended";
#[cfg(feature = "steps")]
pub(super) const JOB_LOST: &str = "circuit_breaker.job.lost";
#[cfg(feature = "steps")]
pub(super) const JOB_TOLD: &str = "circuit_breaker.job.told";
#[cfg(feature = "steps")]
pub(super) const JOB_STORE_ERRORS: &str = "circuit_breaker.job.store_errors";

const NAME: &str = "circuit_breaker.name";
pub(super) const OUTCOME: &str = "circuit_breaker.outcome";
pub(super) const ENFORCEMENT: &str = "circuit_breaker.enforcement";
pub(super) const STATE: &str = "circuit_breaker.state";
pub(super) const CAUSE: &str = "circuit_breaker.cause";
pub(super) const KEY: &str = "circuit_breaker.key";
#[cfg(feature = "steps")]
pub(super) const KIND: &str = "circuit_breaker.kind";
#[cfg(feature = "steps")]
pub(super) const LANE: &str = "circuit_breaker.lane";
#[cfg(feature = "steps")]
pub(super) const STATUS: &str = "circuit_breaker.status";
#[cfg(feature = "steps")]
pub(super) const OPERATION: &str = "circuit_breaker.operation";

static METADATA: Metadata<'_> = Metadata::new("atomic_breaker", Level::INFO, None);

/// Describes the metrics.
pub(super) fn describe(recorder: &dyn Recorder) {
    let counters = [
        (CALLS, "Calls that were admitted, by how they ended."),
        (
            REJECTIONS,
            "Calls that were rejected, or would have been in shadow mode.",
        ),
        (
            TRANSITIONS,
            "Changes of state, by the state after and the cause.",
        ),
        (KEY_OPENED, "How often a key of a registry opened."),
        (
            KEY_REJECTIONS,
            "Calls of a key that were rejected, or would have been in shadow mode.",
        ),
    ];
    for (name, text) in counters {
        recorder.describe_counter(KeyName::from(name), Some(Unit::Count), text.into());
    }
    let gauges = [
        (
            BREAKERS,
            "How many breakers, or keys of a registry, are in a state.",
        ),
        (
            KEY_OPEN,
            "1 if a key of a registry is open, forced open, half-open or returning, otherwise 0.",
        ),
    ];
    for (name, text) in gauges {
        recorder.describe_gauge(KeyName::from(name), Some(Unit::Count), text.into());
    }
}

/// The same for the metrics of jobs.
#[cfg(feature = "steps")]
pub(super) fn describe_jobs(recorder: &dyn Recorder) {
    let counters = [
        (JOB_TRIES, "Tries of steps, by how they ended."),
        (JOB_ENDED, "Jobs that ended in this process, by how."),
        (
            JOB_LOST,
            "Rights to jobs that were gone before what came of them was saved.",
        ),
        (
            JOB_TOLD,
            "Jobs that a person was told of, or that nobody could be told of.",
        ),
        (
            JOB_STORE_ERRORS,
            "Calls of the store that failed or were not answered in time.",
        ),
    ];
    for (name, text) in counters {
        recorder.describe_counter(KeyName::from(name), Some(Unit::Count), text.into());
    }
    let text = "How many jobs stand how, by the lane of their next step; not a number when the store does not answer.";
    recorder.describe_gauge(KeyName::from(JOBS), Some(Unit::Count), text.into());
    let text = "For how many seconds the job that waits the longest has been due; 0 if none is.";
    recorder.describe_gauge(
        KeyName::from(JOB_OLDEST_DUE),
        Some(Unit::Seconds),
        text.into(),
    );
}

/// The series of one name of a meter.
#[derive(Clone, Copy)]
pub(super) struct Series<'a> {
    pub(super) recorder: &'a dyn Recorder,
    pub(super) meter: &'a str,
}

impl Series<'_> {
    /// Sets a counter to the sum since the start, so that a recorder that was installed late, or replaced, misses
    /// nothing.
    pub(super) fn counter<const N: usize>(
        self,
        name: &'static str,
        labels: [(&'static str, SharedString); N],
        total: u64,
    ) {
        let key = self.key(name, labels);
        self.recorder
            .register_counter(&key, &METADATA)
            .absolute(total);
    }

    #[expect(clippy::cast_precision_loss, reason = "nobody has so many breakers")]
    pub(super) fn gauge<const N: usize>(
        self,
        name: &'static str,
        labels: [(&'static str, SharedString); N],
        value: u64,
    ) {
        self.measure(name, labels, value as f64);
    }

    /// Sets a gauge.
    pub(super) fn measure<const N: usize>(
        self,
        name: &'static str,
        labels: [(&'static str, SharedString); N],
        value: f64,
    ) {
        let key = self.key(name, labels);
        self.recorder.register_gauge(&key, &METADATA).set(value);
    }

    fn key<const N: usize>(
        self,
        name: &'static str,
        labels: [(&'static str, SharedString); N],
    ) -> Key {
        let meter = Label::new(NAME, self.meter.to_owned());
        let labels = labels
            .into_iter()
            .map(|(name, value)| Label::new(name, value));
        Key::from_parts(name, [meter].into_iter().chain(labels).collect::<Vec<_>>())
    }
}
