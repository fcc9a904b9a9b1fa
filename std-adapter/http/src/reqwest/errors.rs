// SPDX-License-Identifier: MIT OR Apache-2.0
//! The classifier of reqwest's errors.

use std::error::Error;

use crate::causes::causes_of;
use crate::classifier::HttpClassifier;
use crate::client_error::ClientError;
use crate::errors::{ErrorRule, scope_of_status};
use crate::usual_errors::UsualErrors;
use crate::{Outcome, Scope};

/// A [rule](ErrorRule) for the errors of reqwest and reqwest-middleware, alone or as the cause of another error: the
/// default of `BreakerMiddleware`, and what [`UsualErrors`] says of a [`ClientError`].
///
/// | error | counts as |
/// |---|---|
/// | `is_builder` (a URL without a host, a scheme that is not HTTP) | ignored |
/// | `is_redirect` (too many of them, or one that leads nowhere) | success: the host has responded |
/// | an error with a status (`error_for_status`) | like the status: 5xx but for 501, 505, 507, 511 and 408 are failures, 429 is [neutral](Scope::Quota) |
/// | all others | what [`UsualErrors`] says |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReqwestErrors;

impl<E: Error + 'static> ErrorRule<E> for ReqwestErrors {
    fn judge(&self, error: &E) -> (Outcome, Scope) {
        let known = causes_of(error).find_map(|cause| cause.downcast_ref().and_then(known));
        let (usual, scope) = UsualErrors.judge(error);
        known.unwrap_or((usual, scope))
    }
}

impl ClientError {
    /// The outcome and whom it concerns, if reqwest itself determines it.
    pub(crate) fn known(&self) -> Option<(Outcome, Scope)> {
        known(self)
    }
}

fn known(error: &reqwest::Error) -> Option<(Outcome, Scope)> {
    if let Some(status) = error.status() {
        let outcome = HttpClassifier::new().status(status);
        Some((outcome, scope_of_status(status, outcome)))
    } else if error.is_builder() {
        Some((Outcome::Ignored, Scope::Call))
    } else if error.is_redirect() {
        Some((Outcome::Success, Scope::Call))
    } else {
        None
    }
}
