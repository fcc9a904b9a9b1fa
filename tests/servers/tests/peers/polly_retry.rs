// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cases of Polly v8: retry, timeout.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use atomic_breaker_http::{
    Backoff, Breaker, Failure, HttpClassifier, Outcome, ServiceError, State, Timed, TokioClock,
};
use atomic_breaker_tower::{BreakerLayer, RetryConfig, RetryLayer, RetryPolicy, TimeLimitLayer};
use http::Response;
use tokio::time::{Instant, sleep, timeout};
use tower::{Layer, ServiceBuilder, ServiceExt, service_fn};

use crate::support::{
    Ask, Diary, Event, LENIENT, MS, RULES, SECOND, Server, breaker, budget, hinted, judged,
    just_before,
};

const QUICK: RetryConfig = RetryConfig::new().backoff(Backoff::new().first(MS).longest(MS));

fn always(_: &Ask) -> bool {
    true
}

/// Polly, retry: the count is respected, for errors and results, and the last one is returned. Here tries are counted,
/// including the first one, not retries.
#[tokio::test(start_paused = true)]
async fn a_request_is_tried_as_often_as_set_and_the_last_result_is_returned() {
    for tries in [1, 2, 5] {
        let server = Server::default();
        let retry = RetryLayer::new(QUICK.tries(tries), budget(), always);
        let client = server.retried(breaker(LENIENT), retry);
        let error = client.oneshot(Ask::Fail).await.unwrap_err();
        assert_eq!(error.failed().unwrap().to_string(), "no answer");
        assert_eq!(server.calls(), tries as usize);
        let server = Server::default();
        let retry = RetryLayer::new(
            QUICK.tries(tries),
            budget(),
            judged(|_| Failure::new().into()),
        );
        let client = server.retried(breaker(LENIENT), retry);
        assert_eq!(client.oneshot(Ask::Answer).await.unwrap(), 200);
        assert_eq!(server.calls(), tries as usize);
    }
}

/// Polly, retry: an unhandled outcome is not retried.
#[tokio::test(start_paused = true)]
async fn an_outcome_that_is_not_a_failure_is_not_retried() {
    for outcome in [Outcome::Success, Outcome::Ignored] {
        let server = Server::default();
        let retry = RetryLayer::new(QUICK, budget(), judged(move |_| outcome));
        let client = server.retried(breaker(LENIENT), retry);
        assert!(client.oneshot(Ask::Fail).await.is_err());
        assert_eq!(server.calls(), 1);
    }
}

/// Polly, retry: a request cancelled beforehand is not executed; one cancelled during a call or a delay is not executed
/// again.
#[tokio::test(start_paused = true)]
async fn a_request_that_is_dropped_is_not_made_again_wherever_it_stands() {
    let pause = Backoff::new().first(60 * SECOND).longest(60 * SECOND);
    let config = RetryConfig::new().backoff(pause).within(600 * SECOND);
    for (ask, given_up_after, calls) in [
        (Ask::Fail, None, 0),
        (Ask::Hang, Some(SECOND), 1),
        (Ask::Fail, Some(MS), 1),
    ] {
        let (server, budget) = (Server::default(), budget());
        let retry = RetryLayer::new(config, budget, always);
        let request = server.retried(breaker(LENIENT), retry).oneshot(ask);
        match given_up_after {
            Some(time) => drop(timeout(time, request).await),
            None => drop(request),
        }
        sleep(300 * SECOND).await;
        // A pause may be as short as zero.
        assert!(server.calls() - calls <= usize::from(ask == Ask::Fail) * calls);
        assert!(
            budget.millitokens() / 1_000 >= 98,
            "a token in a pause comes back"
        );
    }
}

