//! What may be kept of a request.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::SystemTime;

use http::Method;
use http::header::{HeaderMap, HeaderName};
use http::request::Parts;

use super::request::{Mark, without_user};
use super::{KeepConfig, NotKept};
use atomic_breaker_http::{MayRepeat, idempotency_key};

/// Whether the sender allows the request to be sent twice, and it does more than fetch an answer.
pub(super) fn may_be_kept(parts: &Parts) -> bool {
    let is_safe = matches!(
        parts.method,
        Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE
    );
    let may_repeat = parts.extensions.get() != Some(&MayRepeat(false));
    !is_safe && may_repeat && idempotency_key(&parts.headers).is_some()
}

impl KeepConfig {
    /// The headers that are kept, for a request that [may be](Self::keep_if).
    pub(super) fn allowed(&self, parts: &Parts) -> Result<HeaderMap, NotKept> {
        if let (Some(names), Some(query)) = (&self.queries, parts.uri.query()) {
            let name = |pair: &str| {
                pair.split('=')
                    .next()
                    .is_some_and(|name| names.iter().any(|each| each == name))
            };
            if !query.split('&').filter(|pair| !pair.is_empty()).all(name) {
                return Err(NotKept::Query);
            }
        }
        let mut kept = HeaderMap::new();
        for (name, is_secret) in &self.headers {
            // Checked before, so it is valid; and not parsed twice.
            let Ok(name) = HeaderName::from_bytes(name.as_bytes()) else {
                continue;
            };
            if kept.contains_key(&name) {
                continue;
            }
            for value in parts.headers.get_all(&name) {
                if value.is_sensitive() && !is_secret {
                    return Err(NotKept::Sensitive(name));
                }
                kept.append(name.clone(), value.clone());
            }
        }
        Ok(kept)
    }
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
