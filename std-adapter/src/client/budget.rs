//! The retry budget of a request's host.

use http::Request;

use crate::http::Origin;
use crate::retry::{AnyBudget, RetryBudget, RetryBudgets};

/// Finds the budget by the same host as the breaker.
#[derive(Clone, Debug)]
pub struct BudgetOfHost {
    budgets: &'static RetryBudgets,
    /// The host of requests that name none.
    origin: Option<Origin>,
}

impl BudgetOfHost {
    pub(super) const fn new(budgets: &'static RetryBudgets, origin: Option<Origin>) -> Self {
        Self { budgets, origin }
    }
}

impl<B> AnyBudget<Request<B>> for BudgetOfHost {
    type Found = &'static RetryBudget;

    fn budget_of(&self, request: &Request<B>) -> &'static RetryBudget {
        let named = Origin::of_request(request).ok();
        match named.or_else(|| self.origin.clone()) {
            Some(origin) => self.budgets.of(&origin),
            // Such a request is rejected, so any budget will do.
            None => self.budgets.of(&()),
        }
    }
}
