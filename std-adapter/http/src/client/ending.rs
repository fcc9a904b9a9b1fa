//! When a try is reported, and what its error says.

use std::error::Error;

use crate::usual_errors::scope_of;
use crate::{
    AtEnd, ErrorRule, Failure, HttpClassifier, Outcome, Scope, Timed, UsualErrors, WithCauses,
};

/// When a try is reported: [`AtHead`] or [`AtEndOfBody`].
pub trait Ending: Copy + sealed::Sealed {
    /// The reporter, with a rule for the errors of the client.
    type Report<X>;

    #[doc(hidden)]
    fn at_end(self) -> Option<AtEndOfBody>;

    #[doc(hidden)]
    fn report<X>(self, http: HttpClassifier<Tried<X>>) -> Self::Report<X>;
}

mod sealed {
    pub trait Sealed {}
}

/// A try is reported at the head of its response: the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtHead;

/// A try is reported at the end of the response's body:
/// [`ClientConfig::at_end_of_body`](super::ClientConfig::at_end_of_body).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtEndOfBody {
    pub(crate) probes_wait: bool,
}

impl sealed::Sealed for AtHead {}
impl sealed::Sealed for AtEndOfBody {}

impl Ending for AtHead {
    type Report<X> = HttpClassifier<Tried<X>>;

    fn at_end(self) -> Option<AtEndOfBody> {
        None
    }

    fn report<X>(self, http: HttpClassifier<Tried<X>>) -> Self::Report<X> {
        http
    }
}

impl Ending for AtEndOfBody {
    type Report<X> = AtEnd<HttpClassifier<Tried<X>>, UsualErrors>;

    fn at_end(self) -> Option<AtEndOfBody> {
        Some(self)
    }

    fn report<X>(self, head: HttpClassifier<Tried<X>>) -> Self::Report<X> {
        AtEnd {
            head,
            body_errors: UsualErrors,
            probes_wait: self.probes_wait,
        }
    }
}

/// The rule for the errors of a try: its timeout is a failure, and `X` judges the errors of the client. A try that ends
/// refused unprocessed was already sent again on fresh connections, or no token was left for that.
#[derive(Clone, Copy, Debug)]
pub struct Tried<X>(pub(super) X);

impl<E: Error + 'static, X: ErrorRule<E>> ErrorRule<Timed<WithCauses<E>>> for Tried<X> {
    fn judge(&self, error: &Timed<WithCauses<E>>) -> (Outcome, Scope) {
        match error {
            Timed::TimedOut => (Failure::new().into(), Scope::Call),
            // The scope is the same for every rule: how many calls an error ended is a fact.
            Timed::Failed(WithCauses(error)) => (self.0.outcome(error), scope_of(error)),
        }
    }
}
