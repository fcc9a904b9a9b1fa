// SPDX-License-Identifier: MIT OR Apache-2.0
//! A resource that is back, and cannot bear the whole load yet.

use std::time::Duration;

/// A server that was restarted, with empty caches: at first it bears a share of the usual load, and the more of it the longer
/// it is back. Calls beyond that fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct ColdServer {
    first_percent: u8,
    over: Duration,
}

impl ColdServer {
    /// A server that bears `first_percent` of the usual load at first, from 1 to 100, and all of it after `over`.
    ///
    /// # Panics
    /// If `first_percent` is 0 or more than 100.
    pub const fn new(first_percent: u8, over: Duration) -> Self {
        assert!(
            1 <= first_percent && first_percent <= 100,
            "first_percent must be from 1 to 100"
        );
        Self {
            first_percent,
            over,
        }
    }
}

/// The load is looked at in tenths of a second, or where calls are rare in stretches of which the first share is a whole call.
const TENTH_US: u64 = 100_000;

/// A cold server while it becomes warm.
#[derive(Clone, Copy, Debug)]
pub struct Warming {
    server: ColdServer,
    back_us: u64,
    /// The time for which the load is looked at, and the number of calls that come in that time when all is well.
    stretch_us: u64,
    usual: f64,
    /// The stretch that was looked at last, and the calls in it so far.
    stretch: u64,
    made: f64,
}

impl Warming {
    /// A server that is back at `back_us`, in microseconds since the beginning, and usually gets `per_second` calls in a second.
    #[expect(clippy::cast_sign_loss, reason = "nobody calls less than never")]
    pub fn new(server: ColdServer, back_us: u64, per_second: f64) -> Self {
        let fewest = 100.0 / f64::from(server.first_percent);
        let stretch_us = TENTH_US.max((fewest / per_second * 1e6) as u64);
        Self {
            server,
            back_us,
            stretch_us,
            usual: per_second * Duration::from_micros(stretch_us).as_secs_f64(),
            stretch: 0,
            made: 0.0,
        }
    }

    /// The time at which the server is back, in microseconds since the beginning.
    pub const fn back_us(&self) -> u64 {
        self.back_us
    }

    /// Returns whether the server bears one more call at this moment; moments never go back.
    pub fn bears(&mut self, at_us: u64) -> bool {
        let Some(since) = at_us.checked_sub(self.back_us) else {
            return true;
        };
        let since = Duration::from_micros(since);
        if since >= self.server.over {
            return true;
        }
        let stretch = at_us / self.stretch_us;
        if stretch != self.stretch {
            (self.stretch, self.made) = (stretch, 0.0);
        }
        self.made += 1.0;
        let first = f64::from(self.server.first_percent) / 100.0;
        let warm = since.as_secs_f64() / self.server.over.as_secs_f64();
        // One call at a time is always borne, or nothing would ever find out.
        self.made <= (self.usual * (first + (1.0 - first) * warm)).max(1.0)
    }
}
