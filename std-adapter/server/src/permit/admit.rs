// SPDX-License-Identifier: MIT OR Apache-2.0
//! The source of a request's permit.

use std::sync::Arc;

use atomic_breaker::{AsRules, Breaker, Clock, Observer, Outcome, Permit, Tally, word::Word};

use super::{AnyPermit, Rejection};

/// The source of a request's permit: one breaker for all requests, or one of many, chosen by a key of the request.
///
/// Implemented for references and `Arc`s of a breaker or of a [`Resource`](crate::Resource), for a [`KeyGuard`](crate::KeyGuard) of a
/// registry and for [`ByKey`](crate::ByKey). A clone leads to the same breakers.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not lead to a circuit breaker that outlives the request",
    note = "pass a `&'static Breaker` or an `Arc<Breaker>` (or of a `Resource`); for one breaker per host, a `ByKey`"
)]
pub trait Admit<Q: ?Sized> {
    /// The right to one call.
    type Permit: AnyPermit;

    /// Asks for the right to make this request.
    fn admit(&self, request: &Q) -> Result<Self::Permit, Rejection>;

    /// Reports an outcome for a call that is not made, with words that say why, and asks again for the same request. An
    /// implementation that may choose another breaker for the same request takes that of the permit.
    #[doc(hidden)]
    fn admit_again(
        &self,
        request: &Q,
        permit: Self::Permit,
        outcome: Outcome,
        why: impl FnOnce() -> String,
    ) -> Result<Self::Permit, Rejection> {
        permit.report_because(outcome, why);
        self.admit(request)
    }
}

macro_rules! admit_through_breaker {
    ($handle:ty) => {
        impl<Q, C, W, T, O, R> Admit<Q> for $handle
        where
            Q: ?Sized,
            C: Clock,
            W: Word,
            T: Tally,
            O: Observer,
            R: AsRules<W::Bits>,
        {
            type Permit = Permit<Self>;

            #[inline]
            fn admit(&self, _: &Q) -> Result<Self::Permit, Rejection> {
                Permit::acquire(self.clone()).map_err(Rejection::from)
            }
        }
    };
}

admit_through_breaker!(&Breaker<C, W, T, O, R>);
admit_through_breaker!(Arc<Breaker<C, W, T, O, R>>);
