//! The failure that opened a breaker.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use arc_swap::ArcSwapOption;
use atomic_breaker::{AnyBreaker, Present, Rejected, State, Transition};

use super::words::without_secrets;

/// The failure that opened a breaker: a few words, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LastFailure {
    /// What happened, in at most 256 bytes: `503 Service Unavailable`.
    pub text: Box<str>,
    /// When it happened, in wall-clock time.
    pub at: SystemTime,
}

impl LastFailure {
    const MAX_BYTES: usize = 256;

    /// A failure that has just happened. A longer text is cut; anything that may be secret, such as the query and the
    /// password of a URL, is left out.
    ///
    /// ```
    /// use atomic_breaker_std::LastFailure;
    ///
    /// let text = "no answer from https://bob:pass@api.example/items?api_key=1234: timed out";
    /// let failure = LastFailure::now(text.to_owned());
    /// assert_eq!(&*failure.text, "no answer from https://api.example/items?…: timed out");
    /// ```
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a text that is given away to be kept"
    )]
    pub fn now(text: String) -> Self {
        let mut text = without_secrets(&text);
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
pub struct LastFailureCell(ArcSwapOption<Kept>);

/// The information kept about the last transition that was explained.
#[derive(Debug)]
struct Kept {
    /// The transition, if it is known.
    made: Option<Transition>,
    /// `None` if there were no words.
    failure: Option<Arc<LastFailure>>,
}

impl LastFailureCell {
    /// Empty.
    pub const fn new() -> Self {
        Self(ArcSwapOption::const_empty())
    }

    /// The failure, if there was one.
    pub fn get(&self) -> Option<Arc<LastFailure>> {
        self.0.load().as_ref()?.failure.clone()
    }

    /// The failure, if it is the reason why the breaker rejects: not if a command has opened the breaker since.
    pub(crate) fn of_rejection(
        &self,
        breaker: &impl AnyBreaker,
        rejected: Rejected,
    ) -> Option<Arc<LastFailure>> {
        let kept = self.0.load();
        let kept = kept.as_ref()?;
        let is_why = |made: &Transition| explains(made, breaker, rejected.state());
        let failure = kept.failure.as_ref()?;
        kept.made
            .as_ref()
            .is_none_or(is_why)
            .then(|| Arc::clone(failure))
    }

    /// Replaces the failure with this one.
    pub fn set(&self, text: String) {
        self.0.store(Some(Arc::new(Kept {
            made: None,
            failure: Some(Arc::new(LastFailure::now(text))),
        })));
    }

    /// Keeps the words of the failure that caused a transition, or forgets older ones if there are none. Words that
    /// explain a transition closer to the current word stay.
    pub(crate) fn set_for(&self, made: &Transition, present: Present<'_>, text: Option<String>) {
        let next = Arc::new(Kept {
            made: Some(*made),
            failure: text.map(|text| Arc::new(LastFailure::now(text))),
        });
        // The word is read again each time another thread was faster, just as other code reads it under a lock.
        self.0.rcu(|kept| {
            let is_nearer = |kept: &Kept| {
                let before = kept.made.as_ref();
                before.is_none_or(|before| present.is_nearer(made, before))
            };
            match kept {
                Some(kept) if !is_nearer(kept) => Some(Arc::clone(kept)),
                _ => Some(Arc::clone(&next)),
            }
        });
    }

    /// Forgets the failure.
    pub fn clear(&self) {
        self.0.store(None);
    }
}

/// Whether a transition is the reason why a breaker is in this state.
fn explains<B: AnyBreaker>(opened: &Transition, breaker: &B, state: State) -> bool {
    let breaker = breaker.as_breaker();
    let since = breaker.transitions_since(opened);
    match state {
        State::Open => since == 0,
        State::HalfOpen => since <= 1 + u16::from(breaker.snapshot().lost_rounds()),
        State::Returning => since <= 2,
        _ => false,
    }
}
