// SPDX-License-Identifier: MIT OR Apache-2.0
//! A breaker with the information that servers need beyond its state.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use atomic_breaker::{
    AnyBreaker, BitsOf, Clock, FailedCall, Failure, Observer, Outcome, Permit, Rejected, State,
    Transition,
};

use crate::enforcement::Enforcement;
use crate::failed::{Words, took};
use crate::guard::{Granted, Grants, Guard, GuardPermit, Kind};
use crate::last_failure::LastFailureCell;
use crate::loss::{Begun, ConnectionId, Losses};
use crate::permit::{Admit, OneBreaker, Rejection, lease_of};
use crate::redact::{too_slow, without_secrets, words};

/// A breaker, the failure that opened it, and whether it is enforced. [`breaker`](Self::breaker) gives access to the
/// breaker itself, for snapshots and commands; calls made through that ignore shadow mode and the last failure.
///
/// ```
/// use atomic_breaker_server::{AnyPermit, Config, Guard, Outcome, Resource, breaker};
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
    losses: Losses,
    enforcement: Enforcement,
}

impl<B> Resource<B> {
    /// Wraps a breaker.
    pub const fn new(breaker: B) -> Self {
        Self {
            breaker,
            last_failure: LastFailureCell::new(),
            losses: Losses::new(),
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
/// use atomic_breaker_server::{Config, Guard, Resource, breaker};
///
/// let server = Resource::new(breaker(Config::new()));
/// let _permit = server.acquire()?;
/// # Ok::<(), atomic_breaker_server::Rejection>(())
/// ```
///
/// and this does not:
///
/// ```compile_fail,E0599
/// use atomic_breaker_server::{Guard, Resource, Token};
///
/// fn bypass(server: &Resource, token: Token) {
///     let _permit = server.resume(token);
/// }
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
    /// Rejects a call, with the failure that is the reason, or lets it pass in shadow mode.
    #[cold]
    fn reject(
        &self,
        rejected: Rejected,
        random: impl Fn() -> u32,
    ) -> Result<Granted<BitsOf<B>>, Rejection> {
        if !self.enforcement.is_enforced(random) {
            return Ok(Granted::unguarded(()));
        }
        let breaker = self.breaker.as_breaker();
        let last_failure = self.last_failure.of_rejection(breaker, rejected);
        Err(Rejection::new(rejected, last_failure))
    }

    /// Keeps why a call opened the breaker that was no failure by itself.
    #[cold]
    fn explain(&self, made: &Transition, started_ms: u32, outcome: Option<Outcome>) {
        let breaker = self.breaker.as_breaker();
        let text = if outcome.is_some() {
            // Only a success that took too long opens the breaker.
            let limit = breaker.config().slow_call_ms;
            let limit = limit.map(|ms| Duration::from_millis(ms.into()));
            too_slow(started_ms, breaker.clock().now_ms(), limit)
        } else {
            "a call hung until it was cancelled".to_owned()
        };
        self.last_failure.set(made, breaker.present(), Some(&text));
    }

    /// Notifies of a failure, and keeps its words if it opened the breaker. If there are none, it keeps none, because
    /// those of an earlier failure would be wrong.
    #[cold]
    fn notify_failed(
        &self,
        granted: Granted<BitsOf<B>>,
        failure: Failure,
        made: Option<Transition>,
        why: Option<impl FnOnce() -> String>,
    ) {
        let breaker = self.breaker.as_breaker();
        let text = Words::new(|| why.map(|why| without_secrets(&words(why))));
        if let Some(made) = made.filter(|made| made.to == State::Open) {
            self.last_failure.set(&made, breaker.present(), text.get());
        }
        let took = || took(granted.started_ms, breaker.clock().now_ms());
        let is_probe = granted.kind == Kind::Probe;
        let failed = FailedCall::new(failure, is_probe, &took, &text);
        breaker.observer().failed(&failed);
    }
}

impl<B: AnyBreaker> Guard for &Resource<B> {}

macro_rules! lead_to_resource {
    ($handle:ty) => {
        impl<B: AnyBreaker> OneBreaker for $handle {
            type Awaited = B;

            fn awaited(&self) -> &B {
                &self.breaker
            }

            fn lease(&self) -> Duration {
                lease_of(&self.breaker)
            }
        }

        impl<Q: ?Sized, B: AnyBreaker> Admit<Q> for $handle {
            type Permit = GuardPermit<Self>;

            #[inline]
            fn admit(&self, _: &Q) -> Result<Self::Permit, Rejection> {
                GuardPermit::acquire(self.clone())
            }
        }
    };
}

lead_to_resource!(&Resource<B>);
lead_to_resource!(Arc<Resource<B>>);

/// References and `Arc`s of a resource.
impl<H: Deref<Target = Resource<B>>, B: AnyBreaker> Grants for H {
    type Key = ();
    type Bits = BitsOf<B>;
    type Place = ();
    type Awaited = B;

    fn key(&self) -> &() {
        &()
    }

    fn awaited(&self) -> &B {
        &self.breaker
    }

    fn is_enforced(&self, _: State, random: impl FnOnce() -> u32) -> bool {
        self.enforcement.is_enforced(random)
    }

    fn random(&self) -> u32 {
        self.breaker.as_breaker().clock().random()
    }

    #[inline]
    fn grant(&self, random: impl Fn() -> u32) -> Result<Granted<BitsOf<B>>, Rejection> {
        match self.breaker.as_breaker().acquire() {
            Ok(permit) => Ok(granted(permit)),
            Err(rejected) => self.reject(rejected, random),
        }
    }

    #[inline]
    fn end(
        &self,
        granted: Granted<BitsOf<B>>,
        outcome: Option<Outcome>,
        why: Option<impl FnOnce() -> String>,
    ) -> Option<Transition> {
        if !granted.is_by_breaker() {
            return None;
        }
        let permit = self.breaker.as_breaker().resume(granted.token());
        let made = match outcome {
            Some(Outcome::Failure(failure)) => {
                let made = permit.report(failure);
                self.notify_failed(granted, failure, made, why);
                return made;
            }
            Some(outcome) => {
                if outcome == Outcome::Success {
                    self.losses.note_answer();
                }
                permit.report(outcome)
            }
            None => permit.cancel(),
        }?;
        if made.to == State::Open {
            self.explain(&made, granted.started_ms, outcome);
        }
        Some(made)
    }

    fn counts_shared(&self, begun: Begun, connection: ConnectionId) -> bool {
        self.losses.counts(Some(begun), connection)
    }

    fn still_counts(&self, granted: Granted<BitsOf<B>>) -> bool {
        let permit = self.breaker.as_breaker().resume(granted.token());
        let counts = permit.still_counts();
        // It is asked, and not dropped.
        let _ = permit.into_token();
        counts
    }

    fn renew(&self, before: Granted<BitsOf<B>>) -> Option<Granted<BitsOf<B>>> {
        let mut permit = self.breaker.as_breaker().resume(before.token());
        let is_current = permit.renew();
        let after = granted(permit);
        is_current.then_some(after)
    }
}

#[inline]
fn granted<B: AnyBreaker>(permit: Permit<B>) -> Granted<BitsOf<B>> {
    Granted::by_breaker(permit.is_probe(), permit.into_token(), ())
}
