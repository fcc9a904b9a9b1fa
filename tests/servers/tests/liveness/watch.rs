// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks whether a breaker has tripped in time.

use std::collections::VecDeque;

use tokio::time::Instant;

use super::stack::{Answer, Caller, Ending, Look, Stack};

/// The known failures of one breaker.
#[derive(Default)]
pub(crate) struct Watch {
    epoch: u16,
    failed: u32,
    successes: VecDeque<Instant>,
    was_closed: bool,
}

impl Watch {
    pub(crate) fn count_anew(&mut self) {
        self.failed = 0;
    }

    /// The clock has wrapped: earlier counts look recent again.
    pub(crate) fn come_round(&mut self) {
        let now = Instant::now();
        self.successes.iter_mut().for_each(|at| *at = now);
    }

    /// Returns whether it is no longer closed.
    pub(crate) fn has_tripped(&mut self, after: Look) -> bool {
        let was_closed = std::mem::replace(&mut self.was_closed, after.is_closed);
        was_closed && !after.is_closed
    }

    /// While all calls fail, failures count if their calls began in the epoch in which they end, and must trip the
    /// breaker in time.
    pub(crate) fn judge<S: Stack>(
        &mut self,
        stack: &S,
        (before, after): (Look, Look),
        caller: Caller,
        answer: Answer,
        fails_always: bool,
    ) {
        let Some(trips) = stack.trips() else {
            return;
        };
        let now = Instant::now();
        let is_old = |at: &Instant| *at + trips.outweighing < now;
        while self.successes.front().is_some_and(is_old) {
            self.successes.pop_front();
        }
        let is_served = answer == Answer::Served;
        if is_served && !trips.outweighing.is_zero() {
            let reports = if caller.ending == Ending::Twice { 2 } else { 1 };
            self.successes.extend((0..reports).map(|_| now));
        }
        if !after.is_closed || after.epoch != self.epoch || is_served && trips.outweighing.is_zero()
        {
            (self.epoch, self.failed) = (after.epoch, 0);
        }
        let counts =
            answer == Answer::Failed && caller.is_honest() && before == after && fails_always;
        if after.is_closed && counts {
            self.failed += 1;
            let allowed = trips.after.max(self.successes.len() as u32 + 1);
            assert!(
                self.failed < allowed,
                "{} calls failed in a row, and it has not tripped: {}",
                self.failed,
                stack.describe()
            );
        }
    }
}
