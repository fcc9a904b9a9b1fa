//! The settings of the gRPC classifier.

use std::time::Duration;

use super::classifier::GrpcClassifier;
use super::head::GrpcAtHead;
use crate::{GrpcCode, Outcome, RetryAfter};

impl<S, X, Y> GrpcClassifier<S, X, Y> {
    /// A classifier with your own rules, also in a `static`: for codes, for calls without a response, for bodies that
    /// break off.
    ///
    /// ```
    /// use atomic_breaker_http::{EveryError, GrpcClassifier, GrpcCode, Outcome};
    ///
    /// static GRPC: GrpcClassifier<fn(GrpcCode) -> Outcome> =
    ///     GrpcClassifier::with_rules(|_| Outcome::Success, EveryError, EveryError);
    /// # let _ = GRPC;
    /// ```
    pub const fn with_rules(codes: S, errors: X, body_errors: Y) -> Self {
        Self {
            codes,
            errors,
            body_errors,
            hints: RetryAfter::new(),
            trip_on_push_back: true,
        }
    }

    /// What each code counts as. A rule with a name of its own goes into [`with_rules`](Self::with_rules).
    ///
    /// ```
    /// use atomic_breaker_http::{CodeRule, Failure, GrpcClassifier, GrpcCode, UsualCodes};
    /// use http::HeaderMap;
    ///
    /// let grpc = GrpcClassifier::new().codes(|code| match code {
    ///     GrpcCode::DataLoss => Failure::tripping().into(),
    ///     other => UsualCodes.outcome(other),
    /// });
    /// assert_eq!(grpc.code(GrpcCode::DataLoss, &HeaderMap::new()), Failure::tripping().into());
    /// ```
    pub fn codes<F: Fn(GrpcCode) -> Outcome>(self, codes: F) -> GrpcClassifier<F, X, Y> {
        GrpcClassifier {
            codes,
            errors: self.errors,
            body_errors: self.body_errors,
            hints: self.hints,
            trip_on_push_back: self.trip_on_push_back,
        }
    }

    /// What the error of a call without a response counts as; a failure of weight 1 unless set. The closure must name
    /// the type of the error.
    pub fn errors<E, F: Fn(&E) -> Outcome>(self, errors: F) -> GrpcClassifier<S, F, Y> {
        GrpcClassifier {
            codes: self.codes,
            errors,
            body_errors: self.body_errors,
            hints: self.hints,
            trip_on_push_back: self.trip_on_push_back,
        }
    }

    /// What an error of the body counts as; a failure of weight 1 unless set. The closure must name the type of the
    /// error.
    pub fn body_errors<E, F: Fn(&E) -> Outcome>(self, errors: F) -> GrpcClassifier<S, X, F> {
        GrpcClassifier {
            codes: self.codes,
            errors: self.errors,
            body_errors: errors,
            hints: self.hints,
            trip_on_push_back: self.trip_on_push_back,
        }
    }

    /// A push-back is believed up to this time; 300 s unless set, and with zero none is. Beyond 5 minutes the breaker
    /// needs a [`Config::max_retry_after`](crate::Config::max_retry_after) as well.
    pub const fn max_push_back(mut self, limit: Duration) -> Self {
        self.hints = RetryAfter::with_limit(limit);
        self
    }

    /// Whether a server's push-back opens the breaker. It does unless this is set to `false`; then such a call counts
    /// like any failure. Turn it off where push-back is for one of several tenants of a server.
    pub const fn trip_on_push_back(mut self, trip: bool) -> Self {
        self.trip_on_push_back = trip;
        self
    }

    /// Reports at the headers: a call whose status arrives later counts as a success. For streams that live longer than
    /// any limit.
    pub const fn at_head(self) -> GrpcAtHead<S, X, Y> {
        GrpcAtHead(self)
    }
}
