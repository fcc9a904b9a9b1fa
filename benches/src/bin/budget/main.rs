//! What a healthy success pays for the budget that stops retry storms, beside tower's.
//!
//! ```console
//! cargo run --release -p benches --bin budget
//! ```
//!
//! Prints Markdown, takes a few seconds, and fails if a deposit into a full budget takes more than 3 ns, or
//! if one of two threads makes less than 0.9 of the deposits of one that is alone, in three runs.

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use atomic_breaker_std::retry::{BudgetConfig, RetryBudget};
use benches::rounds::{Case, Figure, cores, measure};
use benches::table::Table;
use tower::retry::budget::{Budget, TpsBudget};

const ROUNDS: usize = 101;
const RUNS: usize = 3;
const MOST_NS: f64 = 3.0;
const LEAST_SHARE: f64 = 0.9;

fn main() -> ExitCode {
    println!(
        "Nanoseconds as each thread sees them: median of {ROUNDS} interleaved rounds (quartiles).\n"
    );
    // What another program does at the same time only makes it slower: one quiet run is enough.
    for _ in 0..RUNS {
        if is_kept() {
            return ExitCode::SUCCESS;
        }
    }
    ExitCode::FAILURE
}

fn is_kept() -> bool {
    let makes = [full, spent, retry, tower_deposit, tower_retry, load];
    let cases: Vec<Case> = (1..=cores().min(2))
        .flat_map(|threads| makes.map(|make| make().by(threads)))
        .collect();
    let figures = measure(&cases, ROUNDS);
    let (alone, together) = figures.split_at(makes.len());
    let mut table = Table::new(["", "1 thread", "2 threads"]);
    for (line, case) in cases.iter().take(makes.len()).enumerate() {
        let second = together.get(line).map_or("–".into(), Figure::to_string);
        table.row([case.name.clone(), alone[line].to_string(), second]);
    }
    println!("{table}");
    verdict(alone[0], together.first().copied())
}

fn verdict(alone: Figure, together: Option<Figure>) -> bool {
    let share = together.map_or(1.0, |together| alone.median / together.median);
    let is_kept = alone.median <= MOST_NS && share >= LEAST_SHARE;
    println!(
        "A deposit into a full budget: {:.2} ns (at most {MOST_NS}); of two threads each makes {share:.2} of what \
         one makes alone (at least {LEAST_SHARE}): {}.\n",
        alone.median,
        if is_kept { "kept" } else { "NOT KEPT" }
    );
    is_kept
}

/// A success of a healthy service.
fn full() -> Case {
    Case::new("deposit, full", || {
        let budget = RetryBudget::new();
        move |calls| (0..calls).for_each(|_| black_box(&budget).deposit())
    })
}

/// A success after an outage, until the budget is full again.
fn spent() -> Case {
    // A hundredth of a token each: more than a lap makes.
    const SLOW: BudgetConfig = BudgetConfig::new().max_tokens(16_777).deposit_percent(1);
    const CALLS: u64 = 500_000;
    Case::new("deposit, after an outage", || {
        let budget = RetryBudget::with(SLOW);
        while budget.withdraw_at(0) {}
        move |calls| (0..calls).for_each(|_| black_box(&budget).deposit())
    })
    .at_most(CALLS)
}

/// A retry and what pays for it.
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
    Case::new("tower's `TpsBudget`, deposit", || {
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
