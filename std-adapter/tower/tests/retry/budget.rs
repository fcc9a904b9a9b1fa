// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tokens.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use atomic_breaker_server::{RetryCounts, RetryEvent, word::AtomicU64};
use atomic_breaker_tower::{BudgetConfig, RetryBudget, RetryBudgets};

use crate::budget_of;

const NO_REFILL: BudgetConfig = BudgetConfig::new().tokens_per_second(0);
const YEAR_MS: u64 = 365 * 86_400_000;

fn withdrawals_at(budget: &RetryBudget, now_ms: u64) -> u32 {
    let mut count = 0;
    while budget.withdraw_at(now_ms) {
        count += 1;
    }
    count
}

#[test]
fn a_new_budget_is_full_and_ends() {
    let budget = budget_of(100);
    assert!(budget.millitokens_at(7) == 100_000);
    assert_eq!(withdrawals_at(budget, 7), 100);
    assert!(budget.millitokens_at(7) < 1_000);
    for deposits in 1..=5 {
        assert!(!budget.withdraw_at(7));
        budget.deposit();
        assert_eq!(budget.millitokens_at(7), 200 * deposits);
    }
    assert_eq!(withdrawals_at(budget, 7), 1);
    // Never more than full.
    for _ in 0..1_000 {
        budget.deposit();
        budget.give_back();
    }
    assert_eq!(budget.millitokens_at(7), 100_000);
    assert_eq!(withdrawals_at(budget, 7), 100);
}

#[test]
fn it_can_be_as_large_as_it_says() {
    let config = NO_REFILL.max_tokens(16_777).deposit_percent(1);
    let budget = RetryBudget::with(config);
    assert_eq!(withdrawals_at(&budget, u64::MAX), 16_777);
    (0..100).for_each(|_| budget.deposit());
    assert_eq!(withdrawals_at(&budget, u64::MAX), 1);
}

#[test]
fn numbers_that_make_no_sense_are_errors_that_say_what_to_do() {
    let error = |config: BudgetConfig| config.check().unwrap_err().to_string();
    let config = BudgetConfig::new();
    assert!(error(config.max_tokens(0)).contains("set at least 1"));
    assert!(error(config.max_tokens(16_778)).contains("lower the maximum"));
    assert!(error(config.deposit_percent(101)).contains("lower the deposit"));
    assert!(error(config.tokens_per_second(101)).contains("lower the refill"));
    assert!(error(NO_REFILL.deposit_percent(0)).contains("set deposit_percent"));
    assert!(config.max_tokens(u32::MAX).check().is_err());
}

#[test]
fn tokens_come_back_with_time() {
    let budget = RetryBudget::with(BudgetConfig::new().tokens_per_second(3).deposit_percent(0));
    let mut now = 1_000;
    assert_eq!(withdrawals_at(&budget, now), 100);
    now += 333;
    assert!(!budget.withdraw_at(now));
    now += 1;
    assert!(budget.withdraw_at(now), "1002 of 1000 thousandths");
    // Nothing is lost by asking often: exactly three a second over a day, give or take the first.
    let mut retries = 0;
    for _ in 0..86_400 * 4 {
        now += 250;
        retries += withdrawals_at(&budget, now);
    }
    assert!(
        (3 * 86_400 - 1..=3 * 86_400).contains(&retries),
        "{retries}"
    );
    // However long nobody asks: no more than full.
    for idle in [u64::from(u32::MAX), YEAR_MS, 17 * YEAR_MS] {
        now += idle;
        assert_eq!(withdrawals_at(&budget, now), 100);
    }
}

#[test]
fn no_reading_of_a_clock_overflows_or_stops_it() {
    let budget = RetryBudget::with(
        BudgetConfig::new()
            .max_tokens(16_777)
            .tokens_per_second(16_777),
    );
    for now in [
        0,
        u64::MAX,
        1 << 39,
        (1 << 40) - 1,
        1 << 40,
        u64::MAX / 2,
        1 << 24,
    ] {
        let _ = budget.millitokens_at(now);
        // Whatever the clock was before: a second for readings that cross, and one to fill up.
        withdrawals_at(&budget, now);
        let next = now.wrapping_add(2_000);
        assert_eq!(budget.millitokens_at(next), 16_777_000, "{now}");
        assert_eq!(withdrawals_at(&budget, next), 16_777);
    }
}

