// SPDX-License-Identifier: MIT OR Apache-2.0
//! The retry budget beside tower's: what it costs a success, and a retry.
//!
//! The budget is reached through a reference that the compiler does not know, as in a service; otherwise a
//! loop of deposits would keep its state in registers.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use atomic_breaker_http::{BudgetConfig, RetryBudget};
use benches::rounds::Case;
use tower::retry::budget::{Budget, TpsBudget};

pub(crate) const FULL: &str = "deposit, full";
pub(crate) const TOWER: &str = "tower's `TpsBudget`, deposit";

pub(crate) fn cases() -> Vec<Case> {
    vec![
        full(),
        spent(),
        retry(),
        tower_deposit(),
        tower_retry(),
        load(),
    ]
}

/// A success of a healthy service.
fn full() -> Case {
    Case::new(FULL, || {
        let budget = RetryBudget::new();
        move |calls| (0..calls).for_each(|_| black_box(&budget).deposit())
    })
}

/// A success after an outage, until the budget is full again.
fn spent() -> Case {
    // A hundredth of a token each, so it holds more than a lap deposits.
    const SLOW: BudgetConfig = BudgetConfig::new().max_tokens(16_777).deposit_percent(1);
    const CALLS: u64 = 500_000;
    Case::new("deposit, after an outage", || {
        let budget = RetryBudget::with(SLOW);
        while budget.withdraw_at(0) {}
        move |calls| (0..calls).for_each(|_| black_box(&budget).deposit())
    })
    .at_most(CALLS)
}

/// A retry and the deposits that pay for it.
fn retry() -> Case {
    Case::new("withdraw and five deposits", || {
        let budget = RetryBudget::new();
        move |calls| {
            (0..calls).for_each(|_| {
                black_box(budget.withdraw());
                (0..5).for_each(|_| budget.deposit());
            });
        }
    })
}

fn tower_deposit() -> Case {
    Case::new(TOWER, || {
        let budget = TpsBudget::new(Duration::from_secs(10), 10, 0.2);
        move |calls| (0..calls).for_each(|_| black_box(&budget).deposit())
    })
}

fn tower_retry() -> Case {
    Case::new("tower's, withdraw and five deposits", || {
        let budget = TpsBudget::new(Duration::from_secs(10), 10, 0.2);
        move |calls| {
            (0..calls).for_each(|_| {
                black_box(budget.withdraw());
                (0..5).for_each(|_| budget.deposit());
            });
        }
    })
}

/// The least there is.
fn load() -> Case {
    Case::new("relaxed load", || {
        let word = AtomicU64::new(0);
        move |calls| {
            (0..calls).for_each(|_| {
                black_box(black_box(&word).load(Ordering::Relaxed));
            });
        }
    })
}
