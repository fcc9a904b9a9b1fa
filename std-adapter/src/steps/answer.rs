//! What a store answers; a panic of it is an error, too.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use super::StoreError;
use super::runner::words_of;

/// Whoever asks goes on: a store that panicked once may answer the next time.
pub(crate) async fn answer<T>(
    asked: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let mut asked = pin!(asked);
    poll_fn(|context| {
        // Not polled again after a panic.
        let polled = catch_unwind(AssertUnwindSafe(|| asked.as_mut().poll(context)));
        polled.unwrap_or_else(|panic| {
            let words = words_of(&*panic);
            Poll::Ready(Err(StoreError::new(format!("the store panicked: {words}"))))
        })
    })
    .await
}
