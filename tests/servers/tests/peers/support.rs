// SPDX-License-Identifier: MIT OR Apache-2.0
//! A scripted server, and an observer that records events.

use std::future::{pending, ready};
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use atomic_breaker_http::{
    Breaker, BudgetConfig, Config, Outcome, RetryBudget, ServiceError, State, TokioClock,
};
use atomic_breaker_server::{AnyError, Classify, Observer, Rejected, Transition};
use atomic_breaker_tower::{BreakerLayer, BudgetOf, RetryLayer, RetryPolicy};
use tokio::time::{Instant, sleep};
use tower::{Service, ServiceBuilder};

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const MS: Duration = Duration::from_millis(1);

/// One millisecond less than the duration.
pub(crate) const fn just_before(time: Duration) -> Duration {
    time.saturating_sub(MS)
}

/// Two consecutive failures trip it for ten seconds.
pub(crate) const RULES: Config = Config::new()
    .consecutive_failures(2)
    .open_for(Duration::from_secs(10));

/// Never opens by itself.
pub(crate) const LENIENT: Config = Config::new().consecutive_failures(65_535);

pub(crate) type OnTokio = Breaker<TokioClock>;

/// Lives as long as the tests, because their tasks need `'static`.
pub(crate) fn breaker(rules: Config) -> &'static OnTokio {
    Box::leak(Box::new(Breaker::new(rules, TokioClock)))
}

/// Full, and filled by successes only.
pub(crate) fn budget() -> &'static RetryBudget {
    let config = BudgetConfig::new().max_tokens(100).tokens_per_second(0);
    Box::leak(Box::new(RetryBudget::with(config)))
}

/// A request to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    Answer,
    Fail,
    Take(Duration),
    Hang,
    Panic,
    /// Fails its first calls.
    FailFirst(usize),
}

/// Does as it is told. Clones are the same server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Server(Arc<Seen>);

#[derive(Debug, Default)]
struct Seen {
    calls: Mutex<Vec<Instant>>,
    asked: AtomicUsize,
    answered: AtomicUsize,
    is_busy: AtomicBool,
    is_gone: AtomicBool,
    waiting: Mutex<Vec<Waker>>,
}

impl Server {
    /// A server that is not ready until [`set_ready`](Self::set_ready).
    pub(crate) fn busy() -> Self {
        let server = Self::default();
        server.0.is_busy.store(true, Relaxed);
        server
    }

    /// A server whose readiness check fails.
    pub(crate) fn gone() -> Self {
        let server = Self::default();
        server.0.is_gone.store(true, Relaxed);
        server
    }

    pub(crate) fn set_ready(&self) {
        self.0.is_busy.store(false, Relaxed);
        for waker in std::mem::take(&mut *self.0.waiting.lock().unwrap()) {
            waker.wake();
        }
    }

    /// The number of times that it was called.
    pub(crate) fn calls(&self) -> usize {
        self.0.calls.lock().unwrap().len()
    }

    pub(crate) fn called_at(&self) -> Vec<Instant> {
        self.0.calls.lock().unwrap().clone()
    }

    /// The number of times that its readiness was polled.
    pub(crate) fn asked(&self) -> usize {
        self.0.asked.load(Relaxed)
    }

    /// The number of calls that completed.
    pub(crate) fn answered(&self) -> usize {
        self.0.answered.load(Relaxed)
    }

    /// A client that retries above the breaker.
    pub(crate) fn retried<B, P>(
        &self,
        breaker: &'static OnTokio,
        retry: RetryLayer<B, P>,
    ) -> impl Service<Ask, Response = u16, Error = ServiceError<io::Error>, Future: Send + 'static>
    + Clone
    + Send
    + use<B, P>
    where
        B: BudgetOf<Ask> + Clone + Send + 'static,
        P: RetryPolicy<Ask, u16, io::Error> + Clone + Send + 'static,
    {
        ServiceBuilder::new()
            .layer(retry)
            .layer(BreakerLayer::new(breaker))
            .service(self.clone())
    }
}

/// Repeats every request. Closures say what a result means, and when the server asks to try again.
#[derive(Clone, Copy)]
pub(crate) struct Judged<C, H>(C, H);

