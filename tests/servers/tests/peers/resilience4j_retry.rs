// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cases of resilience4j: retry, time limiter.

use std::io;
use std::time::Duration;

use atomic_breaker_http::{Backoff, State, Timed};
use atomic_breaker_tower::{BreakerLayer, RetryConfig, RetryLayer, TimeLimitLayer};
use tokio::time::{Instant, sleep};
use tower::{Layer, Service, ServiceBuilder, ServiceExt};

use crate::support::{Ask, LENIENT, MS, RULES, SECOND, Server, breaker, budget};

fn always(_: &Ask) -> bool {
    true
}

/// resilience4j, retry: gives up after its attempts with the last error; each call of a decorated function has its own
/// attempts. There a separate error says that the attempts are used up; here the last result is returned.
#[tokio::test(start_paused = true)]
async fn each_request_has_its_own_tries() {
    let server = Server::default();
    let retry = RetryLayer::new(RetryConfig::new(), budget(), always);
    let client = server.retried(breaker(LENIENT), retry);
    for calls in [3, 6, 9] {
        let error = client.clone().oneshot(Ask::Fail).await.unwrap_err();
        assert_eq!(error.to_string(), "no answer");
        assert_eq!(server.calls(), calls);
    }
    assert!(client.oneshot(Ask::FailFirst(11)).await.is_ok());
    assert_eq!(server.calls(), 12);
}

/// resilience4j, retry: the backoff is respected. (There it may be fixed or random; here it always has full jitter.)
#[tokio::test(start_paused = true)]
async fn the_pauses_lie_between_the_tries() {
    let backoff = Backoff::new().first(SECOND).longest(60 * SECOND).factor(3);
    let config = RetryConfig::new()
        .backoff(backoff)
        .tries(4)
        .within(60 * SECOND);
    let mut longest = [Duration::ZERO; 3];
    for _ in 0..100 {
        let server = Server::default();
        let retry = RetryLayer::new(config, budget(), always);
        let client = server.retried(breaker(LENIENT), retry);
        assert!(client.oneshot(Ask::Fail).await.is_err());
        for (longest, two) in longest.iter_mut().zip(server.called_at().windows(2)) {
            *longest = two[1].duration_since(two[0]).max(*longest);
        }
    }
    for (longest, most) in longest.into_iter().zip([1, 3, 9]) {
        assert!(
            longest > most * SECOND / 2 && longest <= most * SECOND + MS,
            "{longest:?}"
        );
    }
}

/// resilience4j, retry above a circuit breaker: there a rejection is one more error to retry, and uses an attempt. Here
/// it is returned or waited for, never before its time, and costs neither a try nor a token.
#[tokio::test(start_paused = true)]
async fn a_rejection_uses_no_try_and_is_waited_for_where_that_is_asked_for() {
    let (breaker, server, budget) = (breaker(RULES), Server::default(), budget());
    breaker.trip();
    let config = RetryConfig::new().tries(1).within(60 * SECOND);
    let client = server.retried(breaker, RetryLayer::new(config, budget, always));
    let begin = Instant::now();
    assert!(client.oneshot(Ask::Answer).await.is_err());
    assert_eq!(begin.elapsed(), Duration::ZERO);
    let config = config.rejection_waits(1);
    let client = server.retried(breaker, RetryLayer::new(config, budget, always));
    assert!(client.oneshot(Ask::Answer).await.is_ok());
    assert!(server.called_at()[0] - begin >= 10 * SECOND);
    assert_eq!(budget.millitokens(), 100_000);
}

/// resilience4j, time limiter: passes on a timely result or error; a timeout cancels the call and discards its late
/// result. (There is no option here to let the call continue.)
#[tokio::test(start_paused = true)]
async fn a_timeout_cancels_the_call_and_counts_once() {
    let (breaker, server) = (breaker(RULES), Server::default());
    let limited = ServiceBuilder::new()
        .layer(BreakerLayer::new(breaker))
        .layer(TimeLimitLayer::new(SECOND))
        .service(server.clone());
    let call = async |ask| {
        limited
            .clone()
            .oneshot(ask)
            .await
            .map_err(|error| error.failed().unwrap())
    };
    assert_eq!(call(Ask::Take(SECOND / 2)).await.unwrap(), 200);
    let error = call(Ask::Fail).await.unwrap_err();
    assert!(matches!(&error, Timed::Failed(error) if error.to_string() == "no answer"));
    assert_eq!(
        call(Ask::Take(2 * SECOND)).await.unwrap_err().to_string(),
        Timed::<io::Error>::TimedOut.to_string()
    );
    assert_eq!(breaker.state(), State::Open);
    sleep(60 * SECOND).await;
    assert_eq!((server.calls(), server.answered()), (3, 2));
}

/// resilience4j, time limiter: the limit includes waiting for a service that is not ready.
#[tokio::test(start_paused = true)]
async fn the_time_before_a_service_is_ready_counts() {
    let mut limited = TimeLimitLayer::new(SECOND).layer(Server::busy());
    let begin = Instant::now();
    let answer = limited.call(Ask::Answer).await;
    assert!(matches!(answer, Err(Timed::TimedOut)));
    assert_eq!(begin.elapsed(), SECOND);
}
