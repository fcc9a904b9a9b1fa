// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting for a resource, trying again, time limits, in paused time: nothing here sleeps.

mod cancelled;

use std::cell::{Cell, RefCell};
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use atomic_breaker_server::{
    AnyPermit, Breaker, Config, Failure, Guard, Observer, Outcome, Rejected, Resource, Retry,
    RetryEvent, ServiceError, State, StateWatch, Timed, TokioClock, TryEvent, word::NativeWord,
};
use futures_util::FutureExt;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

const SECOND: Duration = Duration::from_secs(1);
const RULES: Config = Config::new()
    .consecutive_failures(2)
    .open_for(Duration::from_secs(10));

fn breaker() -> Arc<Breaker<TokioClock>> {
    Arc::new(Breaker::new(RULES, TokioClock))
}

type OnTokio = Resource<Breaker<TokioClock>>;
type Watched = Resource<Breaker<TokioClock, NativeWord, (), (StateWatch, Count)>>;

/// The number of calls that were rejected.
#[derive(Debug, Default)]
struct Count(AtomicU32);

impl Observer for Count {
    fn rejected(&self, _: Rejected) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn watched() -> Arc<Watched> {
    let observer = (StateWatch::new(), Count::default());
    let breaker = Breaker::builder(RULES, TokioClock).observer(observer);
    Arc::new(Resource::new(breaker.build()))
}

fn rejections(server: &Watched) -> u32 {
    server.breaker().observer().1.0.load(Ordering::Relaxed)
}

fn is_send<T: Send>(future: T) -> T {
    future
}

#[tokio::test(start_paused = true)]
async fn every_future_of_a_resource_can_be_spawned() {
    static SERVER: OnTokio = Resource::new(Breaker::new(RULES, TokioClock));
    let operation = async || Ok::<_, String>(7);
    drop(is_send(SERVER.acquire_when_ready()));
    drop(is_send(SERVER.retry_with(
        |_: &_| Outcome::Success,
        Retry::new(),
        operation,
    )));
    drop(is_send(SERVER.call_timeout(SECOND, operation)));
    let answer = tokio::spawn(async move { SERVER.retry(Retry::new(), operation).await });
    assert_eq!(answer.await.unwrap(), Ok(7));
}

#[tokio::test(start_paused = true)]
async fn a_waiter_for_a_resource_is_woken_and_not_counted_as_rejected() {
    let server = watched();
    server.breaker().force_open();
    let begin = Instant::now();
    let mut waiters = JoinSet::new();
    for _ in 0..50 {
        let server = Arc::clone(&server);
        waiters.spawn(async move {
            let permit = server.acquire_when_ready().await;
            permit.report(Outcome::Success);
            begin.elapsed()
        });
    }
    // No task looks between 60 and 70 seconds.
    sleep(Duration::from_millis(60_300)).await;
    server.breaker().reset();
    let woken = waiters.join_all().await;
    // At once, spread over a second: those that are not woken look at 61 seconds.
    let (first, last) = (woken.iter().min().unwrap(), woken.iter().max().unwrap());
    assert!(*first < Duration::from_millis(60_500), "{first:?}");
    assert!(*last < Duration::from_millis(61_400), "{last:?}");
    assert_eq!(rejections(&server), 0);
}

#[tokio::test(start_paused = true)]
async fn a_waiter_becomes_the_probe_when_the_open_time_is_over() {
    let server = Resource::new(Breaker::new(RULES, TokioClock));
    server.breaker().trip();
    let begin = Instant::now();
    let permit = timeout(20 * SECOND, server.acquire_when_ready())
        .await
        .unwrap();
    assert!(permit.is_probe() && begin.elapsed() >= 10 * SECOND);
    // Dropped in the middle: the next one probes.
    drop(permit);
    assert_eq!(server.breaker().snapshot().probes_in_flight(), 0);
    server.acquire_when_ready().await.report(Outcome::Success);
    assert_eq!(server.breaker().state(), State::Closed);
}

#[tokio::test(start_paused = true)]
async fn in_shadow_mode_no_caller_waits_for_a_resource() {
    let server = watched();
    server.breaker().force_open();
    for (percent, passes) in [(0, 200), (50, 100)] {
        server.enforcement().set_percent(percent).unwrap();
        let before = rejections(&server);
        let permits = (0..200).filter_map(|_| server.acquire_when_ready().now_or_never());
        let passed = permits
            .inspect(|permit| assert!(!permit.is_admitted()))
            .count();
        assert!(
            passed.abs_diff(passes) <= 40 * usize::from(percent > 0),
            "{passed}"
        );
        // As of calls that do not wait.
        assert_eq!(rejections(&server) - before, passed as u32);
    }
}

#[tokio::test(start_paused = true)]
async fn each_try_for_a_resource_counts_with_its_words() {
    let server = watched();
    let tries = Cell::new(0);
    let call = server.retry(Retry::new().within(5 * SECOND), async || {
        tries.set(tries.get() + 1);
        Err::<(), _>(format!("no answer, {}", tries.get()))
    });
    assert_eq!(
        call.await,
        Err(ServiceError::Failed("no answer, 2".to_owned()))
    );
    // Open for longer than there is time: no try, and the rejection says why.
    let call = server.retry(Retry::new().within(5 * SECOND), async || Ok::<_, String>(7));
    let error = call.now_or_never().expect("gives up at once").unwrap_err();
    let rejection = error.rejected().unwrap();
    let words = rejection.last_failure.as_ref().unwrap();
    assert_eq!(&*words.text, "no answer, 2");
    // It waits only if it is to, and for so long.
    let longer = Retry::new().wait_for_breaker(9 * SECOND);
    for policy in [Retry::new(), longer] {
        let call = server.retry(policy, async || Ok::<_, String>(7));
        let ended = call.now_or_never().expect("gives up at once");
        assert!(ended.unwrap_err().rejected().is_some());
    }
    let begin = Instant::now();
    let patient = Retry::new().wait_for_breaker(Duration::MAX);
    let call = server.retry(patient, async || Ok::<_, String>(7));
    assert_eq!(call.await, Ok(7));
    assert!(begin.elapsed() >= 9 * SECOND && begin.elapsed() <= 12 * SECOND);
}

/// Each try that fails, what follows, and the pause: also if the caller leaves in it.
#[tokio::test(start_paused = true)]
async fn an_observer_of_a_retry_sees_each_try_and_a_caller_that_leaves() {
    let server = Resource::new(Breaker::new(RULES.consecutive_failures(99), TokioClock));
    let told = RefCell::new(Vec::new());
    let note = |event: &TryEvent| told.borrow_mut().push(*event);
    let policy = Retry::new().observer(note).try_limit(SECOND);
    let hangs = || pending::<Result<(), String>>();
    assert!(server.retry(policy, hangs).await.is_err());
    let seen: Vec<_> = told.take();
    let events: Vec<_> = seen.iter().map(|it| (it.number, it.event)).collect();
    let expected = [
        (1, RetryEvent::Sent),
        (2, RetryEvent::Sent),
        (3, RetryEvent::NoTryLeft),
    ];
    assert_eq!(events, expected);
    let pauses = [50..=100, 100..=200, 0..=0];
    for (event, pause) in seen.iter().zip(pauses) {
        assert!(pause.contains(&event.pause.as_millis()), "{event:?}");
        assert_eq!((event.waits, event.millitokens), (0, None), "{event:?}");
    }
    // The caller leaves in the first pause.
    let policy = Retry::new().observer(note);
    let busy = |_: &Result<(), String>| Outcome::from(Failure::retry_after(SECOND));
    let call = server.retry_with(busy, policy, async || Err("busy".to_owned()));
    assert!(timeout(SECOND / 100, call).await.is_err());
    let seen = told.take();
    let left = seen.iter().map(|it| (it.number, it.event, it.hint));
    let expected = (1, RetryEvent::Cancelled, Some(SECOND));
    assert_eq!(left.collect::<Vec<_>>(), [expected]);
    assert_eq!(seen[0].to_string(), "try 1, a failure: its caller left");
}

#[tokio::test(start_paused = true)]
async fn a_retry_gives_up_at_once_while_the_resource_is_forced_open() {
    let server = watched();
    server.breaker().force_open();
    let call = server.retry(Retry::new(), async || Ok::<_, String>(7));
    let error = call.now_or_never().expect("at once").unwrap_err();
    assert_eq!(error.rejected().unwrap().state(), State::ForcedOpen);
    assert_eq!(rejections(&server), 1);
}

#[tokio::test(start_paused = true)]
async fn only_what_counts_as_a_failure_is_retried() {
    let server = watched();
    let classify = |result: &Result<(), &'static str>| match result {
        Err("timed out") => Outcome::from(Failure::new()),
        Err(_) => Outcome::Ignored,
        Ok(()) => Outcome::Success,
    };
    // The second of those that count trips.
    for (error, expected) in [("not found", 1), ("timed out", 2)] {
        server.breaker().reset();
        let tries = Cell::new(0);
        let call = server.retry_with(classify, Retry::new(), async || {
            tries.set(tries.get() + 1);
            Err::<(), _>(error)
        });
        assert_eq!(call.await, Err(ServiceError::Failed(error)));
        assert_eq!(tries.get(), expected);
    }
    let words = server.last_failure().get().unwrap();
    assert_eq!(&*words.text, "timed out");
}

