// SPDX-License-Identifier: MIT OR Apache-2.0
//! The observer of a layer, and what it remembers of each request.

use std::time::Duration;

use atomic_breaker::Outcome;
use atomic_breaker_server::{RetryEvent, RetryObserver, TryEvent};

use super::RetryBudget;

/// Counts what follows the tries of requests, and notifies an observer: `()`, or what
/// [`RetryLayer::observer`](super::RetryLayer::observer) makes. For code that is generic over the layer; no other type
/// implements it.
pub trait ObserveRetries<Q: ?Sized> {
    /// Kept of a request.
    type Memory;

    #[doc(hidden)]
    fn begin(&self, request: &Q) -> Self::Memory;

    #[doc(hidden)]
    fn failed(&self, memory: &mut Self::Memory, failed: FailedTry);

    #[doc(hidden)]
    fn waits(&self, memory: &mut Self::Memory, pause: Duration);

    #[doc(hidden)]
    fn event(&self, memory: &Self::Memory, event: RetryEvent, budget: &RetryBudget);
}

/// A try that failed.
#[derive(Clone, Copy, Debug)]
pub struct FailedTry {
    pub(super) number: u32,
    pub(super) outcome: Outcome,
    pub(super) hint: Option<Duration>,
    pub(super) pause: Duration,
}

/// Counts only.
impl<Q: ?Sized> ObserveRetries<Q> for () {
    type Memory = ();

    fn begin(&self, _: &Q) {}

    fn failed(&self, (): &mut (), _: FailedTry) {}

    fn waits(&self, (): &mut (), _: Duration) {}

    fn event(&self, (): &(), event: RetryEvent, budget: &RetryBudget) {
        budget.count(event);
    }
}

/// An observer, and the key of a request.
#[derive(Clone, Copy, Debug)]
pub struct ObservedBy<O, F> {
    pub(super) observer: O,
    pub(super) key: F,
}

/// The key, and the event as far as it is known.
#[derive(Debug)]
pub struct ObservedRequest<K>(K, TryEvent);

impl<Q: ?Sized, K, O: RetryObserver<K>, F: Fn(&Q) -> K> ObserveRetries<Q> for ObservedBy<O, F> {
    type Memory = Option<ObservedRequest<K>>;

    fn begin(&self, request: &Q) -> Self::Memory {
        let nothing = TryEvent::new(0, Outcome::Ignored, RetryEvent::NoTryLeft);
        let listens = self.observer.is_listening();
        listens.then(|| ObservedRequest((self.key)(request), nothing))
    }

    fn failed(&self, memory: &mut Self::Memory, failed: FailedTry) {
        if let Some(ObservedRequest(_, event)) = memory {
            *event = TryEvent::new(failed.number, failed.outcome, event.event);
            (event.hint, event.pause) = (failed.hint, failed.pause);
        }
    }

    fn waits(&self, memory: &mut Self::Memory, pause: Duration) {
        if let Some(ObservedRequest(_, event)) = memory {
            event.pause = event.pause.saturating_add(pause);
            event.waits = event.waits.saturating_add(1);
        }
    }

    fn event(&self, memory: &Self::Memory, event: RetryEvent, budget: &RetryBudget) {
        budget.count(event);
        if let Some(ObservedRequest(key, known)) = memory {
            let mut known = *known;
            (known.event, known.millitokens) = (event, Some(budget.millitokens()));
            self.observer.event(key, &known);
        }
    }
}
