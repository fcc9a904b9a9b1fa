//! The failure that opened a breaker.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use arc_swap::ArcSwapOption;

/// The failure that opened a breaker: a few words, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LastFailure {
    /// What happened, in at most 256 bytes: `503 Service Unavailable`.
    pub text: Box<str>,
    /// When, by the clock on the wall.
    pub at: SystemTime,
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

    /// Forgets it.
    pub fn clear(&self) {
        self.0.store(None);
    }
}
