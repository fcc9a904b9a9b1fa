// SPDX-License-Identifier: MIT OR Apache-2.0
//! Permits of any kind of breaker, and how the response of a call ends one.

use std::fmt::Display;
use std::future::poll_fn;
use std::hash::Hash;
use std::pin::pin;
use std::ptr;

use atomic_breaker::{AnyBreaker, AnyError, Classify, Failure, Outcome, Permit, Transition};

use super::Scope;
use crate::loss::{Begun, ConnectionId, begin_anew_alone, counts_alone, note_answer_alone};
use crate::on_drop::OnDrop;

/// The right to one call of any kind of breaker: one that stands alone, or one in a registry. Dropping it cancels it.
///
/// A permit of your own that stands around another one forwards the required methods, and those that it does not forward
/// say what a permit without them does.
pub trait AnyPermit: Sized {
    /// The key of the breaker in a registry; `()` for a breaker that stands alone.
    type Key: Hash;

    /// The key of the breaker.
    fn key(&self) -> &Self::Key;

    /// Reports how the call ended, for all the reports below. `shared` is the connection whose loss ended the call.
    fn end(
        self,
        outcome: Outcome,
        shared: Option<ConnectionId>,
        why: Option<impl FnOnce() -> String>,
    ) -> Option<Transition>;

    /// The number of trips in a row before this probe, and so the extent of a repair, as in [`Permit::trips`]; 0 if
    /// this call is no probe.
    fn trips(&self) -> u8;

    /// Returns whether this call is a probe.
    fn is_probe(&self) -> bool {
        self.trips() > 0
    }

    /// Returns whether the breaker admitted the call; if not, the call passes in shadow mode and is not reported to it.
    fn is_admitted(&self) -> bool {
        true
    }

    /// Returns whether the breaker's decision is enforced for this call: not in shadow mode, in which the call must end
    /// as it would without a breaker.
    fn is_enforced(&self) -> bool {
        true
    }

    /// Returns whether a report would still count: [`Permit::still_counts`]. By default, whether the breaker
    /// [admitted](Self::is_admitted) the call. For a key of a registry that has no slot it is `true`, as a failure gets it
    /// one, if there is room then.
    fn still_counts(&self) -> bool {
        self.is_admitted()
    }

    /// Starts the permit again if its report would still count: [`Permit::renew`]. The time until then, such as that of an
    /// upload or a repair, is no time of the resource. If this returns `false`, as it does by default, the holder of a
    /// permit for later gives it back and asks for another one.
    fn renew(&mut self) -> bool {
        false
    }

    /// Reports how the call ended. Returns the transition that this caused, if any.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the permit is read where it lies")]
    fn report(self, outcome: Outcome) -> Option<Transition> {
        self.end(outcome, None, None::<fn() -> String>)
    }

    /// [`report`](Self::report) with a few words about the failure, which are only requested if it opens the breaker, where
    /// they are kept if there is a place for them, or if an observer wants to know, such as a log. If they panic, that is
    /// what is kept.
    #[inline]
    fn report_because(self, outcome: Outcome, why: impl FnOnce() -> String) -> Option<Transition> {
        self.end(outcome, None, Some(why))
    }

    /// [`report_because`](Self::report_because) for a failure that ended other calls as well, such as the loss of the
    /// connection they shared: one of the calls that were under way on it counts, and the others are ignored. A call that
    /// begins afterwards and fails counts again. If the connection is [unknown](ConnectionId::UNKNOWN), all calls that were
    /// under way may have shared it.
    ///
    /// All of them count once most calls end this way: if twice in a row the resource answered some calls after such a
    /// failure, but fewer than were lost with it.
    ///
    /// This is exact for a `Resource` and a registry. A breaker alone has only its word to say when a call began
    /// ([`Permit::is_unchanged`]): on an unknown connection, calls that report at the same moment on several threads may
    /// each count, and all of them if the only rule is a failure ratio, which counts outside the word.
    fn report_shared(
        self,
        outcome: Outcome,
        connection: ConnectionId,
        why: impl FnOnce() -> String,
    ) -> Option<Transition> {
        self.end(outcome, Some(connection), Some(why))
    }

