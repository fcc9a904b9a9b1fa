//! One breaker with the information that servers need beyond its state.

mod held;
#[cfg(feature = "tokio")]
mod wait;

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use atomic_breaker::{AnyBreaker, AnyError, Rejected};

use crate::loss::SharedFailure;
use crate::parts::run;
use crate::{
    AdmitShared, Enforcement, LastFailureCell, OneBreaker, Rejection, Report, ServiceError,
    call_reported,
};

pub use held::ResourcePermit;

/// One breaker, the failure that opened it, and whether it is enforced. [`breaker`](Self::breaker) gives access to the
/// breaker itself, for snapshots and commands; calls made through that ignore shadow mode and the last failure.
///
/// ```
/// use atomic_breaker_server::{AnyPermit, Config, Outcome, Resource, breaker};
///
/// static PAYMENTS: Resource = Resource::new(breaker(Config::new()));
///
/// let permit = PAYMENTS.acquire()?;
/// // The call.
/// permit.report(Outcome::Success);
/// # Ok::<(), atomic_breaker_server::Rejection>(())
/// ```
#[derive(Debug, Default)]
pub struct Resource<B = crate::Breaker> {
    breaker: B,
    last_failure: LastFailureCell,
    shared_failure: SharedFailure,
    enforcement: Enforcement,
}

impl<B> Resource<B> {
    /// Wraps a breaker.
    pub const fn new(breaker: B) -> Self {
        Self {
            breaker,
            last_failure: LastFailureCell::new(),
            shared_failure: SharedFailure::new(),
            enforcement: Enforcement::new(),
        }
    }

    /// The breaker itself: for its state, snapshots and commands, and to wait until it is ready.
    pub const fn breaker(&self) -> &B {
        &self.breaker
    }

    /// The failure that last opened the breaker. It is kept as history when the breaker closes: [`LastFailure::at`]
    /// says when it happened. It is forgotten if a report without words opens the breaker; it is kept if a command
    /// does, but then rejections do not name it.
    ///
    /// [`LastFailure::at`]: super::LastFailure::at
    pub const fn last_failure(&self) -> &LastFailureCell {
        &self.last_failure
    }

    /// The share of rejections that are enforced: shadow mode.
    pub const fn enforcement(&self) -> &Enforcement {
        &self.enforcement
    }
}

/// A call that bypassed the resource would ignore shadow mode and the words of a failure, so this cannot happen by
/// mistake. This compiles:
///
/// ```
/// use atomic_breaker_server::{Config, Resource, breaker};
///
/// let server = Resource::new(breaker(Config::new()));
/// let _permit = server.acquire()?.failing_when_dropped();
/// # Ok::<(), atomic_breaker_server::Rejection>(())
/// ```
///
/// and this does not:
///
/// ```compile_fail,E0599
/// use atomic_breaker_server::{Config, Resource, breaker};
///
/// let server = Resource::new(breaker(Config::new()));
/// let _attempt = server.attempt()?;
/// # Ok::<(), atomic_breaker_server::Rejected>(())
/// ```
///
/// ```compile_fail,E0277
/// use atomic_breaker_server::{Config, Permit, Resource, breaker};
///
/// let server = Resource::new(breaker(Config::new()));
/// let _permit = Permit::acquire(&server);
/// ```
#[cfg(doctest)]
struct NoWayAround;

impl<B: AnyBreaker> Resource<B> {
    /// Asks for the right to one call. From an `Arc`, [`ResourcePermit::acquire`] gives an owned one.
    pub fn acquire(&self) -> Result<ResourcePermit<&Self>, Rejection> {
        ResourcePermit::acquire(self)
    }

    /// Rejects a call, with the failure that is the reason, or lets it pass in shadow mode.
    #[cold]
    fn reject(&self, rejected: Rejected, random: impl FnOnce(&B) -> u32) -> Result<(), Rejection> {
        if !self.enforcement.is_enforced(|| random(&self.breaker)) {
            return Ok(());
        }
        let breaker = self.breaker.as_breaker();
        let last_failure = self.last_failure.of_rejection(breaker, rejected);
        Err(Rejection::new(rejected, last_failure))
    }

    /// Runs an operation unless the breaker rejects it. `Err` is a failure of weight 1, whose text is kept if it
    /// opens the breaker; a panic counts as one.
    pub fn call<V, E: fmt::Display>(
        &self,
        operation: impl FnOnce() -> Result<V, E>,
    ) -> Result<V, ServiceError<E>> {
        self.call_with(&AnyError, operation)
    }

    /// [`call`](Self::call) with another [report](Report) of the result.
    pub fn call_with<'a, V, E, K: Report<V, E>>(
        &'a self,
        report: &K,
        operation: impl FnOnce() -> Result<V, E>,
    ) -> Result<K::Output<ResourcePermit<&'a Self>>, ServiceError<E>> {
        let permit = self.acquire()?;
        run(permit, report, operation)
    }

    /// [`call`](Self::call) for futures, with any runtime or none. Dropping the future cancels the call; put a time
    /// limit inside. For another report, use [`call_reported`](crate::call_reported).
    pub async fn call_async<V, E, F>(
        &self,
        operation: impl FnOnce() -> F,
    ) -> Result<V, ServiceError<E>>
    where
        E: fmt::Display,
        F: Future<Output = Result<V, E>>,
    {
        call_reported(self, &AnyError, operation).await
    }
}

/// A handle that always leads to the same [`Resource`]: a reference, an `Arc`, or a type of your own that dereferences to
/// one.
pub trait AnyResource: Deref<Target = Resource<Self::Breaker>> {
    /// The breaker within.
    type Breaker: AnyBreaker;
}

impl<H: Deref<Target = Resource<B>>, B: AnyBreaker> AnyResource for H {
    type Breaker = B;
}

impl<Q: ?Sized, B: AnyBreaker> AdmitShared<Q> for Resource<B> {
    type ByRef<'a>
        = ResourcePermit<&'a Self>
    where
        Self: 'a;
    type ByArc = ResourcePermit<Arc<Self>>;

    #[inline]
    fn admit_by_ref<'a>(&'a self, _: &Q) -> Result<ResourcePermit<&'a Self>, Rejection> {
        ResourcePermit::acquire(self)
    }

    #[inline]
    fn admit_by_arc(self: &Arc<Self>, _: &Q) -> Result<ResourcePermit<Arc<Self>>, Rejection> {
        ResourcePermit::acquire(Arc::clone(self))
    }
}

impl<B: AnyBreaker> OneBreaker for Resource<B> {
    type Breaker = B;

    fn one_breaker(&self) -> &B {
        &self.breaker
    }
}
