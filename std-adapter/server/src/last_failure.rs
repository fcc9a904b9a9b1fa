// SPDX-License-Identifier: MIT OR Apache-2.0
//! The failure that opened a breaker.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use atomic_breaker::{AnyBreaker, Present, Rejected, State, Transition};

use crate::permit::LastFailure;

/// A place for the failure that opened a breaker. Written when it opens, read when it rejects, without a
/// lock.
#[derive(Debug, Default)]
pub struct LastFailureCell(ArcSwapOption<Kept>);

/// The information kept about the last transition that was explained.
#[derive(Debug)]
struct Kept {
    made: Transition,
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
        let is_why = || explains(&kept.made, breaker, rejected.state());
        kept.failure.clone().filter(|_| is_why())
    }

    /// Keeps the [words](crate::redact::failure) of the failure that caused a transition, or forgets older ones if there are none.
    /// Words that explain a transition closer to the current word stay.
    pub fn set(&self, made: &Transition, present: Present<'_>, text: Option<&str>) {
        let next = Arc::new(Kept {
            made: *made,
            failure: text.map(|text| Arc::new(crate::redact::failure(text))),
        });
        // The word is read again each time another thread was faster, just as other code reads it under a lock.
        self.0.rcu(|kept| {
            let kept = kept.as_ref();
            Arc::clone(
                kept.filter(|kept| !present.is_nearer(made, &kept.made))
                    .unwrap_or(&next),
            )
        });
    }

    /// Forgets the failure.
    pub fn clear(&self) {
        self.0.store(None);
    }
}

/// Returns whether a transition is the reason why a breaker is in this state.
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
