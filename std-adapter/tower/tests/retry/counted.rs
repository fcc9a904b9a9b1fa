// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts of the tries that failed.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use atomic_breaker_server::RetryEvent::{
    self, Cancelled, NoTime, NoToken, NoTryLeft, NotRepeatable, Recovered, Rejected, Sent,
};
use atomic_breaker_tower::{
    Backoff, BudgetConfig, Config, RetryBudget, RetryConfig, RetryLayer, RetryPolicy,
};
use tokio::time::timeout;
use tower::ServiceExt;

use crate::server::Request::{self, Append, Read};
use crate::server::{LENIENT, Server, always, fail, hinted};
use crate::{MS, SECOND, budget, budget_of};

const CONFIG: RetryConfig = RetryConfig::new();

/// The events that happened, in the order of [`RetryEvent::ALL`].
fn events(budget: &RetryBudget) -> Vec<(RetryEvent, u64)> {
    let counts = budget.counts();
    let all = RetryEvent::ALL
        .into_iter()
        .map(|event| (event, counts.of(event)));
    all.filter(|(_, count)| *count > 0).collect()
}

#[tokio::test(start_paused = true)]
async fn a_success_at_once_counts_nothing() {
    let (server, budget) = (Server::failing(LENIENT, 0), budget());
    let client = server.client(RetryLayer::new(CONFIG, budget, always));
    assert!(client.oneshot(Read).await.is_ok());
    assert_eq!(events(budget), []);
}

#[tokio::test(start_paused = true)]
async fn retries_that_were_sent_and_the_request_they_saved() {
    let (server, budget) = (Server::failing(LENIENT, 2), budget());
    let client = server.client(RetryLayer::new(CONFIG, budget, always));
    assert!(client.oneshot(Read).await.is_ok());
    assert_eq!(events(budget), [(Sent, 2), (Recovered, 1)]);
}

#[tokio::test(start_paused = true)]
async fn why_there_was_no_further_try() {
    let expected = [
        (CONFIG, Read, 100, vec![(Sent, 2), (NoTryLeft, 1)]),
        (CONFIG, Append, 100, vec![(NotRepeatable, 1)]),
        (CONFIG, Read, 1, vec![(Sent, 1), (NoToken, 1)]),
        (CONFIG.within(MS), Read, 100, vec![(NoTime, 1)]),
        // Retries are not wanted.
        (CONFIG.tries(1), Read, 100, vec![]),
    ];
    for (config, request, tokens, expected) in expected {
        let (server, budget) = (Server::failing(LENIENT, usize::MAX), budget_of(tokens));
        let hour = Duration::from_secs(3_600);
        let is_hinted = config.within == MS;
        let policy = RepeatReads(hinted(move |_| is_hinted.then_some(hour)));
        let client = server.client(RetryLayer::new(config, budget, policy));
        assert!(client.oneshot(request).await.is_err());
        assert_eq!(events(budget), expected);
    }
}

/// Repeats reads, and leaves the rest to another policy.
#[derive(Clone, Copy)]
struct RepeatReads<P>(P);

impl<P, T, E> RetryPolicy<Request, T, E> for RepeatReads<P>
where
    P: RetryPolicy<Request, T, E>,
{
    fn may_repeat(&self, request: &Request) -> bool {
        *request == Read
    }

    fn retry_after(&self, result: &Result<T, E>) -> Option<Duration> {
        self.0.retry_after(result)
    }
}

#[tokio::test(start_paused = true)]
async fn a_retry_that_the_breaker_rejects_and_one_whose_caller_leaves() {
    let rules = Config::new().consecutive_failures(1).open_for(60 * SECOND);
    let (server, budget) = (Server::failing(rules, usize::MAX), budget());
    let client = server.client(RetryLayer::new(CONFIG, budget, always));
    assert!(client.oneshot(Read).await.is_err());
    assert_eq!(events(budget), [(Rejected, 1)]);

    let long = CONFIG.backoff(Backoff::new().first(3_600 * SECOND).longest(3_600 * SECOND));
    let budget = crate::budget();
    let server = Server::failing(LENIENT, usize::MAX);
    let client = server.client(RetryLayer::new(long.within(Duration::MAX), budget, always));
    assert!(timeout(MS, client.oneshot(Read)).await.is_err());
    assert_eq!(events(budget), [(Cancelled, 1)]);
}

/// Whatever the server does and whenever callers leave: each failed try is followed by one event.
#[tokio::test(start_paused = true)]
async fn each_failed_try_is_counted_once() {
    static FAILED: AtomicU32 = AtomicU32::new(0);
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    fastrand::seed(seed);
    let config = BudgetConfig::new().max_tokens(50).tokens_per_second(1);
    let budget: &RetryBudget = Box::leak(Box::new(RetryBudget::with(config)));
    let rules = Config::new().consecutive_failures(5).open_for(20 * MS);
    let server = Server::that_takes(MS, rules, |_| {
        let fails = fastrand::u8(..) < 120;
        FAILED.fetch_add(fails.into(), Ordering::Relaxed);
        if fails { fail() } else { Ok(200) }
    });
    let config = CONFIG.within(SECOND).rejection_waits(1);
    let client = server.client(RetryLayer::new(config, budget, |read: &Request| {
        *read == Read
    }));
    let mut requests = tokio::task::JoinSet::new();
    for _ in 0..2_000 {
        let request = if fastrand::bool() { Read } else { Append };
        let call = client.clone().oneshot(request);
        if fastrand::u8(..) < 50 {
            // While it pauses: a try that is dropped has not failed.
            requests.spawn(async move { drop(timeout(fastrand::u32(2..300) * MS, call).await) });
        } else {
            requests.spawn(async move { drop(call.await) });
        }
        tokio::time::sleep(3 * MS).await;
    }
    requests.join_all().await;
    let counts = budget.counts();
    let ends = RetryEvent::ALL
        .into_iter()
        .filter(|event| *event != Recovered);
    let ends: u64 = ends.map(|event| counts.of(event)).sum();
    let failed = u64::from(FAILED.load(Ordering::Relaxed));
    // A caller that leaves at the very moment at which its try fails never learns of that.
    assert!(
        failed > 500 && ends <= failed && ends + 30 > failed,
        "{ends} of {failed}: {counts:?}"
    );
    for event in [Sent, Recovered, NoTryLeft, NotRepeatable, Rejected] {
        assert!(counts.of(event) > 0, "{event}: {counts:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_policy_marks_each_retry_with_its_number() {
    #[derive(Clone, Copy)]
    struct Marks;

    impl<T, E> RetryPolicy<u32, T, E> for Marks {
        fn may_repeat(&self, _: &u32) -> bool {
            true
        }
        fn before_retry(&self, request: &mut u32, retry: u32) {
            *request += retry;
        }
    }

    let service = tower::service_fn(|request: u32| async move {
        let sent = u16::try_from(request).unwrap();
        if request < 102 {
            Err(std::io::Error::other("down"))
        } else {
            Ok(sent)
        }
    });
    let rules = Config::new().consecutive_failures(60_000);
    let breaker = Box::leak(Box::new(atomic_breaker_tower::breaker(rules)));
    let client = tower::ServiceBuilder::new()
        .layer(RetryLayer::new(CONFIG, budget(), Marks))
        .layer(atomic_breaker_tower::BreakerLayer::new(&*breaker))
        .service(service);
    assert_eq!(client.oneshot(100).await.unwrap(), 102, "the second retry");
}
