// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parts of an async runtime that these tests need.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// Polls a future to its end, parking between.
pub fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

/// Is woken by a thread after this long.
pub async fn sleep(time: Duration) {
    let end = Instant::now() + time;
    poll_fn(|context| {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Poll::Ready(());
        }
        let waker = context.waker().clone();
        thread::spawn(move || {
            thread::sleep(left);
            waker.wake();
        });
        Poll::Pending
    })
    .await;
}

/// A future took too long and was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedOut;

/// Drops the future if it takes longer than `limit`.
pub async fn timeout<F: Future>(limit: Duration, future: F) -> Result<F::Output, TimedOut> {
    let (mut future, mut alarm) = (pin!(future), pin!(sleep(limit)));
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(value) => Poll::Ready(Ok(value)),
        Poll::Pending => alarm.as_mut().poll(context).map(|()| Err(TimedOut)),
    })
    .await
}
