//! The budget of retries of a request's host.

use http::Request;

use crate::http::Origin;
use crate::retry::{AnyBudget, RetryBudget, RetryBudgets};

/// Finds the budget by the host that the breaker is found by, too.
#[derive(Clone, Debug)]
pub struct BudgetOfHost {
    budgets: &'static RetryBudgets,
    /// Of requests that name none.
    origin: Option<Origin>,
}

impl BudgetOfHost {
    pub(super) const fn new(budgets: &'static RetryBudgets, origin: Option<Origin>) -> Self {
        Self { budgets, origin }
    }

    /// The host of a request, if it names one or there is one for those that name none.
    pub(super) fn host_of<B>(&self, request: &Request<B>) -> Option<Origin> {
        let named = Origin::of_request(request).ok();
        named.or_else(|| self.origin.clone())
    }
}

impl<B> AnyBudget<Request<B>> for BudgetOfHost {
    type Found = &'static RetryBudget;

    fn budget_of(&self, request: &Request<B>) -> &'static RetryBudget {
        match self.host_of(request) {
            Some(origin) => self.budgets.of(&origin),
            // Such a request is rejected, so any budget does.
            None => self.budgets.of(&()),
        }
    }
}
