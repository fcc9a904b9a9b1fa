// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random histories through the header and a C compiler against the reference: 100,000, none may differ; and every misuse.
//!
//! The events, the rules and the passing of time are those of the tests of the core (`tests/tests/sequences`). Only what
//! acts on the word is C; what the word says is read through the core.

#![allow(
    dead_code,
    reason = "of the shared files, what only breakers with memory need"
)]

// With it comes what `build.rs` has compiled.
use c_tests as _;

#[path = "../../tests/sequences/any.rs"]
mod any;
#[path = "../../tests/sequences/event.rs"]
mod event;
#[path = "../../tests/sequences/passing.rs"]
mod passing;
#[path = "../../tests/sequences/rules.rs"]
mod rules;
#[path = "../../tests/sequences/seed.rs"]
mod seed;

mod acting;
mod given;
mod misuse;
mod pair;
mod record;
mod settings;
mod through;

use std::cell::RefCell;
use std::collections::HashMap;

use atomic_breaker::word::{AtomicU32, AtomicU64, Word};
use proptest::prelude::*;
use tests::reference::Grain;

use event::events;
use pair::Pair;
use rules::{Kind, rule_sets};
use through::Side;

/// Plays this many histories.
fn check<W: Word<Bits: Side<Word = W>> + Default>(
    cases: u32,
    kind: Kind,
    grain: Grain,
    guard: i64,
) {
    let happened = RefCell::new(HashMap::<String, usize>::new());
    let histories = (rule_sets(grain, kind), any::<u32>(), events(guard));
    let name = format!("through C, {kind:?}, {} bits", 8 * size_of::<W>());
    seed::check(&name, cases, &histories, |(rules, start, events)| {
        let mut pair = Pair::<W, ()>::new(&rules, start).map_err(TestCaseError::fail)?;
        events.iter().try_for_each(|event| pair.step(*event))?;
        for (name, times) in pair.seen {
            *happened.borrow_mut().entry(name).or_default() += times;
        }
        Ok(())
    });
    // Histories in which too little happens find nothing.
    let happened = happened.into_inner();
    for name in [
        "FailureLimit",
        "TripDemanded",
        "RetryAfter",
        "OpenTimeOver",
        "ProbeFailed",
        "ProbeCancelled",
        "ProbeLost",
        "ProbesSucceeded",
        "TrafficReturned",
        "Manual",
        "Restored",
        "trips that are kept",
        "a hint that was weighed",
        "a row that lasted",
    ] {
        let least = match name {
            "a hint that was weighed" | "a row that lasted" => cases / 100,
            _ => cases / 40,
        };
        let times = happened.get(name).copied().unwrap_or_default();
        assert!(times as u32 >= least, "{kind:?}: {name} {times} times");
    }
    println!("{cases} histories, {name}: {happened:#?}");
}

#[test]
fn a_history_through_c_on_the_64_bit_word_is_the_references() {
    check::<AtomicU64>(30_000, Kind::Plain, Grain::WIDE, 1 << 16);
}

#[test]
fn a_history_through_c_on_the_32_bit_word_is_the_references() {
    check::<AtomicU32>(40_000, Kind::Plain, Grain::narrow(64), 64);
}

#[test]
fn a_history_through_c_with_jitter_on_the_64_bit_word_stays_within_the_references_bounds() {
    check::<AtomicU64>(15_000, Kind::WithJitter, Grain::WIDE, 1 << 16);
}

#[test]
fn a_history_through_c_with_jitter_on_the_32_bit_word_stays_within_the_references_bounds() {
    check::<AtomicU32>(15_000, Kind::WithJitter, Grain::narrow(64), 64);
}
