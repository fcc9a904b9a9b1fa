//! Where the permit of a request comes from.

use std::sync::Arc;

use atomic_breaker::{AnyBreaker, AsRules, Breaker, Clock, Observer, Permit, Tally, word::Word};

use super::{AnyPermit, Rejection};

/// Where the permit of a request comes from: one breaker for all requests, or one of many, chosen by a key of the
/// request.
///
/// Implemented for references and `Arc`s of a breaker or of what [stands around one](AdmitShared), such as a `Resource`,
/// and for `ByKey` and `OneKey` of a registry. A clone leads to the same breakers.
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

/// What handles lead to: a breaker, a `Resource`, a limit. A reference to it and an `Arc` of it [admit](Admit). Implement
/// this for a type of your own that stands around a breaker.
pub trait AdmitShared<Q: ?Sized> {
    /// The right to one call, through a reference.
    type ByRef<'a>: AnyPermit
    where
        Self: 'a;
    /// The right to one call, through an `Arc`.
    type ByArc: AnyPermit;

    /// [`Admit::admit`] of a reference.
    fn admit_by_ref<'a>(&'a self, request: &Q) -> Result<Self::ByRef<'a>, Rejection>;

    /// [`Admit::admit`] of an `Arc`.
    fn admit_by_arc(self: &Arc<Self>, request: &Q) -> Result<Self::ByArc, Rejection>;
}

impl<'a, Q: ?Sized, S: AdmitShared<Q>> Admit<Q> for &'a S {
    type Permit = S::ByRef<'a>;

    #[inline]
    fn admit(&self, request: &Q) -> Result<Self::Permit, Rejection> {
        (*self).admit_by_ref(request)
    }
}

impl<Q: ?Sized, S: AdmitShared<Q>> Admit<Q> for Arc<S> {
    type Permit = S::ByArc;

    #[inline]
    fn admit(&self, request: &Q) -> Result<Self::Permit, Rejection> {
        self.admit_by_arc(request)
    }
}

impl<Q, C, W, T, O, R> AdmitShared<Q> for Breaker<C, W, T, O, R>
where
    Q: ?Sized,
    C: Clock,
    W: Word,
    T: Tally,
    O: Observer,
    R: AsRules<W::Bits>,
{
    type ByRef<'a>
        = Permit<&'a Self>
    where
        Self: 'a;
    type ByArc = Permit<Arc<Self>>;

    #[inline]
    fn admit_by_ref<'a>(&'a self, _: &Q) -> Result<Permit<&'a Self>, Rejection> {
        Permit::acquire(self).map_err(Rejection::from)
    }

    #[inline]
    fn admit_by_arc(self: &Arc<Self>, _: &Q) -> Result<Permit<Arc<Self>>, Rejection> {
        Permit::acquire(Arc::clone(self)).map_err(Rejection::from)
    }
}

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
