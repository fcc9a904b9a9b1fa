// SPDX-License-Identifier: MIT OR Apache-2.0
//! Responses: what each of them carries.

use axum::body::Body;
use axum::http::StatusCode;
use axum::http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue,
    REFERRER_POLICY, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::response::Response;
use serde::Serialize;

/// The policy that browsers must enforce for responses: nothing from elsewhere, no inline scripts or styles, no markup
/// that a script makes from text, no frame around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
    trusted-types 'none'";

const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

pub(super) fn response(status: StatusCode, kind: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    for (name, value) in [
        (CONTENT_TYPE, kind),
        (CACHE_CONTROL, "no-store"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (RESOURCE_POLICY, "same-origin"),
        (OPENER_POLICY, "same-origin"),
    ] {
        let value = HeaderValue::from_static(value);
        response.headers_mut().insert(name, value);
    }
    response
}

pub(super) fn json(value: &impl Serialize) -> Result<Response, Problem> {
    let body = serde_json::to_vec(value);
    // Only maps whose keys are not strings fail: there are none here.
    let body = body.map_err(|error| Problem::internal(error.to_string()))?;
    Ok(response(StatusCode::OK, "application/json", body))
}

/// The reason why a request is refused, and how to fix it.
#[derive(Debug)]
pub(super) struct Problem {
    status: StatusCode,
    error: String,
    header: Option<(HeaderName, HeaderValue)>,
}

macro_rules! problems {
    ($($name:ident: $status:ident),* $(,)?) => {$(
        pub(super) fn $name(error: impl Into<String>) -> Self {
            Self::new(StatusCode::$status, error)
        }
    )*};
}

impl Problem {
    problems! {
        bad_request: BAD_REQUEST,
        forbidden: FORBIDDEN,
        not_found: NOT_FOUND,
        conflict: CONFLICT,
        unprocessable: UNPROCESSABLE_ENTITY,
        unavailable: SERVICE_UNAVAILABLE,
        internal: INTERNAL_SERVER_ERROR,
    }

    pub(super) fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Self {
            status,
            error: error.into(),
            header: None,
        }
    }

    pub(super) fn not_allowed(allowed: &'static str) -> Self {
        let error = format!("this path takes {allowed}");
        Self {
            header: Some((ALLOW, HeaderValue::from_static(allowed))),
            ..Self::new(StatusCode::METHOD_NOT_ALLOWED, error)
        }
    }

    pub(super) fn retry_after(mut self, seconds: u16) -> Self {
        self.header = Some((RETRY_AFTER, seconds.into()));
        self
    }

    /// The same, with more words at the end.
    #[cfg(feature = "steps")]
    pub(super) fn add(mut self, words: &str) -> Self {
        self.error.push_str(words);
        self
    }

    pub(super) fn into_response(self) -> Response {
        let shown = serde_json::json!({ "error": self.error }).to_string();
        let mut response = response(self.status, "application/json", shown);
        response.headers_mut().extend(self.header);
        response
    }
}