#[tokio::test(start_paused = true)]
async fn a_try_that_takes_too_long_is_a_failure_and_tried_again() {
    let server = watched();
    let tries = Cell::new(0);
    let policy = Retry::new().try_limit(SECOND);
    let call = server.retry(policy, async || {
        tries.set(tries.get() + 1);
        match tries.get() {
            1 => pending::<Result<i32, String>>().await,
            _ => Ok(7),
        }
    });
    assert_eq!(call.await, Ok(7));
    assert_eq!(tries.get(), 2);
    let call = server.retry(policy.tries(2), pending::<Result<(), String>>);
    assert_eq!(call.await, Err(ServiceError::Failed(Timed::TimedOut)));
    assert_eq!(&*server.last_failure().get().unwrap().text, "timed out");
}

#[tokio::test(start_paused = true)]
async fn a_timeout_of_a_resource_is_a_failure_with_its_words() {
    let server = watched();
    for _ in 0..2 {
        let hangs = server.call_timeout(SECOND, pending::<Result<(), String>>);
        assert_eq!(hangs.await, Err(ServiceError::Failed(Timed::TimedOut)));
    }
    let rejection = server.acquire().unwrap_err();
    assert_eq!(&*rejection.last_failure.unwrap().text, "timed out after 1s");
}

