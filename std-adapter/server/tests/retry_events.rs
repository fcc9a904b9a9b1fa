// SPDX-License-Identifier: MIT OR Apache-2.0
//! What became of tries that failed, by name.

use std::collections::HashSet;

use atomic_breaker_server::RetryEvent;

#[test]
fn each_event_has_a_name_of_its_own_which_is_its_text() {
    let names: HashSet<_> = RetryEvent::ALL.iter().map(|event| event.name()).collect();
    assert_eq!(names.len(), RetryEvent::ALL.len());
    for event in RetryEvent::ALL {
        assert_eq!(event.to_string(), event.name());
        assert!(!event.name().is_empty());
    }
}
