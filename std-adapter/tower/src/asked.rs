// SPDX-License-Identifier: MIT OR Apache-2.0
//! The question of a retry to the service below it: did the breaker admit this try?
//!
//! A service that asks its breaker within `call` knows when that returns, and says so here. Anything in between, such
//! as an `async` block, a queue or a task, asks later, or in another thread; then only the result of the try tells. No
//! poll does: a future is pending for many reasons.

use std::any::type_name;
use std::cell::Cell;

type Name = fn() -> &'static str;

thread_local! {
    /// The type of the service whose breaker has admitted a call last. Calls that no retry asks about only write it.
    static LAST: Cell<Option<Name>> = const { Cell::new(None) };
}

/// Says that the breaker of a service of the type `S` has admitted the call: at the end of `call`, after anything else that
/// it calls.
#[doc(hidden)]
#[inline]
pub fn admitted<S>() {
    LAST.set(Some(type_name::<S>));
}

/// Calls a service of the type `S`, and returns whether its breaker has admitted the call. If not, the breaker has rejected
/// it, or that is not known yet.
///
/// A service that asks another breaker on the way, such as one for tokens, is of another type than that breaker's. Where two
/// types share a name, this service is one of ours, and says it for its own calls last.
pub(crate) fn ask<S, V>(call: impl FnOnce() -> V) -> (V, bool) {
    LAST.set(None);
    let value = call();
    let is_admitted = LAST.get().is_some_and(|name| name() == type_name::<S>());
    (value, is_admitted)
}
