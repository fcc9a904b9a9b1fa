// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls that the log does not have.

use crate::simulate::engine::PlannedCall;

use crate::log::LoggedCall;

/// Calls that end as the call of the log did that began closest to them.
pub(super) struct Closest<I> {
    calls: I,
    before: Option<LoggedCall>,
    after: Option<LoggedCall>,
}

impl<I: Iterator<Item = LoggedCall>> Closest<I> {
    pub(super) fn new(mut calls: I) -> Self {
        let before = calls.next();
        let after = calls.next();
        Self {
            calls,
            before,
            after,
        }
    }

    /// The call that begins at this moment. Moments never go back.
    pub(super) fn call_at(&mut self, at_us: u64) -> Option<PlannedCall> {
        while let Some(call) = self.after.filter(|call| call.start_us <= at_us) {
            self.before = Some(call);
            self.after = self.calls.next();
        }
        let before = self.before?;
        let closest = match self.after {
            Some(after) if after.start_us - at_us < at_us.saturating_sub(before.start_us) => after,
            None if at_us > before.start_us => return None,
            _ => before,
        };
        Some(PlannedCall {
            start_us: at_us,
            ..closest.played()
        })
    }
}
