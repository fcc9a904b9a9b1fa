// SPDX-License-Identifier: MIT OR Apache-2.0
//! Observers of tries that failed, and of the events that followed.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use atomic_breaker_server::RetryEvent::{
    self, Cancelled, NoTime, NoToken, NoTryLeft, NotRepeatable, Recovered, Rejected, Sent,
};
use atomic_breaker_tower::{
    Backoff, Config, Failure, OnRetry, Outcome, RetryBudget, RetryConfig, RetryLayer,
    RetryObserver, TryEvent,
};
use tokio::time::timeout;
use tower::ServiceExt;

use crate::server::Request::{self, Append, Read};
use crate::server::{Answer, Judged, LENIENT, Server, always, fail, hinted};
use crate::{MS, SECOND, budget, budget_of};

const CONFIG: RetryConfig = RetryConfig::new();

/// The events of an observer.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<(Request, TryEvent)>>>);

impl RetryObserver<Request> for Seen {
    fn event(&self, key: &Request, event: &TryEvent) {
        self.0.lock().unwrap().push((*key, *event));
    }
}

impl Seen {
    fn all(&self) -> Vec<(Request, TryEvent)> {
        self.0.lock().unwrap().clone()
    }

    /// The numbers of the tries, and what followed.
    fn events(&self) -> Vec<(u32, RetryEvent)> {
        let all = self.all().into_iter();
        all.map(|(_, event)| (event.number, event.event)).collect()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as requests are")]
fn itself(request: &Request) -> Request {
    *request
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as requests are")]
fn reads(request: &Request) -> bool {
    *request == Read
}

#[tokio::test(start_paused = true)]
async fn each_failed_try_is_told_with_its_number_its_pause_and_the_tokens_left() {
    let (server, budget, seen) = (Server::failing(LENIENT, 2), budget(), Seen::default());
    let layer = RetryLayer::new(CONFIG, budget, always).observer(itself, seen.clone());
    assert!(server.client(layer).oneshot(Read).await.is_ok());
    let [first, second, third] = seen.all().try_into().unwrap();
    let calls = server.calls();
    for (number, (key, event)) in [first, second].into_iter().enumerate() {
        assert_eq!((key, event.event), (Read, Sent));
        assert_eq!(event.number as usize, number + 1);
        assert_eq!(event.outcome, Failure::new().into());
        let paused = calls[number + 1] - calls[number];
        assert!(
            paused >= event.pause && paused < event.pause + 2 * MS,
            "{paused:?}"
        );
        assert_eq!((event.hint, event.waits), (None, 0));
        assert_eq!(event.millitokens.unwrap() / 1_000, 99 - number as u32);
    }
    let (_, event) = third;
    assert_eq!((event.number, event.event), (3, Recovered));
    assert_eq!(
        (event.outcome, event.pause),
        (Outcome::Success, Duration::ZERO)
    );
}

#[tokio::test(start_paused = true)]
async fn why_there_was_no_further_try() {
    let expected = [
        (
            CONFIG,
            Read,
            100,
            vec![(1, Sent), (2, Sent), (3, NoTryLeft)],
        ),
        (CONFIG, Append, 100, vec![(1, NotRepeatable)]),
        (CONFIG, Read, 1, vec![(1, Sent), (2, NoToken)]),
        (
            CONFIG.within(Duration::from_nanos(1)),
            Read,
            100,
            vec![(1, NoTime)],
        ),
        // Retries are not wanted.
        (CONFIG.tries(1), Read, 100, vec![]),
    ];
    for (config, request, tokens, expected) in expected {
        let (server, budget) = (Server::failing(LENIENT, usize::MAX), budget_of(tokens));
        let seen = Seen::default();
        let layer = RetryLayer::new(config, budget, reads).observer(itself, seen.clone());
        assert!(server.client(layer).oneshot(request).await.is_err());
        assert_eq!(seen.events(), expected);
        assert_eq!(counted(budget), expected.len());
    }
}

/// As many as were counted.
fn counted(budget: &RetryBudget) -> usize {
    let counts = budget.counts();
    let all = RetryEvent::ALL.into_iter();
    all.map(|event| counts.of(event) as usize).sum()
}

#[tokio::test(start_paused = true)]
async fn a_retry_that_the_breaker_rejects_and_one_whose_caller_leaves() {
    let rules = Config::new().consecutive_failures(1).open_for(60 * SECOND);
    let (server, seen) = (Server::failing(rules, usize::MAX), Seen::default());
    let layer = RetryLayer::new(CONFIG, budget(), always).observer(itself, seen.clone());
    assert!(server.client(layer).oneshot(Read).await.is_err());
    assert_eq!(seen.events(), [(1, Rejected)]);

    let (server, seen) = (Server::failing(LENIENT, usize::MAX), Seen::default());
    let long = CONFIG.backoff(Backoff::new().first(3_600 * SECOND).longest(3_600 * SECOND));
    let layer = RetryLayer::new(long.within(Duration::MAX), budget(), always);
    let layer = layer.observer(itself, seen.clone());
    assert!(
        timeout(MS, server.client(layer).oneshot(Read))
            .await
            .is_err()
    );
    assert_eq!(seen.events(), [(1, Cancelled)]);
}

/// Its pause is that which the server asked for, and the wait for the breaker that the same answer opened.
#[tokio::test(start_paused = true)]
async fn a_hint_and_the_wait_for_the_breaker_are_told() {
    let rules = Config::new().consecutive_failures(1).open_for(5 * SECOND);
    let (server, seen) = (Server::failing(rules, 1), Seen::default());
    let policy = hinted(|_| Some(2 * SECOND));
    let layer = RetryLayer::new(CONFIG, budget(), policy).observer(itself, seen.clone());
    assert!(server.client(layer).oneshot(Read).await.is_ok());
    let (_, event) = seen.all()[0];
    assert_eq!(
        (event.event, event.hint, event.waits),
        (Sent, Some(2 * SECOND), 1)
    );
    // It begins a little after the breaker has opened.
    assert!(
        event.pause > 4 * SECOND && event.pause < 6 * SECOND,
        "{:?}",
        event.pause
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_ignored_is_told_if_the_server_says_when_to_try_again() {
    for (hint, expected) in [
        (None, vec![]),
        (Some(SECOND), vec![(1, Sent), (2, Sent), (3, NoTryLeft)]),
    ] {
        let (server, seen) = (Server::failing(LENIENT, usize::MAX), Seen::default());
        let policy = Judged(|_: &Answer| Outcome::Ignored, move |_: &Answer| hint);
        let layer = RetryLayer::new(CONFIG, budget(), policy).observer(itself, seen.clone());
        assert!(server.client(layer).oneshot(Read).await.is_err());
        assert_eq!(seen.events(), expected);
        assert!(
            seen.all()
                .iter()
                .all(|(_, event)| event.outcome == Outcome::Ignored)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn closures_pairs_options_and_pointers_observe_and_nothing_does_not() {
    let (one, two) = (Seen::default(), Seen::default());
    let noted = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&noted);
    let closure = OnRetry(move |_: &Request, event: &TryEvent| {
        log.lock().unwrap().push(event.to_string());
    });
    let nobody: Option<Seen> = None;
    assert!(!RetryObserver::<Request>::is_listening(&(
        (),
        nobody.clone()
    )));
    let observer = (
        (closure, Arc::new(one.clone())),
        (Some(two.clone()), nobody),
    );
    let layer = RetryLayer::new(CONFIG.tries(2), budget(), always);
    let server = Server::new(LENIENT, |_| fail());
    let client = server.client(layer.observer(itself, observer));
    assert!(client.oneshot(Read).await.is_err());
    assert_eq!(one.events(), [(1, Sent), (2, NoTryLeft)]);
    assert_eq!(two.all(), one.all());
    let noted = noted.lock().unwrap();
    assert!(
        noted[0].starts_with("try 1, a failure: sent again after "),
        "{noted:?}"
    );
    assert_eq!(noted[1], "try 2, a failure: no try left, 99 tokens left");
}
