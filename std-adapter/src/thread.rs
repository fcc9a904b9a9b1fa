// SPDX-License-Identifier: MIT OR Apache-2.0
//! Futures that a thread waits for, and the timer by which they sleep.

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use atomic_breaker::wait::Timer;

thread_local! {
    /// The time at which the future that this thread polls wants to be polled again.
    static NEXT: Cell<Option<Instant>> = const { Cell::new(None) };
    /// The waker of all waits of the thread: observers keep those of waits that were given up until the next transition.
    static WAKER: Waker = Waker::from(Arc::new(Unpark(thread::current())));
}

static ORIGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The timer of [`block_on`]. Its sleeps end nowhere else.
pub(crate) struct ThreadTimer;

/// A sleep until then, or for ever.
pub(crate) struct ThreadSleep(Option<Instant>);

impl Timer for ThreadTimer {
    type Sleep = ThreadSleep;

    fn now_ms(&self) -> u64 {
        ORIGIN.elapsed().as_millis() as u64
    }

    fn sleep(&self, ms: u64) -> ThreadSleep {
        ThreadSleep(Instant::now().checked_add(Duration::from_millis(ms)))
    }
}

impl Future for ThreadSleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let Some(until) = self.0 else {
            return Poll::Pending;
        };
        if Instant::now() >= until {
            return Poll::Ready(());
        }
        let next = NEXT.get();
        NEXT.set(Some(next.map_or(until, |next| next.min(until))));
        Poll::Pending
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

/// Polls the future until then, and returns `None` if it is not ready; without a time it may take for ever.
pub(crate) async fn within<V>(
    until: Option<Instant>,
    future: impl Future<Output = V>,
) -> Option<V> {
    let (mut future, mut sleep) = (pin!(future), pin!(ThreadSleep(until)));
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => sleep.as_mut().poll(context).map(|()| None),
    })
    .await
}

/// Blocks the thread until the future is ready: while it sleeps by the [`ThreadTimer`], and until another thread wakes it.
pub(crate) fn block_on<V>(future: impl Future<Output = V>) -> V {
    let mut future = pin!(future);
    let waker = WAKER.with(Waker::clone);
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        match NEXT.take() {
            Some(next) => thread::park_timeout(next.saturating_duration_since(Instant::now())),
            None => thread::park(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ThreadTimer, block_on};
    use atomic_breaker::wait::Timer;
    use std::future::poll_fn;
    use std::pin::pin;

    /// With the time of an earlier sleep it would spin.
    #[test]
    fn a_thread_that_sleeps_polls_when_it_is_due_and_not_before() {
        block_on(ThreadTimer.sleep(1));
        let mut polls = 0;
        block_on(async {
            let mut sleep = pin!(ThreadTimer.sleep(50));
            poll_fn(|context| {
                polls += 1;
                sleep.as_mut().poll(context)
            })
            .await;
        });
        assert!(polls < 20, "{polls}");
    }
}
