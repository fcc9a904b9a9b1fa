//! What is said between a breaker and those who use it.

use atomic_breaker::{Cause, State};

/// The right to one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    pub generation: u64,
    pub number: u64,
    pub is_probe: bool,
    pub started: u64,
}

/// What is said about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    Success,
    Failure(u32),
    TripAtOnce,
    /// Milliseconds.
    RetryAfter(u64),
    Nothing,
}

/// What an operator says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Trip,
    ForceOpen,
    Release,
    Reset,
    Disable,
    Enable,
    ProbeNow,
}

/// A transition, as an observer is told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    pub from: State,
    pub to: State,
    pub cause: Cause,
    pub trips: u32,
    /// How long it is open at least.
    pub open_for: u64,
    /// How long it is open at most: more than at least only with jitter.
    pub longest: u64,
}