#[test]
fn readings_that_cross_give_nothing_away_and_a_clock_that_is_set_back_stops_nothing() {
    let budget = RetryBudget::with(BudgetConfig::new().max_tokens(10).tokens_per_second(10));
    let mut retries = 0;
    for second in 0..1_000 {
        // One thread is up to a second behind.
        for now in [1_000, 3, 1_000, 500] {
            retries += withdrawals_at(&budget, 10_000 + second * 1_000 + now);
        }
    }
    assert!((9_990..=10_010).contains(&retries), "{retries}");
    // Back by a day, while it is exhausted: nothing for the jump, and it goes on from there.
    let day_ms = 86_400_000;
    let budget = RetryBudget::new();
    assert_eq!(withdrawals_at(&budget, 2 * day_ms), 100);
    assert!(!budget.withdraw_at(day_ms));
    assert_eq!(budget.millitokens_at(day_ms), 0);
    assert!(budget.withdraw_at(day_ms + 1_000));
    assert!(!budget.withdraw_at(day_ms + 1_000));
}

#[test]
fn any_bits_are_a_budget() {
    for bits in [
        0,
        1,
        u64::MAX,
        u64::MAX >> 1,
        0xFF_FFFF,
        1 << 24,
        0xDEAD_BEEF,
    ] {
        let budget = RetryBudget::over(AtomicU64::new(bits), BudgetConfig::new());
        let _ = budget.withdraw_at(5);
        budget.deposit();
        budget.give_back();
        let _ = budget.millitokens_at(u64::MAX);
        let now = 20_000_000;
        withdrawals_at(&budget, now);
        assert_eq!(withdrawals_at(&budget, now + 17_000_000), 100, "{bits:x}");
    }
}

/// Exact under races: threads that deposit and withdraw at once make as many retries as there were tokens.
#[test]
fn threads_make_no_more_retries_than_there_are_tokens() {
    for round in 0..200 {
        let budget = RetryBudget::with(NO_REFILL.max_tokens(50));
        assert_eq!(withdrawals_at(&budget, round), 50);
        let (retries, threads) = (AtomicU32::new(0), 4);
        let barrier = Barrier::new(threads);
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    barrier.wait();
                    for call in 0..100 {
                        budget.deposit();
                        if call % 2 == 0 && budget.withdraw_at(round) {
                            retries.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        let left = budget.millitokens_at(round);
        // 400 deposits of 200 thousandths; fewer than 50 tokens were ever there, so none was lost.
        let used = retries.into_inner() * 1_000 + left;
        let is_exact = used == 80_000;
        assert!(is_exact || (left == 50_000 && used < 80_000), "{used}");
    }
}

#[test]
fn each_key_has_a_budget_of_its_own_and_refused_retries_are_counted() {
    let config = NO_REFILL.max_tokens(3);
    let budgets = RetryBudgets::new(config, 1 << 16).unwrap();
    for _ in 0..10 {
        budgets.of("down").withdraw();
    }
    let refused = |counts: RetryCounts| counts.of(RetryEvent::NoToken);
    assert_eq!(refused(budgets.of("down").counts()), 7);
    assert_eq!(
        (refused(budgets.counts()), budgets.counts().millitokens()),
        (7, 0)
    );
    // Of sixty keys none shares a place with it, but by a chance of one in a thousand.
    let spent = (0..60).filter(|key: &u32| budgets.of(key).millitokens() < 3_000);
    assert!(spent.count() <= 1);
    let one = RetryBudgets::new(config, 1).unwrap();
    assert!(one.of(&1).withdraw());
    assert_eq!(one.of(&2).millitokens() / 1_000, 2);
}

#[test]
fn a_table_of_budgets_that_makes_no_sense_is_an_error() {
    let error = |config, places| RetryBudgets::new(config, places).unwrap_err().to_string();
    let config = BudgetConfig::new();
    assert!(error(config, 0).contains("set about 1000"));
    assert!(error(config, usize::MAX).contains("16777216"));
    assert!(error(config.max_tokens(0), 9).contains("0 tokens"));
}

#[cfg(target_pointer_width = "64")]
#[test]
fn a_place_takes_what_the_table_of_budgets_says() {
    assert_eq!(size_of::<RetryBudget>(), 88);
}
