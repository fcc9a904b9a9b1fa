// SPDX-License-Identifier: MIT OR Apache-2.0
//! The virtual clock: embassy's mock driver. Blocking code moves it itself, async code is moved to its next timer.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use embassy_time::{Duration, Instant, MockDriver};

static TIME: Mutex<()> = Mutex::new(());

thread_local! {
    /// The time at which blocking code is ended.
    static WATCHDOG: Cell<Option<Instant>> = const { Cell::new(None) };
    /// The end of the transfer that is under way.
    static TRANSFER: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// The right to the one clock of the process, which begins at 0.
#[derive(Debug)]
pub struct Time {
    _guard: MutexGuard<'static, ()>,
}

impl Time {
    /// Waits until no one else uses the clock, and resets it.
    pub fn take() -> Self {
        let guard = TIME.lock().unwrap_or_else(PoisonError::into_inner);
        MockDriver::get().reset();
        Self { _guard: guard }
    }
}

/// The payload of the panic by which blocking code is ended.
struct Bitten;

/// Lets time pass in blocking code.
pub fn pass(time: Duration) {
    MockDriver::get().advance(time);
    if WATCHDOG.get().is_some_and(|limit| Instant::now() > limit) {
        resume_unwind(Box::new(Bitten));
    }
}

/// Lets time pass until then.
pub fn pass_until(then: Instant) {
    let now = Instant::now();
    if then > now {
        MockDriver::get().advance(then - now);
    }
}

/// Lets the time of a transfer pass in async code: some microseconds, to which the clock is moved exactly.
pub async fn transfer(time: Duration) {
    let end = Instant::now() + time;
    poll_fn(|_| {
        if Instant::now() >= end {
            return Poll::Ready(());
        }
        TRANSFER.set(Some(end));
        Poll::Pending
    })
    .await;
}

/// The end of something that was run.
#[derive(Debug)]
pub enum Ended<T> {
    /// It returned this.
    With(T),
    /// It did not return within the limit.
    Never,
    /// It panicked.
    InPanic,
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Runs a future, and the clock with it. Ends what takes longer than `limit`, also if it blocks.
pub fn run<T>(limit: Duration, future: impl Future<Output = T>) -> Ended<T> {
    let mut future = pin!(future);
    let flag = Arc::new(Flag(AtomicBool::new(true)));
    let waker = Waker::from(flag.clone());
    let begin = Instant::now();
    let outer = WATCHDOG.replace(Some(begin + limit));
    let ended = loop {
        if flag.0.swap(false, Ordering::SeqCst) {
            let context = &mut Context::from_waker(&waker);
            match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
                Ok(Poll::Ready(value)) => break Ended::With(value),
                Ok(Poll::Pending) => {}
                Err(payload) if payload.is::<Bitten>() => break Ended::Never,
                Err(_) => break Ended::InPanic,
            }
        } else if begin.elapsed() > limit {
            break Ended::Never;
        } else if let Some(end) = TRANSFER.take() {
            pass_until(end);
            flag.0.store(true, Ordering::SeqCst);
        } else {
            MockDriver::get().advance(Duration::from_millis(1));
        }
    };
    WATCHDOG.set(outer);
    ended
}

/// The delay of drivers, blocking and async.
#[derive(Clone, Copy, Debug)]
pub struct Delay;

impl embedded_hal::delay::DelayNs for Delay {
    fn delay_ns(&mut self, ns: u32) {
        pass(Duration::from_nanos(ns.into()));
    }
}

impl embedded_hal_async::delay::DelayNs for Delay {
    async fn delay_ns(&mut self, ns: u32) {
        embassy_time::Timer::after_nanos(ns.into()).await;
    }
}
