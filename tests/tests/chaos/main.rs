// SPDX-License-Identifier: MIT OR Apache-2.0
//! Other kinds of words than a plain atomic: one whose exchange usually fails spuriously, which
//! `compare_exchange_weak` may do, and the one behind a critical section. A history is the same with every
//! word, and every loop ends.

mod history;

use std::sync::Barrier;
use std::thread;

use atomic_breaker::word::{
    AtomicU32 as Narrow, AtomicU64 as Wide, Bits, CriticalSectionWord, Word,
};
use atomic_breaker::{Breaker, Cause, Config, ManualClock};

use history::{Notices, configs, history};
use tests::causes;
use tests::words::{Contended, Moody};

#[test]
fn spurious_failures_change_no_history() {
    fn compare<W: Word + From<W::Bits>>(layout: &str) {
        let fresh = || W::from(W::Bits::FRESH);
        let (mut lines, mut succeeded, mut spurious) = (0, 0, 0);
        let mut reported = Vec::new();
        for seed in 1..=50 {
            for (which, config) in configs().into_iter().enumerate() {
                let plain = history(&fresh(), &fresh(), config, seed);
                let word = Moody::over(fresh(), seed);
                let memory = Moody::over(fresh(), !seed);
                let moody = history(&word, &memory, config, seed);
                same(
                    &plain,
                    &moody,
                    &format!("{layout}, config {which}, seed {seed}"),
                );

                lines += plain.len();
                reported.extend(plain.into_iter().filter(|line| line.contains("cause:")));
                succeeded += word.succeeded() + memory.succeeded();
                spurious += word.spurious() + memory.spurious();
            }
        }
        println!(
            "{layout}, seeds 1 to 50: {lines} lines, {} transitions, {succeeded} exchanges, {spurious} \
             failed spuriously",
            reported.len(),
        );
        assert!(spurious > 5 * succeeded, "most exchanges failed");
        // Histories without these causes would show little.
        for cause in causes::all_but([Cause::Restored, Cause::CorruptWord, Cause::SlowRatio]) {
            let of_cause = format!("cause: {cause:?}");
            assert!(
                reported.iter().any(|line| line.contains(&of_cause)),
                "{of_cause}"
            );
        }
    }
    compare::<Wide>("64-bit word");
    compare::<Narrow>("32-bit word");
}

#[test]
fn the_word_in_a_critical_section_has_the_history_of_the_atomic() {
    for seed in 1..=20 {
        for (which, config) in configs().into_iter().enumerate() {
            let atomic = history(&Wide::new(0), &Wide::new(0), config, seed);
            let section = history(
                &CriticalSectionWord::new(),
                &CriticalSectionWord::new(),
                config,
                seed,
            );
            same(&atomic, &section, &format!("config {which}, seed {seed}"));
        }
    }
}

fn same(expected: &[String], got: &[String], where_: &str) {
    for (step, (expected, got)) in expected.iter().zip(got).enumerate() {
        assert_eq!(expected, got, "{where_}, line {step}");
    }
    assert_eq!(expected.len(), got.len(), "{where_}");
}

/// The loop that heals is inside another loop.
#[test]
fn a_corrupt_moody_word_is_healed_once() {
    for seed in 0..200 {
        let notices = Notices::default();
        // Open, yet never tripped.
        let word = Moody::over(Wide::new(1), seed);
        let breaker = Breaker::builder(Config::new(), ManualClock::new())
            .word(&word)
            .observer(&notices)
            .build();
        let _token = breaker.acquire().unwrap().into_token();
        assert_eq!(notices.0.lock().unwrap().len(), 1, "seed {seed}");
        assert_eq!(breaker.snapshot().epoch(), 1, "seed {seed}");
    }
}

/// Four threads count failures together. Returns how many were counted.
fn count_together<W: Word + Sync>(word: &W, each: u16) -> u16 {
    let word = Contended::over(word, 50);
    let limit = u32::from(4 * each) + 1;
    let config = Config::new().consecutive_failures(limit);
    let breaker = Breaker::over(word, config, ManualClock::new());
    let begin = Barrier::new(4);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                begin.wait();
                for _ in 0..each {
                    breaker.acquire().unwrap().failure();
                }
            });
        }
    });
    breaker.snapshot().failures()
}

#[test]
fn threads_that_share_a_moody_word_lose_no_failure() {
    let word = Moody::over(Wide::new(0), 7);
    assert_eq!(count_together(&word, 5_000), 20_000);
    assert_eq!(word.succeeded(), 20_000);
    let word = Moody::over(Narrow::new(0), 7);
    assert_eq!(count_together(&word, 60), 240);
    assert_eq!(word.succeeded(), 240);
}

#[test]
fn threads_that_share_a_word_in_a_critical_section_lose_no_failure() {
    // A section that is too short shows in about one round of two.
    for _ in 0..20 {
        assert_eq!(count_together(&CriticalSectionWord::new(), 15_000), 60_000);
    }
}
