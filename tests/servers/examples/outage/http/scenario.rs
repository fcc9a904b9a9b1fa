// SPDX-License-Identifier: MIT OR Apache-2.0
//! The events of the hosts and their times, and how the hosts are called.

use std::time::Duration;

use crate::scene::{Scene, ms};
use crate::warmth::Strength;

/// The mode of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Healthy,
    /// Responds with 500.
    Failing,
    /// Responds with 503, and a `Retry-After` until the outage is over.
    Restarting,
    /// Accepts requests and never responds.
    Hanging,
    /// Serves [`QUOTA`] requests, then responds with 429 and a `Retry-After` of [`CLOSED`] until that has elapsed, and
    /// so on.
    Limited,
    /// Has just started, and can bear little at first. When overloaded it responds with 503.
    Cold,
}

/// The hosts that are called.
pub(crate) struct Host {
    pub(crate) name: &'static str,
    pub(crate) scene: Scene<Mode>,
}

pub(crate) const END: Duration = ms(12_000);

/// All trouble begins and ends together, as if a shared network or store were out of order.
pub(crate) const TROUBLE: Duration = ms(1_500);
pub(crate) const RECOVERY: Duration = ms(6_500);

const fn host(name: &'static str, timeline: &'static [(Duration, Mode)]) -> Host {
    let scene = Scene { timeline, end: END };
    Host { name, scene }
}

pub(crate) static HOSTS: [Host; 5] = [
    host("works", &[(ms(0), Mode::Healthy)]),
    host(
        "fails",
        &[
            (ms(0), Mode::Healthy),
            (TROUBLE, Mode::Failing),
            (ms(4_000), Mode::Restarting),
            (RECOVERY, Mode::Healthy),
        ],
    ),
    host(
        "limits",
        &[
            (ms(0), Mode::Healthy),
            (TROUBLE, Mode::Limited),
            (RECOVERY, Mode::Healthy),
        ],
    ),
    host(
        "hangs",
        &[
            (ms(0), Mode::Healthy),
            (TROUBLE, Mode::Hanging),
            (RECOVERY, Mode::Healthy),
        ],
    ),
    host(
        "cold",
        &[
            (ms(0), Mode::Healthy),
            (TROUBLE, Mode::Failing),
            (RECOVERY, Mode::Cold),
        ],
    ),
];

pub(crate) const WORKS: usize = 0;
pub(crate) const FAILS: usize = 1;
pub(crate) const LIMITS: usize = 2;
pub(crate) const HANGS: usize = 3;
pub(crate) const COLD: usize = 4;

/// The time that a healthy host takes for a response.
pub(crate) const WORK: Duration = ms(10);

pub(crate) const QUOTA: u32 = 20;
pub(crate) const CLOSED: Duration = ms(2_000);

/// It can bear less than half of its calls at first.
pub(crate) const STRENGTH: Strength = Strength {
    period: ms(500),
    at_first: 8,
    answers_for_one_more: 2,
    down: ms(500),
};

/// A call begins this often, whatever the results of the previous ones.
pub(crate) const EVERY: Duration = ms(4);

/// The targets of the calls, in turn: every other one goes to the healthy host.
pub(crate) const ORDER: [usize; 8] = [WORKS, FAILS, WORKS, LIMITS, WORKS, HANGS, WORKS, COLD];

/// Calls that may be under way at the same time.
pub(crate) const CALLERS: usize = 64;

/// The time for which a call waits for its turn while all callers are busy; then it is turned away.
pub(crate) const PATIENCE: Duration = ms(250);

/// A response within this time is timely.
pub(crate) const GOOD: Duration = ms(100);
