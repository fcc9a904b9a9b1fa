//! The metrics by name.

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

/// Says what the metrics mean.
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

/// The series of one name of a meter.
#[derive(Clone, Copy)]
pub(super) struct Series<'a> {
    pub(super) recorder: &'a dyn Recorder,
    pub(super) meter: &'a str,
}

impl Series<'_> {
    /// Sets a counter: to the sum since the start, so that a recorder that came late, or was replaced, misses nothing.
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
        let key = self.key(name, labels);
        self.recorder
            .register_gauge(&key, &METADATA)
            .set(value as f64);
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
