// SPDX-License-Identifier: MIT OR Apache-2.0
//! Observers of retries.

use std::fmt;
use std::iter::once;
use std::sync::Arc;
use std::time::Duration;

use atomic_breaker::Outcome;

use crate::RetryEvent;

/// Is notified of each try of a request that failed, and of what followed: of the same events that
/// [`RetryCounts`](crate::RetryCounts) counts. `RetryLayer::observer` and `ClientGuard::retry_observer` take one. `K` is what
/// the request was about, such as its host.
///
/// `()` observes nothing and costs nothing; a pair notifies both; a reference, `Arc` or `Box` forwards; an `Option` forwards
/// if it is `Some`; [`OnRetry`] turns a closure into an observer. It is called in the task of the request, or where that is
/// dropped, so be brief and do not block.
///
/// ```
/// use atomic_breaker_server::{OnRetry, Outcome, RetryEvent, RetryObserver, TryEvent};
///
/// let log = OnRetry(|host: &&str, event: &TryEvent| println!("{host}: {event}"));
/// // a.example: try 1, ignored: no token left, 0 tokens left
/// log.event(&"a.example", &TryEvent::new(1, Outcome::Ignored, RetryEvent::NoToken));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not observe retries of requests to a `{K}`",
    note = "implement `RetryObserver<{K}>`, or make a closure one: `OnRetry(|key: &{K}, event: &TryEvent| ..)`"
)]
pub trait RetryObserver<K> {
    /// Returns whether this observer listens. If not, events are not put together.
    #[inline]
    fn is_listening(&self) -> bool {
        true
    }

    /// A try has failed, and it is known what followed; or, with [`RetryEvent::Recovered`], a retry has succeeded.
    fn event(&self, key: &K, event: &TryEvent) {
        let _ = (key, event);
    }
}

/// A try that failed, and what followed it; or a retry that succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TryEvent {
    /// The number of the try, from 1.
    pub number: u32,
    /// The outcome of the try: a failure; ignored, if the server only said when to try again; a success, if it recovered.
    pub outcome: Outcome,
    /// The time for which the server asked the caller to wait, such as by a `Retry-After`.
    pub hint: Option<Duration>,
    /// The event that followed.
    pub event: RetryEvent,
    /// The pause before the next try, with the waits for a breaker that rejected it; 0 if none was planned.
    pub pause: Duration,
    /// The number of rejections that were waited for in this pause.
    pub waits: u32,
    /// Thousandths of tokens that are left in the budget.
    pub millitokens: u32,
}

impl TryEvent {
    /// An event; the other fields are 0 or `None`.
    pub const fn new(number: u32, outcome: Outcome, event: RetryEvent) -> Self {
        Self {
            number,
            outcome,
            hint: None,
            event,
            pause: Duration::ZERO,
            waits: 0,
            millitokens: 0,
        }
    }
}

/// `try 1, a failure: sent again after 80ms, 99 tokens left`
impl fmt::Display for TryEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outcome = match self.outcome {
            Outcome::Success => "a success",
            Outcome::Failure(_) => "a failure",
            Outcome::Ignored => "ignored",
        };
        write!(f, "try {}, {outcome}: ", self.number)?;
        match self.event {
            RetryEvent::Sent => write!(f, "sent again after {:?}", self.pause)?,
            RetryEvent::Recovered => f.write_str("recovered")?,
            RetryEvent::NoToken => f.write_str("no token left")?,
            RetryEvent::NoTime => f.write_str("no time left")?,
            RetryEvent::NoTryLeft => f.write_str("no try left")?,
            RetryEvent::NotRepeatable => f.write_str("may not be sent twice")?,
            RetryEvent::Rejected => f.write_str("the breaker rejected the next one")?,
            RetryEvent::Cancelled => f.write_str("its caller left")?,
        }
        write!(f, ", {} tokens left", self.millitokens / 1_000)
    }
}

/// A closure as an observer, called with each event.
#[derive(Clone, Copy)]
pub struct OnRetry<F>(pub F);

impl<F> fmt::Debug for OnRetry<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnRetry").finish_non_exhaustive()
    }
}

impl<K, F: Fn(&K, &TryEvent)> RetryObserver<K> for OnRetry<F> {
    fn event(&self, key: &K, event: &TryEvent) {
        (self.0)(key, event);
    }
}

impl<K> RetryObserver<K> for () {
    #[inline]
    fn is_listening(&self) -> bool {
        false
    }
}

/// Observers made of other observers, over which each `$part` iterates.
macro_rules! forward_observer {
    ($([$($generics:tt)*] $whole:ty: |$it:ident| $($part:expr),+;)*) => {$(
        impl<K, $($generics)*> RetryObserver<K> for $whole {
            #[inline]
            fn is_listening(&self) -> bool {
                let $it = self;
                $($part.any(|observer| observer.is_listening()))||+
            }

            fn event(&self, key: &K, event: &TryEvent) {
                let $it = self;
                $(for observer in $part {
                    observer.event(key, event);
                })+
            }
        }
    )*};
}

forward_observer! {
    [O: RetryObserver<K>] Option<O>: |it| it.iter();
    [A: RetryObserver<K>, B: RetryObserver<K>] (A, B): |it| once(&it.0), once(&it.1);
    [O: RetryObserver<K> + ?Sized] &O: |it| once(&**it);
    [O: RetryObserver<K> + ?Sized] Box<O>: |it| once(&**it);
    [O: RetryObserver<K> + ?Sized] Arc<O>: |it| once(&**it);
}
