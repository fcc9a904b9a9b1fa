//! What a breaker and those who use it exchange.

use atomic_breaker::{Cause, State};

/// The right to one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permit {
    pub generation: u64,
    pub number: u64,
    pub is_probe: bool,
    /// The tick that stands for when it was granted.
    pub admitted: u64,
    /// Milliseconds; where slow calls are measured.
    pub started: Option<u64>,
}

/// What is reported of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    Success,
    Failure(u32),
    /// A success that took too long.
    Slow,
    TripAtOnce,
    /// Milliseconds.
    RetryAfter(u64),
    Nothing,
}

/// What an operator commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    Trip,
    /// Milliseconds.
    TripFor(u64),
    ForceOpen,
    Release,
    Reset,
    Disable,
    Enable,
    ProbeNow,
    ProbeEarly,
}

/// A transition, as an observer is notified of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notice {
    pub from: State,
    pub to: State,
    pub cause: Cause,
    pub trips: u32,
    /// When it opens: milliseconds from now, to the next tick.
    pub open_for: u64,
}
