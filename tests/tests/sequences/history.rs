// SPDX-License-Identifier: MIT OR Apache-2.0
//! Histories on either word have the same results as the reference.
//!
//! The reference knows where the time of the word wraps ([`Grain::wrapping`]), so histories go on past it,
//! and clocks step back by any amount. Permits are lost before their epoch comes round again. Up to three
//! sets of rules replace each other. Where open times are drawn at random, the reference checks that the time
//! drawn lies within its bounds and takes it over.

use std::cell::RefCell;

use atomic_breaker::LastCalls;
use atomic_breaker::word::{AtomicU32, AtomicU64, Ticks, Word};
use proptest::prelude::*;
use tests::reference::{Grain, Rules};

use super::event::{Event, events};
use super::pair::{Memory, Pair, Seen};
use super::rules::{Kind, rule_sets};
use super::seed::check;

type History = (Vec<Rules>, u32, Vec<Event>);

/// Plays a history, and counts what happens in it.
fn play<W: Word, T: Memory>(
    word: W,
    memory: T,
    (rules, start, events): &History,
    seen: &RefCell<Seen>,
) -> Result<(), TestCaseError> {
    let mut pair = Pair::new(word, memory, rules, *start).map_err(TestCaseError::fail)?;
    events.iter().try_for_each(|event| pair.step(*event))?;
    for (name, times) in pair.seen {
        *seen.borrow_mut().entry(name).or_default() += times;
    }
    Ok(())
}

/// Plays this many histories on 64-bit words.
#[track_caller]
fn check_wide<T: Memory>(cases: u32, kind: Kind, memory: impl Fn() -> T) {
    let seen = RefCell::default();
    let rules = rule_sets(Grain::WIDE, kind);
    let histories = (rules, any::<u32>(), events(1 << 16));
    check(
        &format!("{kind:?}, 64 bits"),
        cases,
        &histories,
        |history| play(AtomicU64::new(0), memory(), &history, &seen),
    );
    everything_happened(&seen.into_inner(), kind, cases);
}

/// Plays this many histories on 32-bit words of various ticks.
#[track_caller]
fn check_narrow<T: Memory>(cases: u32, kind: Kind, memory: impl Fn() -> T) {
    let seen = RefCell::default();
    check_ticks::<_, 0>(cases / 5, kind, &memory, &seen);
    check_ticks::<_, 1>(cases / 5, kind, &memory, &seen);
    check_ticks::<_, 6>(cases / 5, kind, &memory, &seen);
    check_ticks::<_, 10>(cases / 5, kind, &memory, &seen);
    check_ticks::<_, 16>(cases / 5, kind, &memory, &seen);
    everything_happened(&seen.into_inner(), kind, cases);
}

#[track_caller]
fn check_ticks<T: Memory, const N: u32>(
    cases: u32,
    kind: Kind,
    memory: &impl Fn() -> T,
    seen: &RefCell<Seen>,
) {
    let rules = rule_sets(Grain::narrow(1 << N), kind);
    let histories = (rules, any::<u32>(), events(64));
    let name = format!("{kind:?}, ticks of 2^{N} ms");
    check(&name, cases, &histories, |history| {
        play(Ticks::<_, N>(AtomicU32::new(0)), memory(), &history, seen)
    });
}

/// Histories in which too little happens find nothing.
#[track_caller]
fn everything_happened(seen: &Seen, kind: Kind, cases: u32) {
    let expected = [
        "FailureLimit",
        "TripDemanded",
        "RetryAfter",
        "late demand",
        "OpenTimeOver",
        "ProbeFailed",
        "ProbeCancelled",
        "ProbeLost",
        "ProbesSucceeded",
        "TrafficReturned",
        "Manual",
        "Restored",
    ];
    let by_ratio = matches!(kind, Kind::WithRatio(_)).then_some("FailureRatio");
    for name in expected.into_iter().chain(by_ratio) {
        let times = seen.get(name).copied().unwrap_or_default();
        assert!(times as u32 >= cases / 40, "{kind:?}: {name} {times} times");
    }
    let states = [
        "closed",
        "open",
        "half-open",
        "returning",
        "forced open",
        "disabled",
    ];
    for state in states {
        let name = format!("other rules while {state}");
        let times = seen.get(&name).copied().unwrap_or_default();
        assert!(
            times as u32 >= cases / 200,
            "{kind:?}: {name} {times} times"
        );
    }
    println!("{kind:?}, {cases} histories: {seen:#?}");
}

#[test]
fn a_history_on_the_64_bit_word_is_the_references() {
    check_wide(12_000, Kind::Plain, || ());
}

#[test]
fn a_history_on_the_32_bit_word_is_the_references() {
    check_narrow(12_000, Kind::Plain, || ());
}

#[test]
fn a_history_with_jitter_on_the_64_bit_word_stays_within_the_references_bounds() {
    check_wide(6_000, Kind::WithJitter, || ());
}

#[test]
fn a_history_with_jitter_on_the_32_bit_word_stays_within_the_references_bounds() {
    check_narrow(6_000, Kind::WithJitter, || ());
}

#[test]
fn a_history_with_a_failure_ratio_on_the_64_bit_word_is_the_references() {
    let memory = || LastCalls::over(AtomicU64::new(0));
    check_wide(8_000, Kind::WithRatio(59), memory);
}

#[test]
fn a_history_with_a_failure_ratio_on_the_32_bit_word_is_the_references() {
    let memory = || LastCalls::over(AtomicU32::new(0));
    check_narrow(8_000, Kind::WithRatio(27), memory);
}
