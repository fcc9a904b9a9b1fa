//! The failure that opened a breaker.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use arc_swap::ArcSwapOption;
use atomic_breaker::Transition;

/// The failure that opened a breaker: a few words, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LastFailure {
    /// What happened, in at most 256 bytes: `503 Service Unavailable`.
    pub text: Box<str>,
    /// When, by the clock on the wall.
    pub at: SystemTime,
    /// The transition that it explains, if it is known.
    made: Option<Transition>,
}

impl LastFailure {
    const MAX_BYTES: usize = 256;

    /// A failure that has just happened. A longer text is cut.
    pub fn now(mut text: String) -> Self {
        if text.len() > Self::MAX_BYTES {
            let end = (0..=Self::MAX_BYTES - '…'.len_utf8())
                .rev()
                .find(|&end| text.is_char_boundary(end));
            text.truncate(end.unwrap_or(0));
            text.push('…');
        }
        Self {
            text: text.into(),
            at: SystemTime::now(),
            made: None,
        }
    }
}

impl fmt::Display for LastFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A place for the failure that opened a breaker. Written when it opens, read when it rejects, without a
/// lock.
#[derive(Debug, Default)]
pub struct LastFailureCell(ArcSwapOption<LastFailure>);

impl LastFailureCell {
    /// Empty.
    pub const fn new() -> Self {
        Self(ArcSwapOption::const_empty())
    }

    /// The failure, if there was one.
    pub fn get(&self) -> Option<Arc<LastFailure>> {
        self.0.load_full()
    }

    /// Keeps a failure in place of the one before.
    pub fn set(&self, text: String) {
        self.0.store(Some(Arc::new(LastFailure::now(text))));
    }

    /// Keeps the words of the failure that made a transition, or forgets older ones if there are none. What
    /// explains a later transition stays.
    pub(crate) fn set_for(&self, made: &Transition, text: Option<String>) {
        let next = text.map(|text| {
            let mut failure = LastFailure::now(text);
            failure.made = Some(*made);
            Arc::new(failure)
        });
        self.0.rcu(|last| {
            let is_later = |last: &LastFailure| last.made.is_some_and(|last| last.is_after(made));
            match last {
                Some(last) if is_later(last) => Some(Arc::clone(last)),
                _ => next.clone(),
            }
        });
    }

    /// Forgets it.
    pub fn clear(&self) {
        self.0.store(None);
    }
}
