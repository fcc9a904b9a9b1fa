// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests that are dropped while they pause.

use std::time::Duration;

use atomic_breaker_tower::{Backoff, Config, RetryConfig, RetryLayer, State};
use tokio::time::timeout;
use tower::ServiceExt;

use crate::server::Request::Read;
use crate::server::{LENIENT, Server, always};
use crate::{MS, SECOND, budget};

const FIVE: Duration = Duration::from_secs(5);
const LONG: RetryConfig = RetryConfig::new().backoff(Backoff::new().first(FIVE).longest(FIVE));

#[tokio::test(start_paused = true)]
async fn a_request_that_is_dropped_in_its_pause_gives_its_token_back() {
    let mut dropped = 0;
    for _ in 0..100 {
        let (server, budget) = (Server::failing(LENIENT, usize::MAX), budget());
        let client = server.client(RetryLayer::new(LONG.tries(2), budget, always));
        let is_dropped = timeout(SECOND, client.oneshot(Read)).await.is_err();
        let made = server.calls().len();
        assert_eq!(made, if is_dropped { 1 } else { 2 });
        assert_eq!((budget.millitokens() / 1_000) as usize, 101 - made);
        dropped += usize::from(is_dropped);
    }
    assert!(dropped > 50, "{dropped}");
}

#[tokio::test(start_paused = true)]
async fn so_does_one_that_is_dropped_while_its_retry_waits_for_the_breaker() {
    let rules = Config::new().consecutive_failures(1).open_for(5 * SECOND);
    let (server, budget) = (Server::failing(rules, usize::MAX), budget());
    let config = RetryConfig::new().rejection_waits(1);
    let client = server.client(RetryLayer::new(config, budget, always));
    let request = tokio::spawn(client.oneshot(Read));
    tokio::time::sleep(SECOND).await;
    assert_eq!(
        (server.breaker.state(), budget.millitokens() / 1_000),
        (State::Open, 99)
    );
    request.abort();
    assert!(request.await.unwrap_err().is_cancelled());
    assert_eq!(budget.millitokens(), 100_000);
    // And it left nothing in the breaker.
    tokio::time::advance(5 * SECOND).await;
    assert!(server.breaker.acquire().unwrap().is_probe());
}

#[tokio::test(start_paused = true)]
async fn a_token_is_not_given_back_twice() {
    let (server, budget) = (
        Server::that_takes(SECOND, LENIENT, |_| super::server::fail()),
        budget(),
    );
    assert!(budget.withdraw());
    let client = server.client(RetryLayer::new(RetryConfig::new(), budget, always));
    // Dropped during its second try: that one was made.
    assert!(timeout(1_500 * MS, client.oneshot(Read)).await.is_err());
    assert_eq!(server.calls().len(), 2);
    assert_eq!(budget.millitokens() / 1_000, 98);
}

/// A retry in the wrong hands: the pause cannot begin, and nothing is taken for it.
#[test]
fn without_a_runtime_it_panics_and_no_token_is_lost() {
    let (server, budget) = (Server::failing(LENIENT, usize::MAX), budget());
    let client = server.client(RetryLayer::new(RetryConfig::new(), budget, always));
    let mut request = Box::pin(client.oneshot(Read));
    let polled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        request
            .as_mut()
            .poll(&mut std::task::Context::from_waker(std::task::Waker::noop()))
    }));
    assert!(polled.is_err());
    drop(request);
    assert_eq!(server.calls().len(), 1);
    assert_eq!(budget.millitokens(), 100_000);
}
