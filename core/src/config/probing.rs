// SPDX-License-Identifier: MIT OR Apache-2.0
//! The settings of probes, and of the return after them.

use core::time::Duration;

use super::{Config, GradualReturn};
use crate::number::{half, ms};

impl Config {
    /// Sets the number of probes of a round that may be in flight at a time while half-open. At least 1, at most 255 (15 in a
    /// 32-bit word). After a [lost](Self::probe_lease) round it is one at a time; calls of lost probes may still be running.
    #[doc(alias = "permitted calls in half-open")]
    pub const fn probes(mut self, probes: u32) -> Self {
        self.probes = half(probes);
        self
    }

    /// Sets the number of probes that must succeed, without a failure between them, to close: the *success threshold*. At least
    /// [`probes`](Self::probes), because a half-open breaker admits no more probes than it still needs; by default equal to it.
    #[doc(alias = "success_threshold")]
    pub const fn close_after(mut self, successes: u32) -> Self {
        self.close_after = Some(half(successes));
        self
    }

    /// Sets the time after the last admission of a probe at which, if no slot is free, the probes in flight count as lost: a new
    /// round starts with one new probe. Successes of the rounds before still count. A late failure of an old probe changes
    /// nothing; a late success counts, unless five rounds or more have been lost since, or the half-open time has ended.
    /// The lease should be longer than the longest call.
    ///
    /// The lease doubles with each round lost in a row, four times at most, so that healthy calls that take longer than
    /// it close the breaker nevertheless, if they take [less than 80 leases](crate#limits). After calls that hang and
    /// never return, the breaker may therefore keep rejecting for up to 16 leases (8 minutes by default) although the
    /// resource has recovered: give the calls a timeout that is shorter than the lease, so that none hangs.
    /// [`probe_now`](crate::Breaker::probe_now) cuts the wait short.
    pub const fn probe_lease(mut self, lease: Duration) -> Self {
        self.probe_lease_ms = Some(ms(lease));
        self
    }

    /// A probe that is dropped without a report after `limit` or later counts as failed: the breaker opens again. One
    /// that is dropped sooner says nothing and gives its slot back. 250 ms by default; with 0 every dropped probe
    /// counts. In 32-bit words the limit may be up to two ticks longer.
    ///
    /// Make it shorter than the timeouts around your calls; otherwise a resource that hangs is probed again as soon as
    /// a timeout has dropped the previous probe.
    pub const fn cancel_limit(mut self, limit: Duration) -> Self {
        self.cancel_limit_ms = ms(limit);
        self
    }

    /// Lets traffic return gradually: after enough probes have succeeded, a share of the calls passes, growing from
    /// `first_percent` (1 to 100) to all of them after the time `over`; the rest are rejected, and failures trip by the
    /// usual rules. At the end the breaker is closed, and failures of calls that are still in flight count nowhere. Off by
    /// default.
    ///
    /// For resources that break again when the whole load returns at once. The share grows linearly; the open time keeps
    /// growing if the breaker trips meanwhile.
    #[doc(alias = "slow start")]
    #[doc(alias = "ramp up")]
    pub const fn gradual_return(mut self, first_percent: u32, over: Duration) -> Self {
        self.gradual_return = Some(GradualReturn::new(first_percent, ms(over)));
        self
    }
}
