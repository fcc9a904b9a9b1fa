// SPDX-License-Identifier: MIT OR Apache-2.0
//! The scope of an outcome.

use crate::loss::ConnectionId;

/// The scope of an outcome, which decides how often it counts:
/// [`AnyPermit::report_scoped`](crate::AnyPermit::report_scoped).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scope {
    /// This call alone: counts as its outcome says.
    #[default]
    Call,
    /// A connection that ended, with all calls that were under way on it. **One** of these counts, the others are
    /// ignored, unless most calls end this way: [`AnyPermit::report_shared`](crate::AnyPermit::report_shared). A host that
    /// breaks every connection still fails once for each.
    Connection(ConnectionId),
    /// A connection that refused the request before the host looked at it. That is no failure by itself: the request
    /// may be sent again, whatever its method. But **one** of the calls that were refused while they were under way
    /// together counts, and all of them if most are, as with [`Connection`](Self::Connection), or a host that refuses
    /// everything would never open its breaker. A failure of weight 0, which lets a retry see that nothing was done, then
    /// counts 1.
    Unprocessed(ConnectionId),
    /// The caller, whose own time limit has passed: as if it had dropped the call, which is neutral while the call is
    /// [young](crate::Permit#dropped).
    Caller,
    /// A time limit of the client, which may have been waiting for the host or for a slow reader. At the head it counts
    /// as its outcome says; so it does in a body if the client was waiting for the host when the limit passed. If not,
    /// the reader took so long, and it concerns the [caller](Self::Caller).
    Limit,
    /// The caller, whose quota is used up: a 429, `RESOURCE_EXHAUSTED`. Its call is ignored, so that one tenant cannot
    /// shut out the others, nor hide from them that the host behind a limiter is dead. A **probe** succeeds with it: the
    /// host has responded, and otherwise a tenant that takes each probe would keep the others out. It needs to know which
    /// calls are probes, as layers and [`AnyPermit::run_async`](crate::AnyPermit::run_async) do; with
    /// [`call_with`](atomic_breaker::Breaker::call_with) such a probe is ignored, too, and the next one decides.
    Quota,
}