/// Polly, delays: constant and exponential ones, their maximum, and no overflow for any attempt. (There are no linear
/// ones here.)
#[test]
fn pauses_grow_to_their_longest_and_never_overflow() {
    let of = |factor, longest| Backoff::new().first(SECOND).factor(factor).longest(longest);
    for (backoff, seconds) in [
        (of(1, 60 * SECOND), [1, 1, 1, 1, 1]),
        (of(2, 60 * SECOND), [1, 2, 4, 8, 16]),
        (of(2, 5 * SECOND), [1, 2, 4, 5, 5]),
        (of(3, 60 * SECOND), [1, 3, 9, 27, 60]),
    ] {
        let most = [1, 2, 3, 4, 5].map(|retry| backoff.most(retry).as_secs());
        assert_eq!(most, seconds);
    }
    for retry in [0, 1, 31, 32, 33, 1_000, u32::MAX] {
        assert!(of(2, Duration::MAX).most(retry) >= SECOND);
        assert!(of(2, 60 * SECOND).draw(retry) <= 60 * SECOND);
    }
}

/// Polly, jitter: pauses differ and stay within bounds. Here the jitter is full: from zero to the whole pause.
#[test]
fn pauses_differ_within_their_bounds() {
    let backoff = Backoff::new().first(SECOND).longest(60 * SECOND);
    for retry in 1..8 {
        let mut drawn = [(); 200].map(|()| backoff.draw(retry));
        drawn.sort_unstable();
        let most = backoff.most(retry);
        assert!(drawn[0] < most / 4 && drawn[199] > most * 3 / 4 && drawn[199] < most);
    }
}

/// Polly, delay generator: its delay takes precedence; if it returns none the usual delay applies.
#[tokio::test(start_paused = true)]
async fn a_hint_makes_the_pause_longer_and_none_leaves_it_as_it_is() {
    for (hint, least, most) in [
        (Some(3 * SECOND), 6 * SECOND, 7 * SECOND),
        (None, Duration::ZERO, 10 * MS),
        (Some(Duration::ZERO), Duration::ZERO, 10 * MS),
    ] {
        let server = Server::default();
        let retry = RetryLayer::new(QUICK, budget(), hinted(move |_| hint));
        let begin = Instant::now();
        let client = server.retried(breaker(LENIENT), retry);
        assert_eq!(client.oneshot(Ask::FailFirst(2)).await.unwrap(), 200);
        let took = begin.elapsed();
        assert!(took >= least && took <= most, "{hint:?}: {took:?}");
    }
}

/// Polly, options: numbers out of range are errors. Here a delay of zero is an error as well, because all callers would
/// come back together.
#[test]
fn invalid_numbers_of_a_retry_are_errors() {
    let config = RetryConfig::new();
    for bad in [
        config.tries(0),
        config.within(Duration::ZERO),
        config.backoff(Backoff::new().first(Duration::ZERO)),
        config.backoff(Backoff::new().longest(Duration::ZERO)),
        config.backoff(Backoff::new().factor(0)),
    ] {
        assert!(bad.check().is_err(), "{bad:?}");
    }
    assert!(config.tries(1).check().is_ok());
    assert!(config.tries(u32::MAX).check().is_ok());
}

/// Polly, retry: discarded results are disposed of before the next attempt, the returned one is not. Here a response is
/// dropped as soon as the next attempt waits for its own: had the breaker rejected that attempt, the earlier response
/// would have been returned.
#[tokio::test(start_paused = true)]
async fn responses_that_are_discarded_are_dropped_once_the_next_try_is_under_way() {
    static ALIVE: AtomicUsize = AtomicUsize::new(0);
    static TRIES: AtomicUsize = AtomicUsize::new(0);
    struct Body;
    impl Drop for Body {
        fn drop(&mut self) {
            ALIVE.fetch_sub(1, Relaxed);
        }
    }
    #[derive(Clone, Copy)]
    struct Again;
    impl RetryPolicy<(), Response<Body>, Infallible> for Again {
        fn may_repeat(&self, (): &()) -> bool {
            true
        }
        fn classify(&self, result: &Result<Response<Body>, Infallible>) -> Outcome {
            HttpClassifier::new().response(result.as_ref().unwrap())
        }
    }
    let client = ServiceBuilder::new()
        .layer(RetryLayer::new(QUICK, budget(), Again))
        .layer(BreakerLayer::new(breaker(LENIENT)).report(HttpClassifier::new()))
        .service(service_fn(|()| async {
            assert!(ALIVE.load(Relaxed) <= 1);
            tokio::task::yield_now().await;
            assert_eq!(ALIVE.fetch_add(1, Relaxed), 0, "one response at a time");
            let is_last = TRIES.fetch_add(1, Relaxed) == 2;
            let status = if is_last { 200 } else { 500 };
            Ok(Response::builder().status(status).body(Body).unwrap())
        }));
    let response = client.oneshot(()).await.unwrap();
    assert_eq!((response.status().as_u16(), ALIVE.load(Relaxed)), (200, 1));
}

