// SPDX-License-Identifier: MIT OR Apache-2.0
//! The address of a request.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use atomic_breaker_http::Origin;
use http::Uri;

use crate::text;

fn hash(origin: &Origin) -> u64 {
    let mut hasher = DefaultHasher::new();
    origin.hash(&mut hasher);
    hasher.finish()
}

/// What is shown names the same server, and nobody's password.
pub(crate) fn origin(bytes: &[u8]) {
    let Some(Ok(uri)) = text(bytes).map(str::parse::<Uri>) else {
        return;
    };
    let Ok(origin) = Origin::of(&uri) else {
        return;
    };
    let shown = origin.to_string();
    assert!(
        !shown.is_empty() && shown.len() <= 400 && !shown.contains('@'),
        "{shown}"
    );
    assert_eq!(shown, shown.to_lowercase());
    let again = shown.parse::<Uri>().expect("an address");
    let again = Origin::of(&again).expect("a server");
    assert!(again == origin && hash(&again) == hash(&origin), "{shown}");
}
