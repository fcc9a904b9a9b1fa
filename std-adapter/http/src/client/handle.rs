//! Handles that lead to a guard, and through it to its parts.

use std::ops::Deref;
use std::ptr;

use atomic_breaker::Clock;
use http::Request;

use super::{ClientGuard, Ending, Hosts};
use crate::{AnyBudget, Origin, RetryBudget};

/// A handle that leads to a [`ClientGuard`]: a `&'static` reference or an `Arc`.
pub trait AnyClientGuard: Deref<Target = ClientGuard<Self::Clock, Self::Ending>> + Clone {
    /// The clock of the guard.
    type Clock: Clock;
    /// When its tries are reported.
    type Ending: Ending;

    /// What tells guards apart.
    #[doc(hidden)]
    fn address(&self) -> usize {
        ptr::from_ref::<Self::Target>(self).addr()
    }
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

/// Finds the budget by the same host as the breaker.
#[derive(Clone, Debug)]
pub(super) struct BudgetOfHost<H> {
    guard: H,
    /// The host of requests that name none.
    origin: Option<Origin>,
}

impl<H> BudgetOfHost<H> {
    pub(super) const fn new(guard: H, origin: Option<Origin>) -> Self {
        Self { guard, origin }
    }
}

impl<H: AnyClientGuard> BudgetOfHost<H> {
    pub(super) fn of<B>(&self, request: &Request<B>) -> &RetryBudget {
        self.guard.budgets.at(self.place_of(request))
    }
}

impl<B, H: AnyClientGuard> AnyBudget<Request<B>> for BudgetOfHost<H> {
    /// A request that names no host is rejected, so any budget will do.
    fn place_of(&self, request: &Request<B>) -> usize {
        let named = Origin::of_request(request).ok();
        let origin = named.as_ref().or(self.origin.as_ref());
        origin.map_or(0, |origin| self.guard.budgets.place_of(origin))
    }

    fn at(&self, place: usize) -> &RetryBudget {
        self.guard.budgets.at(place)
    }
}
