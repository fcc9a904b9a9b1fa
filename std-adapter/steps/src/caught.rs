//! Foreign code that panics counts as failed, and its caller goes on.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use super::StoreError;

/// Asks a [`Store`](super::Store), whose code is foreign: a panic of it is an error, as it may succeed the next time.
///
/// # Errors
/// That of the store, or one that contains the message of its panic.
pub async fn answer<T, F>(ask: impl FnOnce() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    // Called inside the async block, as it may panic before there is a future.
    let answer = caught(async { ask().await }).await;
    answer.unwrap_or_else(|words| Err(StoreError::new(format!("the store panicked: {words}"))))
}

/// The message of the panic, if there was one.
pub(super) async fn caught<T>(asked: impl Future<Output = T>) -> Result<T, String> {
    let mut asked = pin!(asked);
    poll_fn(|context| {
        // Not polled again after a panic.
        match caught_now(|| asked.as_mut().poll(context)) {
            Ok(polled) => polled.map(Ok),
            Err(words) => Poll::Ready(Err(words)),
        }
    })
    .await
}

/// The same for code that does not wait.
pub(super) fn caught_now<T>(asked: impl FnOnce() -> T) -> Result<T, String> {
    // The code is foreign and must cope with unwinding.
    let came = catch_unwind(AssertUnwindSafe(asked));
    came.map_err(|panic| words_of(&*panic).to_owned())
}

pub(super) fn words_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message")
}
