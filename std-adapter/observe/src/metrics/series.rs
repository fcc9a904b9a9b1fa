//! The metrics by their names.

use atomic_breaker_registry::words::printable;
use metrics::{Key, Label, Level, Metadata, Recorder, Unit};

pub(super) const CALLS: &str = "circuit_breaker.calls";
pub(super) const REJECTIONS: &str = "circuit_breaker.rejections";
pub(super) const TRANSITIONS: &str = "circuit_breaker.transitions";
pub(super) const BREAKERS: &str = "circuit_breaker.breakers";
pub(super) const KEY_OPENED: &str = "circuit_breaker.key.opened";
pub(super) const KEY_REJECTIONS: &str = "circuit_breaker.key.rejections";
pub(super) const KEY_OPEN: &str = "circuit_breaker.key.open";

const NAME: &str = "circuit_breaker.name";
pub(super) const OUTCOME: &str = "circuit_breaker.outcome";
pub(super) const ENFORCEMENT: &str = "circuit_breaker.enforcement";
pub(super) const STATE: &str = "circuit_breaker.state";
pub(super) const CAUSE: &str = "circuit_breaker.cause";
pub(super) const KEY: &str = "circuit_breaker.key";

static METADATA: Metadata<'_> = Metadata::new("atomic_breaker", Level::INFO, None);

/// Labels and their values.
pub(super) type Labels<'a> = &'a [(&'static str, &'a str)];

/// Metrics, and what they mean.
pub(super) type Described<'a> = &'a [(&'static str, &'static str)];

const COUNTERS: Described<'_> = &[
    (CALLS, "Calls that were admitted, by how they ended."),
    (
        REJECTIONS,
        "Calls that were rejected or, in shadow mode, should have been.",
    ),
    (
        TRANSITIONS,
        "Changes of state, by the state after and the cause.",
    ),
    (KEY_OPENED, "How often a key of a registry opened."),
    (
        KEY_REJECTIONS,
        "Rejections of a key, those in shadow mode included.",
    ),
];

const GAUGES: Described<'_> = &[
    (
        BREAKERS,
        "How many breakers, or keys of a registry, are in a state.",
    ),
    (
        KEY_OPEN,
        "1 if a key is open, forced open, half-open or returning, otherwise 0.",
    ),
];

/// Describes the metrics of breakers.
pub(super) fn describe_breakers(recorder: &dyn Recorder) {
    describe(recorder, COUNTERS, GAUGES);
}

pub(super) fn describe(recorder: &dyn Recorder, counters: Described<'_>, gauges: Described<'_>) {
    for &(name, text) in counters {
        recorder.describe_counter(name.into(), Some(Unit::Count), text.into());
    }
    for &(name, text) in gauges {
        recorder.describe_gauge(name.into(), Some(Unit::Count), text.into());
    }
}

/// The series of a metric under that name, with other labels.
pub(super) fn key(metric: &'static str, of: &str, labels: Labels<'_>) -> Key {
    let labels = [(NAME, of)].into_iter().chain(labels.iter().copied());
    let labels = labels.map(|(label, value)| Label::new(label, printable(value)));
    Key::from_parts(metric, labels.collect::<Vec<_>>())
}

/// Sets a counter to the sum since the start, so that a recorder that was installed late, or replaced, misses nothing.
pub(super) fn set_counter(recorder: &dyn Recorder, key: &Key, total: u64) {
    recorder.register_counter(key, &METADATA).absolute(total);
}

pub(super) fn set_gauge(recorder: &dyn Recorder, key: &Key, value: f64) {
    recorder.register_gauge(key, &METADATA).set(value);
}

#[expect(clippy::cast_precision_loss, reason = "there are never so many")]
pub(super) const fn float(count: u64) -> f64 {
    count as f64
}
