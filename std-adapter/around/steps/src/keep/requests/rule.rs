// SPDX-License-Identifier: MIT OR Apache-2.0
//! The requests that are kept unless a configuration says otherwise, and their key.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::SystemTime;

use http::Method;
use http::request::Parts;

use super::request::{Mark, without_user};
use atomic_breaker_http::{MayRepeat, idempotency_key};

/// Returns whether the sender allows the request to be sent twice, and it does more than fetch an answer.
pub(super) fn may_be_kept(parts: &Parts) -> bool {
    let is_safe = matches!(
        parts.method,
        Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE
    );
    let may_repeat = parts.extensions.get() != Some(&MayRepeat(false));
    !is_safe && may_repeat && idempotency_key(&parts.headers).is_some()
}

/// Made of the idempotency key, method and URI; a request without an idempotency key gets a key of its own.
pub(super) fn usual_key(parts: &Parts) -> String {
    if let Some(key) = idempotency_key(&parts.headers) {
        // The same order may be both paid and sent, for example.
        let mut mark = Mark::new();
        mark.add(parts.method.as_str().as_bytes());
        mark.add(without_user(&parts.uri).to_string().as_bytes());
        return format!("{key} {:016x}", mark.0);
    }
    // Randomly keyed, so different for each request.
    let mark = RandomState::new().hash_one(fastrand::u64(..));
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    format!("{:x}-{mark:016x}", now.unwrap_or_default().as_nanos())
}