    /// Reports how the call ended, and whom that concerns: as [`report_because`](Self::report_because) does, unless the
    /// [scope](Scope) says otherwise.
    fn report_scoped(
        self,
        outcome: Outcome,
        scope: Scope,
        why: impl FnOnce() -> String,
    ) -> Option<Transition> {
        match (scope, outcome) {
            (Scope::Connection(connection), Outcome::Failure(_)) => {
                self.report_shared(outcome, connection, why)
            }
            (Scope::Unprocessed(connection), Outcome::Failure(failure)) => {
                // It says nothing by itself, but counts once for all calls that it ended.
                let failure = if failure == Failure::with_weight(0) {
                    Failure::new()
                } else {
                    failure
                };
                self.report_shared(failure.into(), connection, why)
            }
            // Dropping the permit cancels it.
            (Scope::Caller, Outcome::Failure(_)) => None,
            (Scope::Quota, Outcome::Ignored) if self.is_probe() => self.report(Outcome::Success),
            _ => self.report_because(outcome, why),
        }
    }

    /// Runs an operation, and reports how it ended: a call whose permit may outlive it, if the [`Report`] takes it along,
    /// as the body of a response does. If it panics, the call has failed; dropping the future cancels it.
    ///
    /// ```
    /// use atomic_breaker_server::{AnyError, AnyPermit, Breaker, Config, Permit, ServiceError, breaker};
    /// use std::sync::Arc;
    ///
    /// async fn call(server: &Arc<Breaker>) -> Result<u8, ServiceError<&'static str>> {
    ///     let permit = Permit::acquire(Arc::clone(server)).map_err(|rejected| ServiceError::Rejected(rejected.into()))?;
    ///     // In the place of `AnyError`: `HttpClassifier::new().at_end_of_body()`.
    ///     permit.run_async(AnyError, || async { Ok(7) }).await.map_err(ServiceError::Failed)
    /// }
    /// # let _ = call(&Arc::new(breaker(Config::new())));
    /// ```
    ///
    /// # Errors
    /// The operation's.
    fn run_async<T, E, R, F>(
        self,
        report: R,
        operation: impl FnOnce() -> F,
    ) -> impl Future<Output = Result<R::Output<Self>, E>>
    where
        R: Report<T, E>,
        F: Future<Output = Result<T, E>>,
    {
        run_admitted(|| Ok((self, ())), report, |()| operation(), |error| error)
    }

    /// Returns the permit of a finished call and the verdict on it; if `judge` panics, the call has failed.
    ///
    /// # Panics
    /// If `judge` does.
    #[inline]
    fn judged<V>(self, judge: impl FnOnce() -> V) -> (Self, V) {
        let mut permit = Some(self);
        let verdict = Self::count_panic(&mut permit, judge);
        (permit.expect("taken by a panic alone"), verdict)
    }

    /// Runs a part of a call, such as one poll of its future; if it panics, the call has failed, and the permit is taken.
    fn count_panic<V>(permit: &mut Option<Self>, operation: impl FnOnce() -> V) -> V {
        let unwinding = OnDrop::new(|| {
            if let Some(permit) = permit.take() {
                permit.report_because(Failure::new().into(), || "panicked".to_owned());
            }
        });
        let value = operation();
        unwinding.disarm();
        value
    }
}

/// [`AnyPermit::run_async`], and what is done to get the permit, and with it what the operation is to know: one future,
/// because each layer would hold permit and operation once more. The methods of this package call this function: with the future of a method of a trait in it,
/// today's compiler cannot show that a future is `Send` if its result borrows.
pub(crate) async fn run_admitted<P, A, T, E, X, R, F>(
    admit: impl FnOnce() -> Result<(P, A), X>,
    report: R,
    operation: impl FnOnce(A) -> F,
    failed: impl FnOnce(E) -> X,
) -> Result<R::Output<P>, X>
where
    P: AnyPermit,
    R: Report<T, E>,
    F: Future<Output = Result<T, E>>,
{
    let (permit, known) = admit()?;
    let mut permit = Some(permit);
    let mut future = pin!(P::count_panic(&mut permit, || operation(known)));
    let result =
        poll_fn(|context| P::count_panic(&mut permit, || future.as_mut().poll(context))).await;
    let permit = permit.expect("taken by a panic alone");
    report.report(permit, result).map_err(failed)
}

impl<H: AnyBreaker> AnyPermit for Permit<H> {
    type Key = ();

    fn key(&self) -> &() {
        &()
    }

