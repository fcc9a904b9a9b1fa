// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cases that tests of one caller do not meet: a word that another caller has changed since it was read, words and
//! permits that no breaker has made.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use atomic_breaker::word::{AtomicU64, CriticalSectionWord, Retained, Word};
use atomic_breaker::{Breaker, Config, Failure, LastCalls, ManualClock, Ratio, State, Token};

const RULES: Config = Config::new().consecutive_failures(3);

/// A word of which another caller makes something else before the next exchanges.
struct Meddled {
    word: AtomicU64,
    other: u64,
    exchanges: AtomicU32,
}

impl Word for Meddled {
    type Bits = u64;

    fn load(&self, order: Ordering) -> u64 {
        Word::load(&self.word, order)
    }

    fn compare_exchange_weak(
        &self,
        current: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64> {
        let meddles = |left: u32| left.checked_sub(1);
        let order = Ordering::Relaxed;
        if self.exchanges.fetch_update(order, order, meddles).is_ok() {
            self.word.store(self.other, order);
        }
        Word::compare_exchange_weak(&self.word, current, new, success, failure)
    }
}

#[test]
fn a_success_that_is_overtaken_by_a_trip_changes_nothing() {
    let clock = ManualClock::new();
    let other = Breaker::over(AtomicU64::new(0), RULES, &clock);
    other.trip();
    let word = Meddled {
        word: AtomicU64::new(0),
        other: other.to_bits(),
        exchanges: AtomicU32::new(0),
    };
    let breaker = Breaker::over(word, RULES, &clock);
    breaker.acquire().unwrap().failure();
    let permit = breaker.acquire().unwrap();
    breaker.word().exchanges.store(1, Ordering::Relaxed);
    assert_eq!(permit.success(), None);
    assert_eq!(breaker.to_bits(), other.to_bits());
}

/// As random bits may be, or those of another version.
#[test]
fn a_failure_that_meets_a_word_of_no_breaker_heals_it() {
    let clock = ManualClock::new();
    let half = Ratio::percent(50).of_last(10);
    let rules = RULES.failure_ratio(half);
    let over = |bits| {
        let word = AtomicU64::new(bits);
        let tally = LastCalls::over(AtomicU64::new(0));
        Breaker::builder(rules, &clock)
            .word(word)
            .tally(tally)
            .build()
    };
    let closed = (0..64).map(|bit| over(1 << bit));
    let closed = closed.filter(|it| it.state() == State::Closed && it.check().is_err());
    let mut count = 0;
    for breaker in closed {
        breaker.resume(Token::from_raw(0, 0)).failure();
        assert_eq!(breaker.check(), Ok(()), "{:#x}", breaker.to_bits());
        count += 1;
    }
    assert!(count > 20, "each bit of the time: {count}");
}

/// All calls of its own epoch are forgotten with it.
#[test]
fn a_success_from_before_a_reset_is_not_remembered() {
    let clock = ManualClock::new();
    let rules = RULES.failure_ratio(Ratio::percent(50).of_last(10));
    let breaker = Breaker::builder(rules, &clock)
        .tally(LastCalls::over(AtomicU64::new(0)))
        .build();
    let late = breaker.acquire().unwrap();
    breaker.trip();
    breaker.reset();
    assert_eq!(late.success(), None);
    assert_eq!(breaker.tally().seen_and_failed(), (0, 0));
    breaker.acquire().unwrap().success();
    assert_eq!(breaker.tally().seen_and_failed(), (1, 0));
}

#[test]
fn a_demand_of_a_permit_that_nobody_granted_changes_nothing() {
    let clock = ManualClock::new();
    let breaker = Breaker::over(AtomicU64::new(0), RULES, &clock);
    breaker.trip();
    let before = breaker.to_bits();
    let demand = Failure::tripping_for(Duration::from_secs(30));
    for bits in [u64::MAX, u64::MAX - 1] {
        assert_eq!(
            breaker.resume(Token::from_raw(bits, 0)).report(demand),
            None
        );
        assert_eq!(breaker.to_bits(), before);
    }
}

#[test]
fn a_window_without_a_failure_sleeps_without_a_change() {
    let clock = ManualClock::starting_at(70_000);
    let rules = Config::new().failures_within(2, Duration::from_secs(5));
    let breaker = Breaker::over(AtomicU64::new(0), rules, &clock);
    assert_eq!(breaker.restore_after(Duration::from_secs(1)), Ok(None));
    assert_eq!(breaker.to_bits(), 0);
}

#[test]
fn a_lost_exchange_behind_a_critical_section_finds_what_is_there() {
    assert_eq!(CriticalSectionWord::default().load(Ordering::Relaxed), 0);
    let word = CriticalSectionWord::from(7);
    let [order, relaxed] = [Ordering::AcqRel, Ordering::Relaxed];
    assert_eq!(word.compare_exchange_weak(6, 8, order, relaxed), Err(7));
    assert_eq!(word.load(relaxed), 7);
}

#[test]
fn the_word_of_retained_memory_is_there_without_its_mark() {
    let kept = Retained::over(AtomicU64::new(5));
    assert_eq!(Word::load(kept.word(), Ordering::Relaxed), 5);
}
