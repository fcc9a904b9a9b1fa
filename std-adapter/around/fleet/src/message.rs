// SPDX-License-Identifier: MIT OR Apache-2.0
//! The messages between instances and their engine.

use super::Name;

/// Identifies an open period: the epoch orders the periods of a breaker, the mark tells two with the same epoch apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PeriodId {
    /// Rises with each period and each end of one, even if the engine has forgotten the earlier ones: it is higher than
    /// any that a voter knows, and than the engine's clock in milliseconds. It orders what is published; what the
    /// engine answers is the present, whatever its epoch.
    pub epoch: u64,
    /// Drawn at random for each period, and kept when it ends.
    pub mark: u64,
}

/// An open period of a breaker, as the engine sees it now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// The identity of the period.
    pub id: PeriodId,
    /// The time until a probe is allowed, in milliseconds. At most [`open_ms`](Self::open_ms).
    pub remaining_ms: u32,
    /// The number of milliseconds for which an instance still holds the right to probe; 0 if none does.
    pub leased_ms: u32,
    /// The length in all, in milliseconds.
    pub open_ms: u32,
    /// Periods in a row, this one included.
    pub trips: u8,
}

/// The engine's state of a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The breaker is open for the whole fleet.
    Open(Period),
    /// A probe found the resource healthy.
    Closed(PeriodId),
}

impl Notice {
    /// The period that the notice is about; if that has ended, with the epoch of its end.
    pub const fn id(&self) -> PeriodId {
        match self {
            Self::Open(period) => period.id,
            Self::Closed(id) => *id,
        }
    }
}

/// A message that the engine publishes to all instances at each change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The name of the breaker.
    pub name: Name,
    /// The breaker's state.
    pub notice: Notice,
}

/// A request of an instance to the engine, about one breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// The breaker has tripped here because of its outcomes. With votes of `quorum` different instances within the
    /// window a period begins, which is as long as at least so many of them would be open on their own.
    Vote {
        /// The number of votes that open it for all.
        quorum: u32,
        /// The number of milliseconds after its trip for which a vote counts.
        window_ms: u32,
        /// The number of milliseconds since it tripped here.
        age_ms: u32,
        /// The number of milliseconds for which it is still open here.
        open_ms: u32,
        /// The highest epoch known here.
        known: u64,
    },
    /// Asks for the right to probe, for `lease_ms`. An instance that has it asks again to extend it to that long from
    /// now.
    Bid {
        /// The period.
        id: PeriodId,
        /// The duration of the lease, in milliseconds.
        lease_ms: u32,
    },
    /// Reports what a probe found. The report does not count if the period is no longer this one; a failure does not
    /// count either if another instance holds the right by now.
    Finding {
        /// The period.
        id: PeriodId,
        /// The finding.
        finding: Finding,
    },
}

/// The finding of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The resource is back.
    Healthy,
    /// The resource is not back, as far as this instance can tell. The first instance to say so only puts off the next
    /// probe; when a second one says so, a longer period begins. If the first one says so again, it only gives back the
    /// right to probe.
    Failed {
        /// The number of milliseconds that the breaker should be open, growth and jitter included. Of the two instances
        /// that report one, the lesser time applies.
        open_ms: u32,
        /// The number of milliseconds that another instance should wait before it probes. Capped at the open time so
        /// far.
        pause_ms: u32,
    },
}

/// The engine's answer to an [`Ask`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// `true` if the request was done: a bid was won, or a finding counted. For a vote: `true` if a period is running.
    pub done: bool,
    /// The number of votes that count, if no period is running.
    pub votes: u32,
    /// The state of the breaker now; `None` if the engine knows nothing of it, which means closed.
    pub notice: Option<Notice>,
}

/// Everything that the engine knows about the breakers of a fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Instances that have read recently, this one included.
    pub living: u32,
    /// Breakers that are open, or recently were. Empty while there is [more](Self::more).
    pub messages: Vec<Message>,
    /// `true` if there is more to read: read again at once. A large fleet is read in parts, each within the time limit.
    pub more: bool,
}
