//! The metrics by their names.

use metrics::{Key, KeyName, Label, Level, Metadata, Recorder, SharedString, Unit};

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

pub(super) const COUNTERS: [(&str, &str); 5] = [
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

pub(super) const GAUGES: [(&str, &str); 2] = [
    (
        BREAKERS,
        "How many breakers, or keys of a registry, are in a state.",
    ),
    (
        KEY_OPEN,
        "1 if a key of a registry is open, forced open, half-open or returning, otherwise 0.",
    ),
];

/// Describes metrics: their names, and what they mean.
pub(super) fn describe(
    recorder: &dyn Recorder,
    counters: &[(&'static str, &'static str)],
    gauges: &[(&'static str, &'static str)],
) {
    for &(name, text) in counters {
        recorder.describe_counter(KeyName::from(name), Some(Unit::Count), text.into());
    }
    for &(name, text) in gauges {
        recorder.describe_gauge(KeyName::from(name), Some(Unit::Count), text.into());
    }
}

/// The series of a metric under that name, with other labels.
pub(super) fn key(
    metric: &'static str,
    of: &str,
    labels: impl IntoIterator<Item = (&'static str, SharedString)>,
) -> Key {
    let mut all = vec![Label::new(NAME, of.to_owned())];
    all.extend(
        labels
            .into_iter()
            .map(|(name, value)| Label::new(name, value)),
    );
    Key::from_parts(metric, all)
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
