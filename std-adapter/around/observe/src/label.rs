// SPDX-License-Identifier: MIT OR Apache-2.0
//! The labels of states, causes and enforcement in events and metrics.

use std::fmt;

use atomic_breaker_server::Enforcement;

/// The label of what has none of its own.
pub(super) const OTHER: &str = "other";

/// The name of a variant as a label: `half_open` for `HalfOpen`.
pub(super) fn label(variant: impl fmt::Debug) -> String {
    let mut label = String::new();
    for letter in format!("{variant:?}").chars() {
        if letter.is_ascii_uppercase() && !label.is_empty() {
            label.push('_');
        }
        label.push(letter.to_ascii_lowercase());
    }
    label
}

/// The label that tells whether rejections are enforced.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mode {
    Enforced,
    Shadow,
    /// Some are enforced, and it is not known whether this one is.
    Partial,
}

impl Mode {
    #[cfg(feature = "metrics")]
    pub(super) const ALL: [Self; 3] = [Self::Enforced, Self::Shadow, Self::Partial];

    /// The mode of a breaker, whose rejections are enforced if nothing is known of that.
    pub(super) fn of(enforcement: Option<fn() -> &'static Enforcement>) -> Self {
        match enforcement.map_or(100, |enforcement| enforcement().percent()) {
            100.. => Self::Enforced,
            0 => Self::Shadow,
            1..100 => Self::Partial,
        }
    }
}
