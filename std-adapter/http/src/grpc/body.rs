//! What the end of a gRPC body says.

use std::fmt;

use http::HeaderMap;

use super::classifier::GrpcClassifier;
use super::rules::{CodeRule, UsualCodes};
use crate::{BodyRule, ErrorRule, EveryError, GrpcCode, Outcome, Scope};

/// The [rule](BodyRule) of [`GrpcClassifier`].
pub struct GrpcBodyRule<S = UsualCodes, Y = EveryError> {
    classifier: GrpcClassifier<S, (), Y>,
    without: Option<GrpcCode>,
}

impl<S, Y> GrpcBodyRule<S, Y> {
    /// A body that ends without a code counts as `without`, or is ignored if that is `None`.
    pub(super) const fn new(
        classifier: GrpcClassifier<S, (), Y>,
        without: Option<GrpcCode>,
    ) -> Self {
        Self {
            classifier,
            without,
        }
    }
}

impl<E, S: CodeRule, Y: ErrorRule<E>> BodyRule<E> for GrpcBodyRule<S, Y> {
    fn ended(self, trailers: Option<&HeaderMap>) -> Outcome {
        let empty = HeaderMap::new();
        let trailers = trailers.unwrap_or(&empty);
        GrpcCode::read(trailers)
            .or(self.without)
            .map_or(Outcome::Ignored, |code| {
                self.classifier.code(code, trailers)
            })
    }

    fn broken(self, error: &E) -> Outcome {
        self.classifier.body_errors.outcome(error)
    }

    fn scope(&self, error: &E) -> Scope {
        self.classifier.body_errors.scope(error)
    }

    fn probe_succeeds_at_data(&self) -> bool {
        true
    }
}

impl<S, Y> fmt::Debug for GrpcBodyRule<S, Y> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GrpcBodyRule").finish_non_exhaustive()
    }
}
