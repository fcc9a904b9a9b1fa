// SPDX-License-Identifier: MIT OR Apache-2.0
//! The operator who acts.

use std::fmt;
use std::sync::Arc;

use super::text;

/// The person who looks and changes: the extension that the service's authentication inserts into each request.
///
/// ```
/// use atomic_breaker_admin::Operator;
/// use axum::{extract::Request, http::StatusCode, middleware::Next, response::Response};
///
/// /// A layer by `axum::middleware::from_fn(authenticate)`.
/// async fn authenticate(mut request: Request, next: Next) -> Result<Response, StatusCode> {
///     let operator = match request.headers().get("x-user").and_then(|user| user.to_str().ok()) {
///         Some(user) => Operator::new(user),
///         None => return Err(StatusCode::UNAUTHORIZED),
///     };
///     request.extensions_mut().insert(operator);
///     Ok(next.run(request).await)
/// }
/// ```
///
/// The name is shown in the timeline beside the action, and logged; of a longer one the first 128 bytes are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    pub(super) name: Arc<str>,
    may_change: bool,
}

impl Operator {
    /// An operator who may look and change.
    pub fn new(name: impl fmt::Display) -> Self {
        Self {
            name: text::bounded(&name, 128).into(),
            may_change: true,
        }
    }

    /// An operator who may look but change nothing.
    pub fn viewer(name: impl fmt::Display) -> Self {
        Self {
            may_change: false,
            ..Self::new(name)
        }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether this operator may change anything.
    pub const fn may_change(&self) -> bool {
        self.may_change
    }
}
