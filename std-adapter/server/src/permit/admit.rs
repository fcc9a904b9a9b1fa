//! Where the permit of a request comes from.

use std::sync::Arc;

use atomic_breaker::{AnyBreaker, AsRules, Breaker, Clock, Observer, Permit, Tally, word::Word};

use super::{AnyPermit, Rejection};

/// Where the permit of a request comes from: one breaker for all requests, or one of many, chosen by a key of the
/// request.
///
/// Implemented for references and `Arc`s of a breaker or of a [`Resource`](crate::Resource), for a [`Key`](crate::Key) of a
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

/// What leads to one breaker for all requests: a breaker or a `Resource`, and references and `Arc`s of these.
/// `InFlightLimit` requires it in addition to [`Admit`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not lead to one breaker for all requests",
    note = "pass a `&'static` reference to, or an `Arc` of, a `Breaker` or a `Resource`; not a `ByKey`, which `InFlightByKey` limits"
)]
pub trait OneBreaker {
    /// The breaker.
    type Breaker: AnyBreaker;

    /// The breaker itself, for inspection.
    fn one_breaker(&self) -> &Self::Breaker;
}

impl<C, W, T, O, R> OneBreaker for Breaker<C, W, T, O, R>
where
    C: Clock,
    W: Word,
    T: Tally,
    O: Observer,
    R: AsRules<W::Bits>,
{
    type Breaker = Self;

    fn one_breaker(&self) -> &Self {
        self
    }
}

impl<S: OneBreaker> OneBreaker for &S {
    type Breaker = S::Breaker;

    fn one_breaker(&self) -> &S::Breaker {
        (**self).one_breaker()
    }
}

impl<S: OneBreaker> OneBreaker for Arc<S> {
    type Breaker = S::Breaker;

    fn one_breaker(&self) -> &S::Breaker {
        (**self).one_breaker()
    }
}
