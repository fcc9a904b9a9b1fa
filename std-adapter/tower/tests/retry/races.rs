// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every interleaving of two callers that the C11 memory model allows, by loom, over the shipped code.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use atomic_breaker_server::word::Word;
use atomic_breaker_tower::{BudgetConfig, RetryBudget};
use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A word of loom's. The turnstile makes every two accesses conflict, so that loom tries all their orders:
/// `tests/tests/races/memory.rs` says why.
#[derive(Default)]
struct LoomWord {
    word: AtomicU64,
    turnstile: AtomicU32,
}

impl Word for LoomWord {
    type Bits = u64;

    fn load(&self, order: Ordering) -> u64 {
        self.turnstile.fetch_add(1, Ordering::Relaxed);
        self.word.load(order)
    }

    fn compare_exchange_weak(
        &self,
        current: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64> {
        self.turnstile.fetch_add(1, Ordering::Relaxed);
        self.word.compare_exchange(current, new, success, failure)
    }
}

type Modelled = RetryBudget<LoomWord>;

/// The retries that two threads made, and what was left, in thousandths: all that may come out.
fn outcomes(
    spent: u32,
    first: fn(&Modelled) -> u32,
    second: fn(&Modelled) -> u32,
) -> HashSet<(u32, u32)> {
    let seen = Arc::new(Mutex::new(HashSet::new()));
    let results = Arc::clone(&seen);
    loom::model(move || {
        let config = BudgetConfig::new().max_tokens(2).tokens_per_second(1);
        let budget = RetryBudget::over(LoomWord::default(), config);
        for _ in 0..spent {
            assert!(budget.withdraw_at(10));
        }
        let budget = loom::sync::Arc::new(budget);
        let other = loom::sync::Arc::clone(&budget);
        let thread = loom::thread::spawn(move || second(&other));
        let retries = first(&budget) + thread.join().unwrap();
        let left = budget.millitokens_at(10);
        results.lock().unwrap().insert((retries, left));
    });
    Arc::try_unwrap(seen).unwrap().into_inner().unwrap()
}

fn withdraw(budget: &Modelled) -> u32 {
    u32::from(budget.withdraw_at(10))
}

fn deposit(budget: &Modelled) -> u32 {
    budget.deposit();
    0
}

#[test]
fn the_last_token_is_taken_once() {
    assert_eq!(outcomes(1, withdraw, withdraw), HashSet::from([(1, 0)]));
    assert_eq!(outcomes(0, withdraw, withdraw), HashSet::from([(2, 0)]));
    assert_eq!(outcomes(2, withdraw, withdraw), HashSet::from([(0, 0)]));
}

#[test]
fn no_deposit_is_lost_and_none_is_seen_twice() {
    assert_eq!(outcomes(2, deposit, deposit), HashSet::from([(0, 400)]));
    // Full when the deposit looks, or no longer.
    assert_eq!(
        outcomes(0, withdraw, deposit),
        HashSet::from([(1, 1_000), (1, 1_200)])
    );
    let five = |budget: &Modelled| (0..5).map(|_| deposit(budget)).sum();
    assert_eq!(
        outcomes(2, withdraw, five),
        HashSet::from([(0, 1_000), (1, 0)])
    );
}

#[test]
fn the_refill_of_a_second_is_given_once() {
    let second = |budget: &Modelled| u32::from(budget.withdraw_at(1_010));
    assert_eq!(outcomes(2, second, second), HashSet::from([(1, 0)]));
    // One reads the clock late, and crosses the other.
    let behind = |budget: &Modelled| u32::from(budget.withdraw_at(1_009));
    assert_eq!(outcomes(2, second, behind), HashSet::from([(1, 0)]));
}

/// The control: a budget that loads and then stores gives the last token away twice, and the model sees it.
#[test]
fn the_model_is_not_blind() {
    let worst = Arc::new(Mutex::new(0));
    let seen = Arc::clone(&worst);
    loom::model(move || {
        let word = loom::sync::Arc::new(AtomicU64::new(1));
        let take = |word: &AtomicU64| match word.load(Ordering::Relaxed) {
            0 => 0,
            left => {
                word.store(left - 1, Ordering::Relaxed);
                1
            }
        };
        let other = loom::sync::Arc::clone(&word);
        let thread = loom::thread::spawn(move || take(&other));
        let taken = take(&word) + thread.join().unwrap();
        let mut seen = seen.lock().unwrap();
        *seen = taken.max(*seen);
    });
    assert_eq!(*worst.lock().unwrap(), 2);
}
