//! The retry budget of a request's host.

use http::Request;

use super::handle::{AnyClientGuard, BudgetsOf};
use crate::Origin;
use atomic_breaker_tower::{AnyBudget, BudgetOf};

/// Finds the budget by the same host as the breaker.
#[derive(Clone, Debug)]
pub struct BudgetOfHost<H> {
    guard: H,
    /// The host of requests that name none.
    origin: Option<Origin>,
}

impl<H> BudgetOfHost<H> {
    pub(super) const fn new(guard: H, origin: Option<Origin>) -> Self {
        Self { guard, origin }
    }
}

impl<B, H: AnyClientGuard> AnyBudget<Request<B>> for BudgetOfHost<H> {
    type Found = BudgetOf<BudgetsOf<H>>;

    fn budget_of(&self, request: &Request<B>) -> Self::Found {
        let budgets = BudgetsOf(self.guard.clone());
        let named = Origin::of_request(request).ok();
        match named.as_ref().or(self.origin.as_ref()) {
            Some(origin) => BudgetOf::new(budgets, origin),
            // Such a request is rejected, so any budget will do.
            None => BudgetOf::new(budgets, &()),
        }
    }
}
