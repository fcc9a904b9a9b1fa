//! The observer that writes the timeline.

use std::fmt;
use std::sync::Arc;

use atomic_breaker::{Observer, Present, Transition};

use super::super::text;
use super::Timeline;
use super::event::{Made, Subject, What};
use atomic_breaker_std::registry::KeyedObserver;

/// The most bytes of a failure's text.
const FAILURE_BYTES: usize = 256;

/// Records the transitions of a breaker, or of the keys of a registry, in a [`Timeline`]. A clone records under the
/// same name.
#[derive(Clone)]
pub struct Recorder {
    timeline: Timeline,
    name: Arc<str>,
}

impl Recorder {
    pub(super) fn new(timeline: Timeline, name: Arc<str>) -> Self {
        Self { timeline, name }
    }

    /// For keys without `Display`, or that should read differently: the same text as in
    /// [`Admin::registry_by`](super::super::Admin::registry_by).
    pub fn by_text<K, F: Fn(&K) -> String>(self, text: F) -> RecorderByText<F> {
        RecorderByText {
            recorder: self,
            text,
        }
    }

    fn record(
        &self,
        key: Option<String>,
        transition: &Transition,
        present: Option<Present<'_>>,
        failure: Option<&str>,
    ) {
        let subject = Subject {
            of: Arc::clone(&self.name),
            key: key.map(Into::into),
        };
        let failure = failure.map(|words| text::bounded(&words, FAILURE_BYTES).into());
        let made = Made(*transition);
        self.timeline
            .record(subject, What::Transition { made, failure }, present);
    }
}

impl Observer for Recorder {
    fn transition(&self, transition: &Transition) {
        self.record(None, transition, None, None);
    }

    fn changed(&self, transition: &Transition, present: Present<'_>) {
        self.record(None, transition, Some(present), None);
    }
}

impl<K: fmt::Display> KeyedObserver<K> for Recorder {
    fn transition(&self, key: &K, transition: &Transition) {
        self.record(Some(text::of_key(key)), transition, None, None);
    }

    fn changed(&self, key: &K, transition: &Transition, present: Present<'_>) {
        self.record(Some(text::of_key(key)), transition, Some(present), None);
    }

    fn opened(&self, key: &K, transition: &Transition, present: Present<'_>, last_failure: &str) {
        let key = Some(text::of_key(key));
        self.record(key, transition, Some(present), Some(last_failure));
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Recorder").field(&self.name).finish()
    }
}

/// A [`Recorder`] for keys with a text of their own.
#[derive(Clone)]
pub struct RecorderByText<F> {
    recorder: Recorder,
    text: F,
}

impl<F> RecorderByText<F> {
    fn record<K>(
        &self,
        key: &K,
        transition: &Transition,
        present: Option<Present<'_>>,
        failure: Option<&str>,
    ) where
        F: Fn(&K) -> String,
    {
        let key = text::of_key(&(self.text)(key));
        self.recorder
            .record(Some(key), transition, present, failure);
    }
}

impl<K, F: Fn(&K) -> String> KeyedObserver<K> for RecorderByText<F> {
    fn transition(&self, key: &K, transition: &Transition) {
        self.record(key, transition, None, None);
    }

    fn changed(&self, key: &K, transition: &Transition, present: Present<'_>) {
        self.record(key, transition, Some(present), None);
    }

    fn opened(&self, key: &K, transition: &Transition, present: Present<'_>, last_failure: &str) {
        self.record(key, transition, Some(present), Some(last_failure));
    }
}

impl<F> fmt::Debug for RecorderByText<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.recorder.fmt(f)
    }
}
