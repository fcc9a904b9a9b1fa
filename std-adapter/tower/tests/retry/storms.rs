// SPDX-License-Identifier: MIT OR Apache-2.0
//! An outage under load: how many retries the budget lets through.

use atomic_breaker_tower::{RetryBudget, RetryConfig, RetryLayer};
use tokio::task::JoinSet;
use tokio::time::{Instant, advance};
use tower::ServiceExt;

use crate::server::Request::Read;
use crate::server::{LENIENT, Server, always, fail};
use crate::{MS, budget};

#[tokio::test(start_paused = true)]
async fn a_storm_makes_no_more_retries_than_there_are_tokens() {
    let budget: &'static RetryBudget = Box::leak(Box::default());
    let server = Server::failing(LENIENT, usize::MAX);
    let client = server.client(RetryLayer::new(RetryConfig::new(), budget, always));
    let begin = Instant::now();
    let mut requests = JoinSet::new();
    for _ in 0..1_000 {
        requests.spawn(client.clone().oneshot(Read));
    }
    assert!(requests.join_all().await.iter().all(Result::is_err));
    assert!(begin.elapsed() <= 302 * MS);
    // Without a budget: 3,000. It takes less than a second, so no token comes back.
    assert_eq!(server.calls().len(), 1_100);
    assert!(budget.millitokens() < 1_000);
}

#[tokio::test(start_paused = true)]
async fn the_floor_lets_some_through_whatever_happens() {
    let budget: &'static RetryBudget = Box::leak(Box::default());
    let server = Server::failing(LENIENT, usize::MAX);
    let retry = RetryLayer::new(RetryConfig::new().tries(2), budget, always);
    // An hour, with a request every 100 ms and a pause after it.
    let begin = Instant::now();
    for _ in 0..36_000 {
        let _ = server.client(retry).oneshot(Read).await;
        advance(100 * MS).await;
    }
    let retries = server.calls().len() as u64 - 36_000;
    let bound = 100 + begin.elapsed().as_secs();
    assert!(
        retries <= bound && retries + 2 >= bound,
        "{retries} {bound}"
    );
    // A quiet service, with a request every ten seconds, always has a retry.
    for _ in 0..100 {
        advance(10_000 * MS).await;
        let before = server.calls().len();
        let _ = server.client(retry).oneshot(Read).await;
        assert_eq!(server.calls().len(), before + 2);
    }
}

#[tokio::test(start_paused = true)]
async fn with_half_of_the_requests_failing_successes_pay_for_the_retries() {
    let budget = budget();
    let server = Server::new(LENIENT, |call| if call % 2 == 0 { fail() } else { Ok(200) });
    let retry = RetryLayer::new(RetryConfig::new(), budget, always);
    let mut paid = 0;
    for _ in 0..5_000 {
        paid += usize::from(server.client(retry).oneshot(Read).await.is_ok());
    }
    let retries = server.calls().len() - 5_000;
    assert!(
        retries <= 100 + paid / 5,
        "{retries} retries, {paid} successes"
    );
    assert!(retries >= 100 + paid / 5 - 1, "all that was paid for");
}
