//! Handles that lead to a guard, and through it to its parts.

use std::ops::Deref;

use atomic_breaker::Clock;

use http::Request;

use super::{ClientGuard, Ending, Hosts};
use crate::{AnyBudget, BudgetOf, InFlightCounts, Origin, RetryBudgets};

/// A handle that leads to a [`ClientGuard`]: a `&'static` reference or an `Arc`.
pub trait AnyClientGuard: Deref<Target = ClientGuard<Self::Clock, Self::Ending>> + Clone {
    /// The clock of the guard.
    type Clock: Clock;
    /// When its tries are reported.
    type Ending: Ending;
}

impl<H, C, R> AnyClientGuard for H
where
    H: Deref<Target = ClientGuard<C, R>> + Clone,
    C: Clock,
    R: Ending,
{
    type Clock = C;
    type Ending = R;
}

/// Leads to the breakers.
#[derive(Clone, Debug)]
pub struct HostsOf<H>(pub(super) H);

impl<H: AnyClientGuard> Deref for HostsOf<H> {
    type Target = Hosts<H::Clock>;

    #[inline]
    fn deref(&self) -> &Hosts<H::Clock> {
        self.0.hosts()
    }
}

/// Leads to the retry budgets.
#[derive(Clone, Debug)]
pub struct BudgetsOf<H>(pub(super) H);

impl<H: AnyClientGuard> Deref for BudgetsOf<H> {
    type Target = RetryBudgets;

    fn deref(&self) -> &RetryBudgets {
        &self.0.budgets
    }
}

/// Leads to the counts of tries in flight, of a guard that has them.
#[derive(Clone, Debug)]
pub(super) struct InFlightOf<H>(pub(super) H);

impl<H: AnyClientGuard> Deref for InFlightOf<H> {
    type Target = InFlightCounts;

    fn deref(&self) -> &InFlightCounts {
        let counts = self.0.in_flight.as_ref();
        counts.expect("only made for a guard that counts")
    }
}

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
