//! What instances and the engine tell each other.

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
    /// Which one.
    pub id: PeriodId,
    /// The time until a probe is allowed, in milliseconds. At most [`open_ms`](Self::open_ms).
    pub remaining_ms: u32,
    /// For how many more milliseconds an instance holds the right to probe; 0 if none does.
    pub leased_ms: u32,
    /// Its length in all, in milliseconds.
    pub open_ms: u32,
    /// Periods in a row, this one included.
    pub trips: u8,
}

/// What the engine knows about a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// It is open for the whole fleet.
    Open(Period),
    /// A probe found the resource healthy.
    Closed(PeriodId),
}

impl Notice {
    /// The period that it is about; if that has ended, with the epoch of its end.
    pub const fn id(&self) -> PeriodId {
        match self {
            Self::Open(period) => period.id,
            Self::Closed(id) => *id,
        }
    }
}

/// What the engine publishes to all instances at each change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The breaker.
    pub name: Name,
    /// Its state.
    pub notice: Notice,
}

/// What an instance asks of the engine, about one breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// The breaker has tripped here because of its outcomes. With votes of `quorum` different instances within the
    /// window a period begins, which is as long as at least so many of them would be open on their own.
    Vote {
        /// How many votes open it for all.
        quorum: u32,
        /// For how many milliseconds after its trip a vote counts.
        window_ms: u32,
        /// How many milliseconds ago it tripped here.
        age_ms: u32,
        /// For how many more milliseconds it is open here.
        open_ms: u32,
        /// The highest epoch known here.
        known: u64,
    },
    /// Asks for the right to probe, for `lease_ms`. An instance that has it asks again to extend it to that long from
    /// now.
    Bid {
        /// In which period.
        id: PeriodId,
        /// For how long.
        lease_ms: u32,
    },
    /// What a probe found. It does not count if the period is no longer this one; a failure does not count either if
    /// another instance holds the right by now.
    Verdict {
        /// In which period.
        id: PeriodId,
        /// What it found.
        verdict: Verdict,
    },
}

/// What a probe found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The resource is back.
    Healthy,
    /// It is not, as far as this instance can tell. The first instance to say so only puts off the next probe; when a
    /// second one says so, a longer period begins. If the first one says so again, it only gives back the right to
    /// probe.
    Failed {
        /// For how many milliseconds it should be open, growth and jitter included. The lesser of the two applies.
        open_ms: u32,
        /// How many milliseconds another instance should wait before it probes. Capped at the open time so far.
        pause_ms: u32,
    },
}

/// What the engine answers to an [`Ask`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Whether it was done: a bid was won, or a verdict counted. For a vote: whether a period is running.
    pub done: bool,
    /// How many votes count, if no period is running.
    pub votes: u32,
    /// The state of the breaker now; `None` if the engine knows nothing of it, which means closed.
    pub notice: Option<Notice>,
}

/// Everything that the engine knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Instances that have read recently, this one included.
    pub living: u32,
    /// Breakers that are open, or recently were. Empty while there is [more](Self::more).
    pub messages: Vec<Message>,
    /// Not everything has been read yet: read again at once. A large fleet is read in parts, each within the time
    /// limit.
    pub more: bool,
}