impl<Q, T, E, C, H> RetryPolicy<Q, T, E> for Judged<C, H>
where
    C: Fn(&Result<T, E>) -> Outcome,
    H: Fn(&Result<T, E>) -> Option<Duration>,
{
    fn may_repeat(&self, _: &Q) -> bool {
        true
    }

    fn classify(&self, result: &Result<T, E>) -> Outcome {
        self.0(result)
    }

    fn retry_after(&self, result: &Result<T, E>) -> Option<Duration> {
        self.1(result)
    }
}

/// Every request may be repeated; this says what its results mean.
pub(crate) fn judged<C: Fn(&io::Result<u16>) -> Outcome>(
    classify: C,
) -> Judged<C, impl Fn(&io::Result<u16>) -> Option<Duration> + Copy> {
    Judged(classify, |_: &io::Result<u16>| None)
}

/// Every request may be repeated, no sooner than this says.
pub(crate) fn hinted<H: Fn(&io::Result<u16>) -> Option<Duration>>(
    hint: H,
) -> Judged<impl Fn(&io::Result<u16>) -> Outcome + Copy, H> {
    Judged(|result: &io::Result<u16>| AnyError.classify(result), hint)
}

pub(crate) fn no_answer() -> io::Error {
    io::Error::other("no answer")
}

impl Service<Ask> for Server {
    type Response = u16;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<u16>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.asked.fetch_add(1, Relaxed);
        if self.0.is_gone.load(Relaxed) {
            return Poll::Ready(Err(no_answer()));
        }
        if self.0.is_busy.load(Relaxed) {
            let waker = context.waker().clone();
            self.0.waiting.lock().unwrap().push(waker);
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, ask: Ask) -> Self::Future {
        let before = self.calls();
        self.0.calls.lock().unwrap().push(Instant::now());
        let seen = Arc::clone(&self.0);
        Box::pin(async move {
            let answer = match ask {
                Ask::Answer => Ok(200),
                Ask::Fail => Err(no_answer()),
                Ask::Take(time) => {
                    sleep(time).await;
                    Ok(200)
                }
                Ask::Hang => pending().await,
                Ask::Panic => panic!("asked to"),
                Ask::FailFirst(calls) if before < calls => Err(no_answer()),
                Ask::FailFirst(_) => ready(Ok(200)).await,
            };
            seen.answered.fetch_add(1, Relaxed);
            answer
        })
    }
}

/// Records what it is notified of.
#[derive(Debug, Default)]
pub(crate) struct Diary(Mutex<Vec<Event>>);

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Event {
    Changed(State, State),
    Rejected(State),
    Succeeded,
    Failed,
    Ignored,
    Cancelled,
}

impl Diary {
    /// Events since the last reading.
    pub(crate) fn read(&self) -> Vec<Event> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    fn write(&self, event: Event) {
        self.0.lock().unwrap().push(event);
    }
}

impl Observer for Diary {
    fn transition(&self, made: &Transition) {
        self.write(Event::Changed(made.from, made.to));
    }

    fn rejected(&self, rejected: Rejected) {
        self.write(Event::Rejected(rejected.state()));
    }

    fn outcome(&self, outcome: Outcome) {
        self.write(match outcome {
            Outcome::Success => Event::Succeeded,
            Outcome::Failure(_) => Event::Failed,
            Outcome::Ignored => Event::Ignored,
        });
    }

    fn cancelled(&self) {
        self.write(Event::Cancelled);
    }
}

/// A sequence of calls: `x` fails, `.` succeeds, `r` is rejected. Returns the state at the end.
pub(crate) fn play<C, T, O>(
    breaker: &Breaker<C, atomic_breaker_server::word::NativeWord, T, O>,
    calls: &str,
) -> State
where
    C: atomic_breaker_http::Clock,
    T: atomic_breaker_server::Tally,
    O: Observer,
{
    for call in calls.chars() {
        match (call, breaker.acquire()) {
            ('x', Ok(permit)) => drop(permit.failure()),
            ('.', Ok(permit)) => drop(permit.success()),
            ('r', Err(_)) => {}
            (_, answer) => panic!("{call} in {calls}: {answer:?}"),
        }
    }
    breaker.state()
}