/// Polly, timeout: a call that takes too long is cut off with an error; a timely result or error is passed on; without
/// a limit nothing is cut off.
#[tokio::test(start_paused = true)]
async fn a_time_limit_cuts_off_longer_calls_and_nothing_else() {
    for (limit, ask, answer) in [
        (SECOND, Ask::Take(just_before(SECOND)), "in time"),
        (SECOND, Ask::Take(SECOND), "in time"),
        (SECOND, Ask::Take(SECOND + MS), "timed out"),
        (SECOND, Ask::Hang, "timed out"),
        (SECOND, Ask::Fail, "failed"),
        (Duration::ZERO, Ask::Answer, "in time"),
        (Duration::ZERO, Ask::Hang, "timed out"),
        (Duration::MAX, Ask::Take(86_400 * SECOND), "in time"),
    ] {
        let server = Server::default();
        let begin = Instant::now();
        let limited = TimeLimitLayer::new(limit).layer(server.clone());
        let seen = match limited.oneshot(ask).await {
            Ok(_) => "in time",
            Err(Timed::TimedOut) => "timed out",
            Err(Timed::Failed(_)) => "failed",
        };
        assert_eq!(seen, answer, "{ask:?} within {limit:?}");
        if seen == "timed out" {
            sleep(60 * SECOND).await;
            assert_eq!(server.answered(), 0, "the call was dropped");
        } else {
            assert!(begin.elapsed() <= limit.max(MS));
        }
    }
}

/// Polly, timeout: the caller's own cancellation is not a timeout. Here, below the breaker, a timeout counts and a
/// cancellation does not.
#[tokio::test(start_paused = true)]
async fn a_timeout_counts_as_a_failure_and_a_cancelled_call_does_not() {
    let breaker = breaker(RULES);
    let guarded = ServiceBuilder::new()
        .layer(BreakerLayer::new(breaker))
        .layer(TimeLimitLayer::new(SECOND))
        .service(Server::default());
    for _ in 0..3 {
        let request = guarded.clone().oneshot(Ask::Hang);
        assert!(timeout(SECOND / 2, request).await.is_err());
    }
    assert_eq!(breaker.snapshot().failures(), 0);
    for _ in 0..2 {
        let error = guarded.clone().oneshot(Ask::Hang).await.unwrap_err();
        assert!(matches!(error, ServiceError::Failed(Timed::TimedOut)));
    }
    assert_eq!(breaker.state(), State::Open);
}

/// Polly, telemetry: each attempt is reported. Here the breaker's observer sees each try, including the last one.
#[tokio::test(start_paused = true)]
async fn the_observer_sees_each_try() {
    let breaker = Breaker::builder(LENIENT, TokioClock)
        .observer(Diary::default())
        .build();
    let breaker: &'static _ = Box::leak(Box::new(breaker));
    let client = ServiceBuilder::new()
        .layer(RetryLayer::new(QUICK, budget(), always))
        .layer(BreakerLayer::new(breaker))
        .service(Server::default());
    assert!(client.clone().oneshot(Ask::FailFirst(2)).await.is_ok());
    let seen = [Event::Failed, Event::Failed, Event::Succeeded];
    assert_eq!(breaker.observer().read(), seen);
}
