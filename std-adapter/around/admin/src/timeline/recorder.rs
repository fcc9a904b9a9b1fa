// SPDX-License-Identifier: MIT OR Apache-2.0
//! The observer that writes the timeline.

use std::fmt;
use std::sync::Arc;

use atomic_breaker_server::{KeyedObserver, Observer, Present, Rejected, Transition};

use super::super::text;
use super::Timeline;
use super::event::{MadeTransition, Subject, What};

/// The most bytes of a failure's text.
const FAILURE_BYTES: usize = 256;

/// Records the transitions of a breaker, or of the keys of a registry, in a [`Timeline`], and counts their rejections. A clone
/// records under the same name.
#[derive(Clone)]
pub struct Recorder {
    timeline: Timeline,
    name: Arc<str>,
}

impl Timeline {
    /// Makes the observer for the registry or breaker that is shown under this name.
    pub fn recorder(&self, name: impl Into<Arc<str>>) -> Recorder {
        let name = name.into();
        let mut kept = self.kept();
        if !kept.names.contains(&name) {
            kept.names.push(Arc::clone(&name));
        }
        drop(kept);
        let timeline = self.clone();
        Recorder { timeline, name }
    }
}

impl Recorder {
    fn record(
        &self,
        key: Option<&dyn fmt::Display>,
        transition: &Transition,
        present: Option<Present<'_>>,
        failure: Option<&str>,
    ) {
        let id = self.timeline.0.rejections.id(&self.name, key);
        let key = key.map(text::of_key);
        let subject = Subject::new(&self.name, key.as_deref());
        let failure = failure.map(|words| text::bounded(&words, FAILURE_BYTES).into());
        let made = MadeTransition::from(*transition);
        let what = What::Transition { made, failure };
        self.timeline.record(subject, what, present, Some(id));
    }

    /// Counts a call that was rejected, or let pass although it should have been.
    fn note_rejection(&self, key: Option<&dyn fmt::Display>, is_let_pass: bool) {
        let counts = &self.timeline.0.rejections;
        counts.note(counts.id(&self.name, key), is_let_pass);
    }
}

impl Observer for Recorder {
    fn transition(&self, transition: &Transition) {
        self.record(None, transition, None, None);
    }

    fn changed(&self, transition: &Transition, present: Present<'_>) {
        self.record(None, transition, Some(present), None);
    }

    fn rejected(&self, _: Rejected) {
        self.note_rejection(None, false);
    }
}

impl<K: fmt::Display> KeyedObserver<K> for Recorder {
    fn transition(&self, key: &K, transition: &Transition) {
        self.record(Some(key), transition, None, None);
    }

    fn changed(&self, key: &K, transition: &Transition, present: Present<'_>) {
        self.record(Some(key), transition, Some(present), None);
    }

    fn opened(&self, key: &K, transition: &Transition, present: Present<'_>, last_failure: &str) {
        self.record(Some(key), transition, Some(present), Some(last_failure));
    }

    fn rejected(&self, key: &K, _: Rejected) {
        self.note_rejection(Some(key), false);
    }

    fn would_reject(&self, key: &K, _: Rejected) {
        self.note_rejection(Some(key), true);
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Recorder").field(&self.name).finish()
    }
}
