// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts of the tries that failed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use atomic_breaker_observe::{Metrics, OfRetries};
use atomic_breaker_server::{RetryCounts, RetryEvent};

use crate::support::Page;

fn counts(sent: u64, no_token: u64, millitokens: u32) -> RetryCounts {
    let count = |event| match event {
        RetryEvent::Sent => sent,
        RetryEvent::NoToken => no_token,
        _ => 0,
    };
    RetryCounts::new(count, millitokens)
}

fn published(name: &str, outcome: &str) -> Option<u64> {
    Page::now().get("retries", name, &[("outcome", outcome)])
}

/// The tokens as they are rendered.
fn tokens(name: &str) -> String {
    let page = Page::now().0;
    let series = format!("circuit_breaker_retry_tokens{{circuit_breaker_name=\"{name}\"}} ");
    let value = page.lines().find_map(|line| line.strip_prefix(&*series));
    value.unwrap().to_owned()
}

#[test]
fn every_outcome_is_published_at_zero_and_rises_with_the_budget() {
    let sent = Arc::new(AtomicU64::new(0));
    let read = Arc::clone(&sent);
    let metrics = Metrics::<OfRetries>::new("one budget");
    metrics.watch_retries(move || counts(read.load(Ordering::Relaxed), 0, 1_500));
    for event in RetryEvent::ALL {
        assert_eq!(published("one budget", event.name()), Some(0), "{event}");
    }
    sent.store(7, Ordering::Relaxed);
    assert_eq!(published("one budget", "sent"), Some(7));
    assert_eq!(tokens("one budget"), "1.5");
}

#[test]
fn budgets_of_one_name_are_added_up_and_the_emptiest_shows() {
    let metrics = Metrics::<OfRetries>::new("two budgets");
    metrics.watch_retries(|| counts(3, 1, 9_000));
    Metrics::<OfRetries>::new("two budgets").watch_retries(|| counts(4, 5, 250));
    assert_eq!(published("two budgets", "sent"), Some(7));
    assert_eq!(published("two budgets", "no_token"), Some(6));
    assert_eq!(tokens("two budgets"), "0.25");
}

#[test]
fn a_budget_that_is_gone_stays_counted_and_is_not_asked_again() {
    let budget = Arc::new(());
    let weak = Arc::downgrade(&budget);
    let metrics = Metrics::<OfRetries>::new("gone");
    metrics.watch_retries(move || weak.upgrade().map(|_| counts(3, 0, 5_000)));
    assert_eq!(published("gone", "sent"), Some(3));
    drop(budget);
    assert_eq!(published("gone", "sent"), Some(3));
    assert_eq!(tokens("gone"), "NaN");
    metrics.watch_retries(|| counts(1, 0, 2_000));
    assert_eq!(published("gone", "sent"), Some(4));
    assert_eq!(tokens("gone"), "2");
}

/// A mistake of a program at one place must not blind it everywhere.
#[test]
fn a_budget_that_panics_leaves_the_other_metrics() {
    let works = Arc::new(AtomicU64::new(1));
    let read = Arc::clone(&works);
    let metrics = Metrics::<OfRetries>::new("a budget that panics");
    metrics.watch_retries(move || {
        assert_ne!(read.load(Ordering::Relaxed), 0, "on purpose");
        counts(read.load(Ordering::Relaxed), 0, 1_000)
    });
    Metrics::<OfRetries>::new("b after it").watch_retries(|| counts(2, 0, 1_000));
    for (value, expected) in [(1, 1), (0, 1), (5, 5)] {
        works.store(value, Ordering::Relaxed);
        assert_eq!(published("a budget that panics", "sent"), Some(expected));
        assert_eq!(published("b after it", "sent"), Some(2));
    }
}
