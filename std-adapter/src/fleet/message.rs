//! What instances and engine say to each other.

use super::Name;

/// Which open period: the epoch orders the periods of a breaker, the mark tells two with one epoch apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PeriodId {
    /// Rises with each period and each end of one, also when the engine has forgotten those before: it is more than
    /// any that a voter knows, and more than the engine's clock in milliseconds. It orders what is published; what the
    /// engine answers is the present, whatever its epoch.
    pub epoch: u64,
    /// Drawn at random for each period, and kept at its end.
    pub mark: u64,
}

/// An open period of a breaker, as the engine sees it at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// Which one.
    pub id: PeriodId,
    /// The time until somebody may probe, in milliseconds. At most [`open_ms`](Self::open_ms).
    pub remaining_ms: u32,
    /// Somebody holds the right to probe: for so many milliseconds. Otherwise 0.
    pub leased_ms: u32,
    /// How long it is in all, in milliseconds.
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
    /// Which period it speaks of; of one that ended, with the epoch of its end.
    pub const fn id(&self) -> PeriodId {
        match self {
            Self::Open(period) => period.id,
            Self::Closed(id) => *id,
        }
    }
}

/// What the engine publishes to all instances, at each change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The breaker.
    pub name: Name,
    /// Its state.
    pub notice: Notice,
}

/// What an instance wants of the engine, about one breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// It has tripped here, by outcomes. With `quorum` votes of different instances within the window a period
    /// begins, as long as so many of them are open at least.
    Vote {
        /// How many votes open it for all.
        quorum: u32,
        /// For how many milliseconds after its trip a vote counts.
        window_ms: u32,
        /// How many milliseconds ago it tripped here.
        age_ms: u32,
        /// For how many milliseconds more it is open here.
        open_ms: u32,
        /// The highest epoch known here.
        known: u64,
    },
    /// The right to probe, for so many milliseconds; asked for again by who has it, that long from now on.
    Bid {
        /// In which period.
        id: PeriodId,
        /// For how long.
        lease_ms: u32,
    },
    /// What a probe found. Counts unless the period is another; a failure also not if another instance holds the right
    /// by now.
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
    /// It is not, as far as this instance can tell. The first instance that says so only puts off the next probe; when a
    /// second one says so, a longer period begins. What the first one says again changes nothing.
    Failed {
        /// For how many milliseconds it should be open, growth and jitter included. The lesser one of both applies.
        open_ms: u32,
        /// How many milliseconds another instance should wait before it probes. Cut to the open time so far.
        pause_ms: u32,
    },
}

/// What the engine answers to an [`Ask`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Whether it was done: a bid was won, a verdict counted; a vote: whether a period runs.
    pub done: bool,
    /// Votes that count, where no period runs.
    pub votes: u32,
    /// How the breaker stands now; `None` if the engine knows nothing of it, which means closed.
    pub notice: Option<Notice>,
}

/// All that the engine knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Instances that have read lately, this one included.
    pub living: u32,
    /// Breakers that are open, or were lately. Empty while there is [more](Self::more).
    pub messages: Vec<Message>,
    /// Not everything was read yet: read again, at once. A large fleet is read in parts, each within the time limit.
    pub more: bool,
}
