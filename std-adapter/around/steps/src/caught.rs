// SPDX-License-Identifier: MIT OR Apache-2.0
//! Foreign code that panics counts as failed, and its caller goes on.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

/// Runs foreign code to its end; if it panics, returns the message of the panic.
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

/// Like [`caught`], for synchronous code.
pub(super) fn caught_now<T>(asked: impl FnOnce() -> T) -> Result<T, String> {
    // The code is foreign and must cope with unwinding.
    let came = catch_unwind(AssertUnwindSafe(asked));
    came.map_err(|panic| words_of(&*panic).to_owned())
}

/// The message of a panic.
pub(super) fn words_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message")
}
