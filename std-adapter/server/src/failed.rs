// SPDX-License-Identifier: MIT OR Apache-2.0
//! The questions that an observer may ask about a call that failed.

use std::cell::LazyCell;
use std::fmt;
use std::time::Duration;

/// The reason why a call failed: put together once, when someone asks.
pub(crate) struct Words<F>(LazyCell<Option<String>, F>);

impl<F: FnOnce() -> Option<String>> Words<F> {
    pub(crate) fn new(why: F) -> Self {
        Self(LazyCell::new(why))
    }

    /// The words, if there are any.
    pub(crate) fn get(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl<F: FnOnce() -> Option<String>> fmt::Display for Words<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get().unwrap_or_default())
    }
}

/// The duration of a call that began at `started_ms`, if it was measured.
pub(crate) fn took(started_ms: u32, now_ms: u32) -> Option<Duration> {
    let took_ms = now_ms.wrapping_sub(started_ms);
    // More than half the range: the clock stepped back.
    let is_known = started_ms != 0 && took_ms <= u32::MAX / 2;
    is_known.then(|| Duration::from_millis(took_ms.into()))
}
