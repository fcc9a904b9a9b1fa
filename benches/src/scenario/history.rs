// SPDX-License-Identifier: MIT OR Apache-2.0
//! The calls that count while closed, and the way they add up.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{RULES, fails, passes};
use crate::contestant::{Caller, Contestant};

/// Are panics failures?
pub(super) fn panics<C: Contestant>() -> String {
    let breaker = C::new(RULES);
    let counted = (0..10).position(|_| {
        let call = AssertUnwindSafe(|| breaker.caller().call(|| panic!("a call that panics")));
        // A rejected call does not panic.
        catch_unwind(call).is_ok()
    });
    match counted {
        Some(panics) => format!("{panics} trip it"),
        None if passes(&breaker) => "not counted".into(),
        None => "10 trip it".into(),
    }
}

/// Counts the failures in a row that it takes after many successes.
pub(super) fn after_many_successes<C: Contestant>() -> String {
    let breaker = C::new(RULES);
    for _ in 0..100_000 {
        assert!(passes(&breaker), "{} rejected a success", C::NAME);
    }
    breaker.trip().to_string()
}

/// Do failures with many successes between them add up?
pub(super) fn between_successes<C: Contestant>() -> String {
    const LONG: usize = 100;
    let breaker = C::new(RULES);
    for failures in 1..=LONG {
        if !fails(&breaker) {
            return format!("{} trip it", failures - 1);
        }
        for _ in 0..1_000 {
            if !passes(&breaker) {
                return format!("{failures} trip it");
            }
        }
    }
    format!("never trips ({LONG} tried)")
}
