// SPDX-License-Identifier: MIT OR Apache-2.0
//! The behaviour of retries when the breaker rejects.

use std::time::Duration;

use atomic_breaker_tower::{Config, RetryConfig, RetryLayer, ServiceError, State};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tower::ServiceExt;

use crate::server::Request::Read;
use crate::server::{Request, Server, always, hinted};
use crate::{MS, SECOND, budget};

const RULES: Config = Config::new().consecutive_failures(1).open_for(SECOND);
const WAITS: RetryConfig = RetryConfig::new().rejection_waits(1);
const ONE_TRY: RetryConfig = WAITS.tries(1);

#[tokio::test(start_paused = true)]
async fn a_rejected_request_waits_until_the_breaker_admits_and_no_sooner() {
    for _ in 0..50 {
        let (server, budget) = (Server::failing(RULES, 0), budget());
        server.breaker.trip();
        let begin = Instant::now();
        // It was never sent, so it may be sent even if it must not be sent twice; and it costs no try.
        let retry = RetryLayer::new(ONE_TRY, budget, |_: &Request| false);
        assert_eq!(server.client(retry).oneshot(Read).await.unwrap(), 200);
        let waited = server.calls()[0] - begin;
        assert!(
            waited >= SECOND && waited <= SECOND + 101 * MS,
            "{waited:?}"
        );
        assert_eq!(budget.millitokens(), 100_000);
        assert_eq!(server.breaker.state(), State::Closed);
    }
}

#[tokio::test(start_paused = true)]
async fn unless_asked_to_wait_it_returns_the_rejection_at_once() {
    let server = Server::failing(RULES, 0);
    server.breaker.trip();
    let client = server.client(RetryLayer::new(RetryConfig::new(), budget(), always));
    let begin = Instant::now();
    let answer = client.oneshot(Read).await;
    assert!(matches!(answer, Err(ServiceError::Rejected(_))));
    assert_eq!((begin.elapsed(), server.calls().len()), (Duration::ZERO, 0));
}

#[tokio::test(start_paused = true)]
async fn it_waits_as_often_as_it_may() {
    for waits in [0, 1, 3] {
        let server = Server::failing(RULES, 0);
        server.breaker.trip();
        tokio::time::advance(SECOND).await;
        // Holds the only slot: come back soon, after 100 ms at most.
        let _probe = server.breaker.acquire().unwrap();
        let retry = RetryLayer::new(ONE_TRY.rejection_waits(waits), budget(), always);
        let begin = Instant::now();
        let answer = server.client(retry).oneshot(Read).await;
        assert!(matches!(answer, Err(ServiceError::Rejected(_))));
        let waited = begin.elapsed();
        assert!(
            waited >= waits * 100 * MS && waited <= waits * 201 * MS,
            "{waited:?}"
        );
        assert!(server.calls().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn it_does_not_wait_past_its_deadline_nor_for_an_operator() {
    let server = Server::failing(RULES.open_for(60 * SECOND), 0);
    let client = server.client(RetryLayer::new(WAITS, budget(), always));
    let begin = Instant::now();
    server.breaker.trip();
    let answer = client.clone().oneshot(Read).await;
    let retry_in = answer.unwrap_err().rejected().unwrap().retry_in();
    assert_eq!(retry_in, Some(60 * SECOND));
    server.breaker.force_open();
    assert!(client.oneshot(Read).await.is_err());
    assert_eq!((begin.elapsed(), server.calls().len()), (Duration::ZERO, 0));
}

#[tokio::test(start_paused = true)]
async fn a_retry_that_the_breaker_rejects_goes_on_after_the_wait_and_costs_once() {
    let (server, budget) = (Server::failing(RULES, 1), budget());
    let retry = RetryLayer::new(WAITS.tries(2), budget, always);
    assert_eq!(server.client(retry).oneshot(Read).await.unwrap(), 200);
    let calls = server.calls();
    assert!(calls.len() == 2 && calls[1] - calls[0] >= SECOND);
    assert_eq!(budget.millitokens(), 99_200);
}

#[tokio::test(start_paused = true)]
async fn a_retry_that_is_rejected_for_good_gives_its_token_back() {
    let (server, budget) = (Server::failing(RULES, 1), budget());
    let retry = RetryLayer::new(RetryConfig::new(), budget, always);
    let answer = server.client(retry).oneshot(Read).await;
    assert!(matches!(answer, Err(ServiceError::Failed(_))));
    assert_eq!(server.calls().len(), 1);
    assert_eq!(budget.millitokens(), 100_000);
}

/// The last word of the server is not lost; nor does it look as if nothing had been done.
#[tokio::test(start_paused = true)]
async fn a_rejection_is_returned_only_for_a_request_that_was_never_made() {
    for limit in [1, 2] {
        let server = Server::failing(RULES.consecutive_failures(limit), usize::MAX);
        let config = RetryConfig::new().tries(9);
        let client = server.client(RetryLayer::new(config, budget(), always));
        let made = client.clone().oneshot(Read).await.unwrap_err();
        assert_eq!(made.failed().unwrap().to_string(), "no answer");
        assert_eq!(server.calls().len(), limit as usize);
        let rejected = client.oneshot(Read).await.unwrap_err();
        assert!(rejected.rejected().is_some());
        assert_eq!(server.calls().len(), limit as usize);
    }
}

/// The breaker adds its jitter to what the server asks for.
#[tokio::test(start_paused = true)]
async fn after_a_pause_that_the_server_asked_for_the_breaker_is_waited_for_once() {
    let rules = RULES.open_for(3 * SECOND);
    for (hint, calls) in [(None, 1), (Some(SECOND), 2)] {
        let server = Server::failing(rules, 1);
        let retry = RetryLayer::new(RetryConfig::new(), budget(), hinted(move |_| hint));
        let begin = Instant::now();
        let answer = server.client(retry).oneshot(Read).await;
        assert_eq!(answer.is_ok(), hint.is_some());
        assert_eq!(server.calls().len(), calls);
        assert!(hint.is_none() || begin.elapsed() >= 3 * SECOND);
    }
    // Once: a breaker that is open again then ends the request.
    let server = Server::failing(rules.open_for(2 * SECOND), usize::MAX);
    let retry = RetryLayer::new(
        RetryConfig::new().tries(9),
        budget(),
        hinted(|_| Some(SECOND / 10)),
    );
    let client = server.client(retry);
    let request = tokio::spawn(client.oneshot(Read));
    tokio::time::sleep(SECOND).await;
    server.breaker.trip();
    let answer = request.await.unwrap();
    assert!(matches!(answer, Err(ServiceError::Failed(_))), "{answer:?}");
    assert_eq!(server.calls().len(), 1);
}

/// Those who were rejected together come back spread, so the breaker sees no wall of them.
#[tokio::test(start_paused = true)]
async fn those_who_wait_come_back_spread_and_one_probes() {
    let server = Server::that_takes(50 * MS, RULES, |_| Ok(200));
    server.breaker.trip();
    let client = server.client(RetryLayer::new(ONE_TRY, budget(), always));
    let mut requests = JoinSet::new();
    for _ in 0..200 {
        requests.spawn(client.clone().oneshot(Read));
    }
    let answered = requests.join_all().await.into_iter().flatten().count();
    let calls = server.calls();
    let early = calls.iter().filter(|&&at| at < calls[0] + 50 * MS).count();
    assert_eq!(early, 1, "one probe, and nobody beside it");
    assert_eq!(calls.len(), answered);
    assert!(
        answered > 50,
        "half of them come after the probe: {answered}"
    );
}
