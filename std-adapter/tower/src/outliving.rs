// SPDX-License-Identifier: MIT OR Apache-2.0
//! A try that may go on when its caller leaves.

use std::cell::Cell;
use std::fmt;
use std::future::poll_fn;
use std::hash::Hash;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use atomic_breaker_server::InFlightLimit;
use tokio::runtime::Handle;
use tokio::time::{Instant, Sleep, sleep_until};

/// The future of one try, made by a [`TryService`](crate::TryService).
///
/// Its caller leaves by dropping it, above all when a time limit of the caller's own passes. Then it goes on in a task if
/// it has begun and there is room for it, and reports what the service really did; its own limit, which is inside, ends
/// it. Otherwise it ends here, and its permit is cancelled.
///
/// # Panics
/// When it is polled again after it has completed.
#[must_use = "futures do nothing unless polled"]
pub struct Try<T: 'static, K: Hash + Send + 'static = ()> {
    /// The result of one that was rejected.
    ended: Option<T>,
    /// Boxed, as it may move into a task. `None` while it is polled, and once it has ended.
    call: Option<Call<T>>,
    leaving: Option<Leaving<K>>,
    reading_on: Option<ReadingOn<T>>,
    /// The runtime in which the try began, and which has its timers and its connection: the try may be dropped in a
    /// thread without a runtime, or in a runtime that ends.
    runtime: Option<Handle>,
}

type Call<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The continuation of a try that has a result, but whose caller has left: what it does with the result, and until
/// when.
struct ReadingOn<T> {
    limit: Duration,
    /// Set when the try begins.
    until: Option<Instant>,
    read: fn(T, Sleep) -> Call<()>,
}

/// The parts that a try needs to continue when its caller leaves: one of the places of its key, which is a host or
/// `()`, unless it is a probe, whose number the breaker bounds.
#[doc(hidden)]
#[derive(Debug)]
pub struct Leaving<K> {
    places: Option<(Arc<InFlightLimit<(), K>>, K)>,
}

impl<K> Leaving<K> {
    pub fn new(places: Arc<InFlightLimit<(), K>>, key: K, is_probe: bool) -> Self {
        Self {
            places: (!is_probe).then_some((places, key)),
        }
    }
}

impl<T: 'static, K: Hash + Send + 'static> Try<T, K> {
    /// A try that is made when it is polled; without `leaving` it never goes on.
    #[doc(hidden)]
    pub fn new(
        call: impl Future<Output = T> + Send + 'static,
        leaving: Option<Leaving<K>>,
    ) -> Self {
        Self {
            ended: None,
            call: Some(Box::pin(call)),
            leaving,
            reading_on: None,
            runtime: None,
        }
    }

    /// Reads what the verdict on the result still needs if the caller has left, within so much time from the beginning of
    /// the try. Otherwise the result is dropped.
    #[doc(hidden)]
    pub fn reading_on(mut self, limit: Duration, read: fn(T, Sleep) -> Call<()>) -> Self {
        self.reading_on = Some(ReadingOn {
            limit,
            until: None,
            read,
        });
        self
    }

    /// The result of a request that was rejected.
    #[doc(hidden)]
    pub const fn ended(result: T) -> Self {
        Self {
            ended: Some(result),
            call: None,
            leaving: None,
            reading_on: None,
            runtime: None,
        }
    }
}

impl<T: 'static, K: Hash + Send + 'static> Unpin for Try<T, K> {}

impl<T: 'static, K: Hash + Send + 'static> Future for Try<T, K> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        if let Some(result) = self.ended.take() {
            return Poll::Ready(result);
        }
        if self.leaving.is_some() && self.runtime.is_none() {
            self.runtime = Handle::try_current().ok();
            if let Some(reading_on) = &mut self.reading_on {
                reading_on.until = Instant::now().checked_add(reading_on.limit);
            }
        }
        let mut call = self.call.take().expect("polled after it was ready");
        let result = poll_as(false, || call.as_mut().poll(context));
        if result.is_pending() {
            self.call = Some(call);
        }
        result
    }
}

impl<T: 'static, K: Hash + Send + 'static> Drop for Try<T, K> {
    fn drop(&mut self) {
        // Without a runtime it has not begun.
        let (Some(call), Some(runtime)) = (self.call.take(), self.runtime.take()) else {
            return;
        };
        let Some(leaving) = self.leaving.take() else {
            return;
        };
        let place = leaving
            .places
            .map(|(places, key)| InFlightLimit::try_count(places, &key));
        if matches!(place, Some(None)) {
            return;
        }
        let reading_on = self.reading_on.take();
        drop(runtime.spawn(async move {
            let _until_it_ends = place;
            let mut call = call;
            let result = poll_fn(|context| poll_as(true, || call.as_mut().poll(context))).await;
            drop(call);
            if let Some((until, reading_on)) = reading_on.and_then(|it| Some((it.until?, it))) {
                (reading_on.read)(result, sleep_until(until)).await;
            }
        }));
    }
}

thread_local! {
    /// The innermost try that is being polled goes on without its caller.
    static HAS_LEFT: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether the caller of the try that is being polled has left: for what the try itself does.
#[doc(hidden)]
pub fn has_left() -> bool {
    HAS_LEFT.get()
}

/// Polls a try. Within it may be others, whose caller it is.
fn poll_as<V>(has_left: bool, poll: impl FnOnce() -> V) -> V {
    struct Restores(bool);
    impl Drop for Restores {
        fn drop(&mut self) {
            HAS_LEFT.set(self.0);
        }
    }
    let _restores = Restores(HAS_LEFT.replace(has_left));
    poll()
}

impl<T: 'static, K: Hash + Send + 'static> fmt::Debug for Try<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Try")
            .field("goes_on", &self.leaving.is_some())
            .finish_non_exhaustive()
    }
}
