// SPDX-License-Identifier: MIT OR Apache-2.0
//! The inputs of a member, and the actions that it wants done.

use atomic_breaker::Snapshot;

use crate::message::{Answer, Ask, Notice};

/// The circumstances of a step: the time, the engine and the breaker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// Milliseconds on a clock of this instance that never goes back and does not stop.
    pub now_ms: u64,
    /// `true` if the engine has answered recently, and no request has gone unanswered since.
    pub is_connected: bool,
    /// Half-open here: a probe is in flight, or one of several has succeeded.
    pub is_probing: bool,
    /// Half-open here: how many of several probes have succeeded.
    pub successes: u8,
}

impl Context {
    /// The circumstances of a breaker that looks like this.
    pub const fn new(now_ms: u64, is_connected: bool, breaker: &Snapshot) -> Self {
        let successes = breaker.successes();
        Self {
            now_ms,
            is_connected,
            is_probing: breaker.probes_in_flight() > 0 || successes > 0,
            successes,
        }
    }
}

/// Something that happens to a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Something happened here.
    Local(Local),
    /// The engine published something.
    Notice(Notice),
    /// Everything was read, after the connection was lost or to make sure.
    Read {
        /// The time at which it was asked, by [`Context::now_ms`]: anything learned since is newer.
        asked_ms: u64,
        /// The engine's state of this breaker.
        notice: Option<Notice>,
    },
    /// The engine answered, or did not do so within the limit.
    Answer {
        /// The request.
        ask: Ask,
        /// The time at which it was asked, by [`Context::now_ms`].
        asked_ms: u64,
        /// The answer, if there was one.
        answer: Option<Answer>,
    },
    /// Time has passed: [`Member::due_ms`](super::Member::due_ms).
    Time,
}

/// Something that happens at the breaker of this instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Local {
    /// Calls have failed and opened it.
    Tripped {
        /// The open time, in milliseconds.
        open_ms: u32,
        /// `true` if a failure asked for that time.
        is_demanded: bool,
    },
    /// A probe failed, or was cancelled late, and opened it again.
    ProbeFailed {
        /// The open time, in milliseconds.
        open_ms: u32,
    },
    /// Probes succeeded.
    Recovered,
    /// A probe did not report within its lease.
    ProbeLost,
    /// A call was rejected, or waits. Needed only while [`Member::wants_rejections`](super::Member::wants_rejections).
    Rejected,
    /// An operator tripped the breaker.
    TrippedByHand {
        /// The open time, in milliseconds.
        open_ms: u32,
    },
    /// An operator did something else to the breaker.
    Overruled,
}

/// Something that a member wants done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Ask the engine; the answer arrives as [`Input::Answer`].
    Ask(Ask),
    /// Open the breaker here, whatever its state, for so many milliseconds and no longer; if it is already open for
    /// longer, leave it.
    Trip {
        /// The time from now, in milliseconds.
        for_ms: u64,
    },
    /// Like [`Trip`](Self::Trip), but only if the breaker is open.
    Extend {
        /// The time from now, in milliseconds.
        for_ms: u64,
    },
    /// End the open time here: the next call is a probe.
    Probe,
    /// Close it here as if its probes had succeeded, if it is open or half-open.
    Close,
}
