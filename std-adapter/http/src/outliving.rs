//! One try, which may go on when its caller leaves.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::runtime::Handle;

use crate::{InFlightCounts, Origin};

/// One try, of the guard's layer or of the middleware. Its caller leaves by dropping it, above all when a time limit of
/// the caller's own passes. Then it goes on in a task if it has begun and there is room for it, and reports what the host
/// really did; its own limit, which is inside, ends it. Otherwise it ends here, and its permit is cancelled.
pub(crate) struct Try<T: 'static> {
    /// Of one that was rejected.
    ended: Option<T>,
    /// Boxed, as it may move into a task. `None` while it is polled, and once it has ended.
    call: Option<Call<T>>,
    leaving: Option<Leaving>,
}

type Call<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl<T: 'static> Try<T> {
    pub(crate) fn new(
        call: impl Future<Output = T> + Send + 'static,
        leaving: Option<Leaving>,
    ) -> Self {
        Self {
            ended: None,
            call: Some(Box::pin(call)),
            leaving,
        }
    }

    /// One that is not made.
    pub(crate) const fn ended(result: T) -> Self {
        Self {
            ended: Some(result),
            call: None,
            leaving: None,
        }
    }
}

impl<T: 'static> Unpin for Try<T> {}

impl<T: 'static> Future for Try<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        if let Some(result) = self.ended.take() {
            return Poll::Ready(result);
        }
        if let Some(leaving) = &mut self.leaving {
            leaving.begin();
        }
        let mut call = self.call.take().expect("polled after it was ready");
        let result = call.as_mut().poll(context);
        if result.is_pending() {
            self.call = Some(call);
        }
        result
    }
}

impl<T: 'static> Drop for Try<T> {
    fn drop(&mut self) {
        if let (Some(call), Some(leaving)) = (self.call.take(), self.leaving.take()) {
            leaving.leave(call);
        }
    }
}

/// What is needed when the caller of a try leaves.
pub(crate) struct Leaving {
    places: Arc<InFlightCounts>,
    /// The places are counted by it.
    host: Origin,
    is_probe: bool,
    /// Where the try began, and its timers and its connection are: it may be dropped in a thread without a runtime, or
    /// in a runtime that ends.
    runtime: Option<Handle>,
}

impl Leaving {
    pub(crate) const fn new(places: Arc<InFlightCounts>, host: Origin, is_probe: bool) -> Self {
        Self {
            places,
            host,
            is_probe,
            runtime: None,
        }
    }

    fn begin(&mut self) {
        if self.runtime.is_none() {
            self.runtime = Handle::try_current().ok();
        }
    }

    /// A probe always has room, as the breaker bounds their number.
    fn leave<T: 'static>(self, call: Call<T>) {
        let Some(runtime) = self.runtime else { return };
        let place = if self.is_probe {
            None
        } else {
            let Some(place) = InFlightCounts::try_count(self.places, &self.host) else {
                return;
            };
            Some(place)
        };
        drop(runtime.spawn(async move {
            let _until_it_ends = place;
            drop(call.await);
        }));
    }
}
