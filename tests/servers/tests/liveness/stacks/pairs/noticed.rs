// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks that a host which fails each call is noticed, also by calls whose callers do not wait for the failure.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

use crate::host::LIMIT;
use crate::stack::Look;

/// The most failures that any rules here require, and as many as may begin while the last of them ends.
const ENOUGH: usize = 8;
/// More tries than this may be ended with their callers.
const IN_FLIGHT: usize = 24;
/// Beyond the limit of a try, a try has failed.
const SLACK: Duration = Duration::from_millis(500);

/// The times at which tries began that must count as failures of the breaker, if they have ended. Clones are the same.
#[derive(Clone, Default)]
pub(super) struct Noticed(Arc<Mutex<(u16, VecDeque<Instant>)>>);

impl Noticed {
    /// Failures of the past no longer count.
    pub(super) fn clear(&self) {
        self.0.lock().unwrap().1.clear();
    }

    /// A try has reached a host that fails each call, while its breaker looks like this.
    ///
    /// # Panics
    /// When it should have tripped.
    pub(super) fn reached(&self, look: Look) {
        let ended = self.ended(look);
        assert!(
            ended < ENOUGH,
            "{ended} tries of a dead host have ended, and it has not tripped"
        );
    }

    /// Counts this try, and returns how many have ended.
    fn ended(&self, look: Look) -> usize {
        let (epoch, begun) = &mut *self.0.lock().unwrap();
        if !look.is_closed || look.epoch != *epoch {
            begun.clear();
        }
        *epoch = look.epoch;
        let is_over = |at: &&Instant| at.elapsed() >= LIMIT + SLACK;
        let ended = begun.iter().filter(is_over).count();
        if look.is_closed && begun.len() - ended < IN_FLIGHT {
            begun.push_back(Instant::now());
        }
        ended
    }
}
