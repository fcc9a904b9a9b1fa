// SPDX-License-Identifier: MIT OR Apache-2.0
//! Histories beside the reference: those of `tests/sequences`, with the fuzzer's bytes in place of random numbers.

#[path = "../../tests/sequences/any.rs"]
mod any;
#[path = "../../tests/sequences/event.rs"]
mod event;
#[path = "../../tests/sequences/pair.rs"]
mod pair;
#[path = "../../tests/sequences/passing.rs"]
mod passing;
#[path = "../../tests/sequences/rules.rs"]
mod rules;

use atomic_breaker::LastCalls;
use atomic_breaker::word::{AtomicU32, AtomicU64, Ticks, Word};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use tests::reference::Grain;

use pair::{Memory, Pair};
use rules::{Kind, rule_sets};

/// The shortest input that is worth a history: rules, a time and some events.
const LEAST: usize = 64;

/// Of a 64-bit word; the first byte says by which kind of rules.
pub(crate) fn wide(bytes: &[u8]) {
    let word = AtomicU64::new(0);
    let Some((kind, bytes)) = bytes.split_first() else {
        return;
    };
    match kind % 3 {
        0 => play(word, (), Grain::WIDE, Kind::Plain, bytes),
        1 => play(word, (), Grain::WIDE, Kind::WithJitter, bytes),
        _ => {
            let memory = LastCalls::over(AtomicU64::new(0));
            play(word, memory, Grain::WIDE, Kind::WithRatio(59), bytes);
        }
    }
}

/// Of a 32-bit word; the first byte says with which ticks and by which kind of rules.
pub(crate) fn narrow(bytes: &[u8]) {
    let Some((first, bytes)) = bytes.split_first() else {
        return;
    };
    match first % 3 {
        0 => narrow_of::<0>(first / 3, bytes),
        1 => narrow_of::<6>(first / 3, bytes),
        _ => narrow_of::<16>(first / 3, bytes),
    }
}

fn narrow_of<const N: u32>(kind: u8, bytes: &[u8]) {
    let word = Ticks::<_, N>(AtomicU32::new(0));
    let grain = Grain::narrow(1 << N);
    match kind % 3 {
        0 => play(word, (), grain, Kind::Plain, bytes),
        1 => play(word, (), grain, Kind::WithJitter, bytes),
        _ => {
            let memory = LastCalls::over(AtomicU32::new(0));
            play(word, memory, grain, Kind::WithRatio(27), bytes);
        }
    }
}

fn play<W: Word>(word: W, memory: impl Memory, grain: Grain, kind: Kind, bytes: &[u8]) {
    if bytes.len() < LEAST {
        return;
    }
    let rng = TestRng::from_seed(RngAlgorithm::PassThrough, bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let guard = if size_of::<W::Bits>() == 4 {
        64
    } else {
        1 << 16
    };
    let start = proptest::num::u32::ANY;
    let history = (rule_sets(grain, kind), start, event::events(guard));
    // The bytes may ask for what no strategy gives.
    let Ok(history) = history.new_tree(&mut runner) else {
        return;
    };
    let (rules, start, events) = history.current();
    let mut pair = Pair::new(word, memory, &rules, start).expect("rules that fit");
    for event in events {
        if let Err(failed) = pair.step(event) {
            panic!("{failed}, at {event:?}");
        }
    }
}