    /// A probe's failure always counts, even one that is shared: the word changes with each probe.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the permit is read where it lies")]
    fn end(
        self,
        outcome: Outcome,
        shared: Option<ConnectionId>,
        _: Option<impl FnOnce() -> String>,
    ) -> Option<Transition> {
        let breaker = self
            .handle()
            .map_or(0, |handle| ptr::from_ref(handle.as_breaker()).addr());
        if outcome == Outcome::Success {
            note_answer_alone(breaker);
        }
        let counts = match shared {
            None => true,
            Some(connection) => {
                let begun = self.is_unchanged().then(Begun::now);
                !Self::still_counts(&self)
                    || counts_alone(breaker, begun, connection)
                    || Self::is_probe(&self)
            }
        };
        let made = Self::report(self, if counts { outcome } else { Outcome::Ignored });
        if made.is_some() {
            begin_anew_alone(breaker);
        }
        made
    }

    fn trips(&self) -> u8 {
        Self::trips(self)
    }

    fn is_probe(&self) -> bool {
        Self::is_probe(self)
    }

    fn still_counts(&self) -> bool {
        Self::still_counts(self)
    }

    fn renew(&mut self) -> bool {
        Self::renew(self)
    }
}

/// Ends a permit according to the result of its call: at once, as classifiers do, or when more is known,
/// such as at the end of a body, which then takes the permit along.
///
/// Closures, [`AnyError`] and the classifiers of this crate are reports. Your own [classifier](Classify)
/// becomes a report inside [`AtOnce`]. (It is not one by itself: if every classifier were a report, no
/// report that waits for a body could be written, because its type might also become a classifier.)
///
/// ```
/// use atomic_breaker_server::{AnyError, Config, Outcome, Report, breaker};
///
/// let server = breaker(Config::new());
/// let result: Result<u8, &str> = AnyError.report(server.acquire()?, Err("timed out"));
/// assert_eq!((result, server.snapshot().failures()), (Err("timed out"), 1));
///
/// let ignore = |_: &Result<u8, &str>| Outcome::Ignored;
/// let _ = ignore.report(server.acquire()?, Err("timed out"));
/// assert_eq!(server.snapshot().failures(), 1);
/// # Ok::<(), atomic_breaker_server::Rejected>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not report calls that end with `Result<{T}, {E}>`",
    note = "`AnyError` needs an error that can be displayed; wrap your own classifier in `AtOnce(..)`, or write `|result: &Result<{T}, {E}>| -> Outcome {{ .. }}`"
)]
pub trait Report<T, E> {
    #[doc(hidden)]
    const COUNTS_ERRORS_ALONE: bool = false;
    /// The result's value, with the permit in it if it is not reported yet.
    type Output<P: AnyPermit>;

    /// Reports the permit, or passes it on.
    fn report<P: AnyPermit>(&self, permit: P, result: Result<T, E>) -> Result<Self::Output<P>, E>;
}

/// Reports with a [classifier](Classify), as soon as there is a result.
#[derive(Clone, Copy, Debug, Default)]
pub struct AtOnce<C>(pub C);

impl<T, E, C: Classify<T, E>> Classify<T, E> for AtOnce<C> {
    #[inline]
    fn classify(&self, result: &Result<T, E>) -> Outcome {
        self.0.classify(result)
    }
}

impl<T, E, C: Classify<T, E>> Report<T, E> for AtOnce<C> {
    type Output<P: AnyPermit> = T;

    #[inline]
    fn report<P: AnyPermit>(&self, permit: P, result: Result<T, E>) -> Result<T, E> {
        report_as(permit, || self.0.classify(&result));
        result
    }
}

/// Reports an outcome; if `classify` panics, the call has failed.
#[inline]
fn report_as(permit: impl AnyPermit, classify: impl FnOnce() -> Outcome) {
    let (permit, outcome) = permit.judged(classify);
    permit.report(outcome);
}

impl<T, E, F: Fn(&Result<T, E>) -> Outcome> Report<T, E> for F {
    type Output<P: AnyPermit> = T;

    #[inline]
    fn report<P: AnyPermit>(&self, permit: P, result: Result<T, E>) -> Result<T, E> {
        report_as(permit, || self(&result));
        result
    }
}

/// The text of the error is kept as the last failure, if there is a place for it.
impl<T, E: Display> Report<T, E> for AnyError {
    const COUNTS_ERRORS_ALONE: bool = true;
    type Output<P: AnyPermit> = T;

    #[inline]
    fn report<P: AnyPermit>(&self, permit: P, result: Result<T, E>) -> Result<T, E> {
        let outcome = self.classify(&result);
        permit.report_because(outcome, || match &result {
            // A success opens a breaker only by being slow, for which the permit has words of its own.
            Ok(_) => "too slow".to_owned(),
            Err(error) => error.to_string(),
        });
        result
    }
}