#[tokio::test(start_paused = true)]
async fn a_timed_out_operation_is_dropped_before_it_is_reported() {
    struct Held<'a>(&'a Cell<bool>);
    impl Drop for Held<'_> {
        fn drop(&mut self) {
            self.0.set(true);
        }
    }
    let server = Resource::new(
        Breaker::builder(Config::new().consecutive_failures(1), TokioClock)
            .observer(StateWatch::new())
            .build(),
    );
    let is_free = Cell::new(false);
    let mut changes = server.breaker().observer().subscribe();
    let held = Held(&is_free);
    let call = server.call_timeout(SECOND, async move || {
        let _held = held;
        pending::<Result<(), String>>().await
    });
    let (_, seen) = tokio::join!(call, async {
        changes.changed().await.unwrap();
        is_free.get()
    });
    assert!(seen);
}

#[tokio::test(start_paused = true)]
async fn an_operation_that_panics_counts_as_failed_in_a_retry() {
    let server = Resource::new(Arc::into_inner(breaker()).unwrap());
    for _ in 0..2 {
        let call = server.retry(Retry::new(), async || -> Result<(), String> {
            panic!("here")
        });
        let call = std::panic::AssertUnwindSafe(call);
        assert!(call.catch_unwind().await.is_err());
    }
    assert_eq!(server.breaker().state(), State::Open);
    assert_eq!(&*server.last_failure().get().unwrap().text, "panicked");
}

/// Tokio's clock, on a machine with a number of its own.
#[derive(Debug, Default)]
struct Numbered(AtomicU32);

impl atomic_breaker_server::Clock for &Numbered {
    fn now_ms(&self) -> u32 {
        atomic_breaker_server::Clock::now_ms(&TokioClock)
    }

    fn entropy(&self) -> u32 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

/// The waiters of one process are spread by themselves; those of many begin at the entropy of their clocks.
#[tokio::test(start_paused = true)]
async fn a_waiter_asks_the_clock_which_process_it_is_in() {
    let clock = Numbered::default();
    let server = Resource::new(Breaker::new(RULES.jitter_percent(0), &clock));
    server.breaker().trip();
    let asked = clock.0.load(Ordering::Relaxed);
    server.acquire_when_ready().await.report(Outcome::Success);
    assert_ne!(clock.0.load(Ordering::Relaxed), asked);
}
