// SPDX-License-Identifier: MIT OR Apache-2.0
//! The terms that a breaker and its users exchange.

use atomic_breaker::{Cause, State};

/// The right to one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Permit {
    pub generation: u64,
    pub number: u64,
    pub is_probe: bool,
    /// The tick in which it was granted.
    pub admitted: u64,
    /// In milliseconds, if slow calls are measured.
    pub started: Option<u64>,
}

/// The report of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    Success,
    Failure(u32),
    /// A success that took too long.
    Slow,
    TripAtOnce,
    /// Milliseconds.
    TripFor(u64),
    /// Milliseconds.
    RetryAfter(u64),
    Nothing,
}

/// A command of an operator.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Notice {
    pub from: State,
    pub to: State,
    pub cause: Cause,
    pub trips: u32,
    /// The open time in milliseconds, rounded up to a tick, if it opens.
    pub open_for: u64,
}
