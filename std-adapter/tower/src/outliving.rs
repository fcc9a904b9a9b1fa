//! A try that may go on when its caller leaves.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::Handle;

/// The future of one try, made by a [`TryService`](crate::TryService).
///
/// Its caller leaves by dropping it, above all when a time limit of the caller's own passes. Then it goes on in a task if
/// it has begun and there is room for it, and reports what the service really did; its own limit, which is inside, ends
/// it. Otherwise it ends here, and its permit is cancelled.
///
/// # Panics
/// When it is polled again after it has completed.
#[must_use = "futures do nothing unless polled"]
pub struct Try<T: 'static, L: Leaving> {
    /// The result of one that was rejected.
    ended: Option<T>,
    /// Boxed, as it may move into a task. `None` while it is polled, and once it has ended.
    call: Option<Call<T>>,
    leaving: Option<L>,
    /// Where the try began, and its timers and its connection are: it may be dropped in a thread without a runtime, or
    /// in a runtime that ends.
    runtime: Option<Handle>,
}

type Call<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Decides whether a try may go on when its caller leaves.
pub trait Leaving: Send + 'static {
    /// Held while the try goes on.
    type Room: Send + 'static;

    /// Room for it, if there is any.
    fn room(self) -> Option<Self::Room>;
}

impl<T: 'static, L: Leaving> Try<T, L> {
    /// A try that is made when it is polled; without `leaving` it never goes on.
    #[doc(hidden)]
    pub fn new(call: impl Future<Output = T> + Send + 'static, leaving: Option<L>) -> Self {
        Self {
            ended: None,
            call: Some(Box::pin(call)),
            leaving,
            runtime: None,
        }
    }

    /// The result of a request that was rejected.
    #[doc(hidden)]
    pub const fn ended(result: T) -> Self {
        Self {
            ended: Some(result),
            call: None,
            leaving: None,
            runtime: None,
        }
    }
}

impl<T: 'static, L: Leaving> Unpin for Try<T, L> {}

impl<T: 'static, L: Leaving> Future for Try<T, L> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        if let Some(result) = self.ended.take() {
            return Poll::Ready(result);
        }
        if self.leaving.is_some() && self.runtime.is_none() {
            self.runtime = Handle::try_current().ok();
        }
        let mut call = self.call.take().expect("polled after it was ready");
        let result = call.as_mut().poll(context);
        if result.is_pending() {
            self.call = Some(call);
        }
        result
    }
}

impl<T: 'static, L: Leaving> Drop for Try<T, L> {
    fn drop(&mut self) {
        // Without a runtime it has not begun.
        let (Some(call), Some(runtime)) = (self.call.take(), self.runtime.take()) else {
            return;
        };
        let Some(room) = self.leaving.take().and_then(Leaving::room) else {
            return;
        };
        drop(runtime.spawn(async move {
            let _until_it_ends = room;
            drop(call.await);
        }));
    }
}

impl<T: 'static, L: Leaving> fmt::Debug for Try<T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Try")
            .field("goes_on", &self.leaving.is_some())
            .finish_non_exhaustive()
    }
}
