// SPDX-License-Identifier: MIT OR Apache-2.0
//! Beneath reqwest-retry, with its default strategy.

use std::time::{Duration, SystemTime};

use atomic_breaker_http::{
    Breaker, BreakerMiddleware, Config, Rejection, State, breaker, rejection_of,
};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, Error};
use reqwest_retry::{RetryDecision, RetryPolicy, RetryTransientMiddleware};

use super::server::{Down, reqwest, start};

/// That many retries, without pauses.
struct Retries(u32);

impl RetryPolicy for Retries {
    fn should_retry(&self, _: SystemTime, past: u32) -> RetryDecision {
        if past >= self.0 {
            return RetryDecision::DoNotRetry;
        }
        RetryDecision::Retry {
            execute_after: SystemTime::now(),
        }
    }
}

fn opens_after(failures: u16) -> &'static Breaker {
    Box::leak(Box::new(breaker(
        Config::new().consecutive_failures(failures.into()),
    )))
}

/// The layers in the right order.
fn retrying(breaker: &'static Breaker, retries: u32) -> ClientWithMiddleware {
    let guarded = BreakerMiddleware::new(breaker, reqwest()).time_limit(Duration::from_secs(1));
    ClientBuilder::new(reqwest())
        .with(RetryTransientMiddleware::new_with_policy(Retries(retries)))
        .with(guarded)
        .build()
}

#[tokio::test]
async fn each_try_asks_the_breaker_and_a_rejection_ends_the_retries() {
    let (server, breaker) = (start(), opens_after(3));
    let client = retrying(breaker, 10);
    let error = client.get(server.url("/503")).send().await.unwrap_err();
    assert_eq!(server.connections(), 3, "of 11 that it would have made");
    let rejection = rejection_of(&error).unwrap();
    assert_eq!(rejection.state(), State::Open);

    // On the first try as well: without a retry `RetryError` is a different one.
    let error = client.get(server.url("/")).send().await.unwrap_err();
    assert!(rejection_of(&error).is_some(), "{error:?}");
    let Error::Middleware(error) = error else {
        panic!("{error:?}");
    };
    let found = error
        .chain()
        .find_map(|cause| cause.downcast_ref::<Rejection>());
    assert!(found.is_some(), "as users of anyhow look for it");
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_timeout_of_the_limit_is_tried_again() {
    let (server, breaker) = (start(), opens_after(3));
    let client = retrying(breaker, 1);
    let answer = client.get(server.url("/hangs-at-first")).send().await;
    assert!(answer.unwrap().status().is_success());
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn in_the_other_order_a_row_of_tries_is_one_call() {
    let (server, breaker) = (start(), opens_after(2));
    let retrying = ClientBuilder::new(reqwest())
        .with(RetryTransientMiddleware::new_with_policy(Retries(2)))
        .build();
    let client = ClientBuilder::new(reqwest())
        .with(BreakerMiddleware::new(breaker, retrying))
        .build();
    for state in [State::Closed, State::Open] {
        let answer = client.get(server.url("/503")).send().await.unwrap();
        assert!(answer.status().is_server_error());
        assert_eq!(server.connections(), 3);
        assert_eq!(breaker.state(), state);
    }
    let down = Down::new();
    breaker.reset();
    for _ in 0..2 {
        assert!(client.get(&down.url).send().await.is_err());
    }
    assert_eq!(breaker.state(), State::Open, "it is down all the same");
}
