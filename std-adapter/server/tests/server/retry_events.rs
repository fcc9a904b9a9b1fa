// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tries that failed: names and counts.

use std::collections::HashSet;

use atomic_breaker_server::{RetryCounts, RetryEvent};

#[test]
fn each_event_has_a_name_of_its_own_which_is_its_text() {
    let names: HashSet<_> = RetryEvent::ALL.iter().map(|event| event.name()).collect();
    assert_eq!(names.len(), RetryEvent::ALL.len());
    for event in RetryEvent::ALL {
        assert_eq!(event.to_string(), event.name());
        assert!(!event.name().is_empty());
    }
}

#[test]
fn counts_are_those_of_each_event_and_of_several_budgets_their_sums() {
    let counts = |first| RetryCounts::new(move |event| first + event as u64, first as u32 * 100);
    let (one, other) = (counts(30), counts(20));
    let both: RetryCounts = [one, other].into_iter().sum();
    for (number, event) in (0..).zip(RetryEvent::ALL) {
        assert_eq!(
            (one.of(event), both.of(event)),
            (30 + number, 50 + 2 * number)
        );
    }
    assert_eq!((one.millitokens(), both.millitokens()), (3_000, 2_000));
    let none: RetryCounts = [].into_iter().sum();
    assert_eq!(
        (none.of(RetryEvent::Sent), none.millitokens()),
        (0, u32::MAX)
    );
}
