// SPDX-License-Identifier: MIT OR Apache-2.0
//! Retries above a breaker, in paused time: nothing here sleeps.

mod backoff;
mod between;
mod budget;
mod cancelled;
mod counted;
mod deadline;
mod draws;
mod failures;
mod observed;
#[cfg(target_pointer_width = "64")]
mod races;
mod rejections;
mod server;
mod storms;

use std::time::Duration;

use atomic_breaker_tower::{BudgetConfig, RetryBudget};

const SECOND: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);

/// A full budget of 100 tokens that only successes fill, so that tokens can be counted.
fn budget() -> &'static RetryBudget {
    budget_of(100)
}

fn budget_of(tokens: u32) -> &'static RetryBudget {
    let config = BudgetConfig::new().max_tokens(tokens).tokens_per_second(0);
    Box::leak(Box::new(RetryBudget::with(config)))
}
