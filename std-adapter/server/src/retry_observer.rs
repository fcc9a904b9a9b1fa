// SPDX-License-Identifier: MIT OR Apache-2.0
//! Observers of retries.

use std::fmt;
use std::iter::once;
use std::sync::Arc;

use atomic_breaker::wait::TryEvent;

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

    /// A try has failed, and it is known what followed; or, with [`RetryEvent::Recovered`](atomic_breaker::wait::RetryEvent::Recovered), a retry has succeeded.
    fn event(&self, key: &K, event: &TryEvent) {
        let _ = (key, event);
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
