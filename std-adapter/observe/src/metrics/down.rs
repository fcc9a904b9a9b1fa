//! Since when something has been down.

use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use atomic_breaker_registry::State;

use crate::lock;

/// Whether calls are rejected in this state, all or some. An outage lasts for as long as that is so.
pub(super) const fn is_down(state: State) -> bool {
    !matches!(state, State::Closed | State::Disabled)
}

/// Milliseconds since 1970, and never 0.
pub(super) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let since = since.unwrap_or_default().as_millis();
    u64::try_from(since).unwrap_or(u64::MAX).max(1)
}

/// As it is published.
#[expect(
    clippy::cast_precision_loss,
    reason = "milliseconds are exact until the year 287396"
)]
pub(super) const fn seconds(ms: u64) -> f64 {
    ms as f64 / 1000.0
}

/// When the outage began; 0 while there is none.
#[derive(Default)]
pub(super) struct DownSince(Mutex<u64>);

impl DownSince {
    /// Notes whether it is down, which is looked up under the lock: of two threads the last one is right.
    pub(super) fn note(&self, is_down: impl FnOnce() -> bool) -> u64 {
        let mut since = lock(&self.0);
        *since = match (is_down(), *since) {
            (false, _) => 0,
            (true, 0) => now_ms(),
            (true, since) => since,
        };
        *since
    }
}
