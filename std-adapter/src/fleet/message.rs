//! What instances and engine say to each other.

use super::Name;

/// Which open period: the epoch orders the periods of a breaker, the mark tells two with one epoch apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PeriodId {
    /// Rises with each period and each end of one. Never falls, whatever the engine forgets: it is more than
    /// any that a voter knows, and more than the engine's clock in milliseconds.
    pub epoch: u64,
    /// Drawn at random for each period. Stays when its epoch is [raised](Ask::Raise).
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
        /// For how many milliseconds a vote counts.
        window_ms: u32,
        /// For how many milliseconds it is open here.
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
    /// What a probe found. Counts unless the period is another, or somebody else holds the right by now.
    Verdict {
        /// In which period.
        id: PeriodId,
        /// What it found.
        verdict: Verdict,
    },
    /// This instance knows of a later epoch than the one that the engine gave this period, so it must be raised, or
    /// some do not hear.
    Raise {
        /// Which period.
        id: PeriodId,
        /// The highest epoch known here.
        known: u64,
    },
}

/// What a probe found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The resource is back.
    Healthy,
    /// It is not: another period begins.
    Failed {
        /// For how many milliseconds, growth and jitter included.
        open_ms: u32,
    },
}

/// What the engine answers to an [`Ask`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Whether it was done: a bid was won, a verdict counted, an epoch was raised; a vote: whether a period runs.
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
    /// Breakers that are open, or were lately.
    pub messages: Vec<Message>,
}
