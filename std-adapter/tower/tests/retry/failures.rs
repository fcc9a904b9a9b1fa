// SPDX-License-Identifier: MIT OR Apache-2.0
//! The requests that are tried again after a failure, and those that are not.

use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_tower::{Failure, Outcome, RetryBudget, RetryConfig, RetryLayer, ServiceError};
use tower::{Service, ServiceExt};

use crate::server::Request::{Append, Read};
use crate::server::{Answer, Judged, LENIENT, Request, Server, always, fail, hinted, judged};
use crate::{MS, SECOND, budget, budget_of};

const CONFIG: RetryConfig = RetryConfig::new();

fn by_code(result: &Answer) -> Outcome {
    match result {
        Ok(404) => Outcome::Ignored,
        Ok(code) if *code < 500 => Outcome::Success,
        _ => Failure::new().into(),
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_tried_again_until_it_succeeds() {
    let (server, budget) = (Server::failing(LENIENT, 2), budget());
    let client = server.client(RetryLayer::new(CONFIG, budget, always));
    assert_eq!(client.oneshot(Read).await.unwrap(), 200);
    assert_eq!(server.calls().len(), 3);
    assert_eq!(budget.millitokens(), 98_200);
}

#[tokio::test(start_paused = true)]
async fn the_tries_are_counted() {
    for tries in [1, 2, 3, 7] {
        let (server, budget) = (Server::failing(LENIENT, usize::MAX), budget());
        let retry = RetryLayer::new(CONFIG.tries(tries), budget, always);
        let answer = server.client(retry).oneshot(Read).await;
        assert!(matches!(answer, Err(ServiceError::Failed(_))));
        assert_eq!(server.calls().len(), tries as usize);
        assert_eq!(budget.millitokens() / 1_000, 101 - tries);
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_must_not_be_sent_twice_is_not() {
    let (server, budget) = (Server::failing(LENIENT, usize::MAX), budget());
    let retry = RetryLayer::new(CONFIG, budget, |request: &Request| *request == Read);
    let client = server.client(retry);
    assert!(client.clone().oneshot(Append).await.is_err());
    assert_eq!(server.calls().len(), 1);
    assert_eq!(budget.millitokens(), 100_000);
    assert!(client.oneshot(Read).await.is_err());
    assert_eq!(server.calls().len(), 4);
}

/// The classifier of the breaker, as it is.
#[tokio::test(start_paused = true)]
async fn a_response_may_be_a_failure_and_an_error_may_be_ignored() {
    let budget = budget_of(10);
    assert!(budget.withdraw());
    let retry = RetryLayer::new(CONFIG, budget, judged(by_code));
    for (answer, calls, left) in [
        (200, 1, 9_200),
        (404, 1, 9_200),
        (503, 3, 7_200),
        (204, 1, 7_400),
    ] {
        let server = Server::new(LENIENT, move |_| Ok(answer));
        assert_eq!(server.client(retry).oneshot(Read).await.unwrap(), answer);
        assert_eq!(server.calls().len(), calls);
        assert_eq!(budget.millitokens(), left);
    }
}

#[tokio::test(start_paused = true)]
async fn a_hint_delays_the_retry_of_its_caller() {
    let hints = [None, Some(2 * SECOND), Some(Duration::ZERO)];
    for hint in hints {
        let server = Server::new(LENIENT, |call| Ok(if call == 0 { 429 } else { 200 }));
        let retry = RetryLayer::new(
            CONFIG,
            budget(),
            Judged(
                |result: &Answer| match result {
                    Ok(200) => Outcome::Success,
                    _ => Failure::new().into(),
                },
                move |result: &Answer| hint.filter(|_| matches!(result, Ok(429))),
            ),
        );
        assert_eq!(server.client(retry).oneshot(Read).await.unwrap(), 200);
        let calls = server.calls();
        let (pause, hint) = (calls[1] - calls[0], hint.unwrap_or_default());
        assert!(pause >= hint && pause <= hint + 101 * MS, "{pause:?}");
    }
}

/// A 429 concerns one tenant, so it says nothing to the breaker, and yet it names a time.
#[tokio::test(start_paused = true)]
async fn an_ignored_result_is_tried_again_when_the_server_says() {
    for (hint, calls) in [(None, 1), (Some(2 * SECOND), 2), (Some(Duration::MAX), 1)] {
        let server = Server::new(LENIENT, |call| Ok(if call == 0 { 429 } else { 200 }));
        let budget = budget();
        let retry = RetryLayer::new(
            CONFIG,
            budget,
            Judged(
                |result: &Answer| match result {
                    Ok(429) => Outcome::Ignored,
                    _ => Outcome::Success,
                },
                move |result: &Answer| hint.filter(|_| matches!(result, Ok(429))),
            ),
        );
        let answer = server.client(retry).oneshot(Read).await.unwrap();
        assert_eq!(answer, if calls == 2 { 200 } else { 429 });
        let made = server.calls();
        assert_eq!(made.len(), calls, "{hint:?}");
        if calls == 2 {
            assert!(made[1] - made[0] >= 2 * SECOND);
            assert_eq!(
                budget.millitokens(),
                99_200,
                "a token, and a fifth of one back"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn with_a_hint_without_end_the_response_is_returned_at_once_and_costs_nothing() {
    for hint in [10 * SECOND, Duration::from_nanos(u64::MAX), Duration::MAX] {
        let (server, budget) = (Server::failing(LENIENT, usize::MAX), budget());
        let retry = RetryLayer::new(CONFIG, budget, hinted(move |_| Some(hint)));
        let begin = tokio::time::Instant::now();
        assert!(server.client(retry).oneshot(Read).await.is_err());
        assert_eq!((begin.elapsed(), server.calls().len()), (Duration::ZERO, 1));
        assert_eq!(budget.millitokens(), 100_000);
    }
}

/// A service clones its layer for each request; what is left of one must not reach the next.
#[tokio::test(start_paused = true)]
async fn a_service_that_is_used_for_days_begins_each_request_afresh() {
    let server = Server::new(LENIENT, |call| if call % 3 == 2 { Ok(200) } else { fail() });
    let mut client = server.client(RetryLayer::new(CONFIG, budget(), always));
    for day in 1..=30 {
        let ready = client.ready().await.unwrap();
        assert_eq!(ready.call(Read).await.unwrap(), 200);
        assert_eq!(server.calls().len(), 3 * day);
        tokio::time::advance(86_400 * SECOND).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_can_be_spawned() {
    let server = Server::failing(LENIENT, 1);
    let client = server.client(RetryLayer::new(CONFIG, budget(), always));
    let answer = tokio::spawn(client.oneshot(Read)).await.unwrap();
    assert_eq!(answer.unwrap(), 200);
}

/// A classifier that panics takes the request along and nothing else.
#[tokio::test(start_paused = true)]
async fn a_panic_in_a_classifier_leaves_the_service_usable() {
    let server = Server::new(LENIENT, |call| if call == 0 { fail() } else { Ok(200) });
    let retry = RetryLayer::new(
        CONFIG,
        budget(),
        judged(|result| match result {
            Ok(_) => Outcome::Success,
            Err(error) => panic!("on purpose: {error}"),
        }),
    );
    let client = server.client(retry);
    assert!(
        tokio::spawn(client.clone().oneshot(Read))
            .await
            .unwrap_err()
            .is_panic()
    );
    assert_eq!(client.oneshot(Read).await.unwrap(), 200);
}

#[tokio::test(start_paused = true)]
async fn a_budget_may_be_in_an_arc() {
    let budget = Arc::new(RetryBudget::new());
    let server = Server::failing(LENIENT, 1);
    let client = server.client(RetryLayer::new(CONFIG, Arc::clone(&budget), always));
    assert_eq!(client.oneshot(Read).await.unwrap(), 200);
    assert_eq!(Arc::strong_count(&budget), 1, "nobody keeps it");
    assert_eq!(budget.millitokens() / 1_000, 99);
}
