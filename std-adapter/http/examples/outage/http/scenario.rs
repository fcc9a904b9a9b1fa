//! What happens to the hosts, and when; and how they are called.

use std::time::Duration;

use crate::scene::{Scene, ms};
use crate::warmth::Strength;

/// How a host behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Healthy,
    /// Answers 500.
    Failing,
    /// Answers 503, with a `Retry-After` until it is over.
    Restarting,
    /// Takes requests and never answers.
    Hanging,
    /// Answers [`QUOTA`] requests, then 429 with a `Retry-After` of [`CLOSED`] until that is over, and so on.
    Limited,
    /// Has just come up, and bears little at first. Broken down it answers 503.
    Cold,
}

/// What is called.
pub(crate) struct Host {
    pub(crate) name: &'static str,
    pub(crate) scene: Scene<Mode>,
}

pub(crate) const END: Duration = ms(12_000);

/// All trouble begins and ends together, as where a network or a store that hosts share is out of order.
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

/// How long a healthy host works for an answer.
pub(crate) const WORK: Duration = ms(10);

pub(crate) const QUOTA: u32 = 20;
pub(crate) const CLOSED: Duration = ms(2_000);

/// Bears less than half of its calls at first.
pub(crate) const STRENGTH: Strength = Strength {
    period: ms(500),
    at_first: 8,
    answers_for_one_more: 2,
    down: ms(500),
};

/// A call begins this often, whatever became of those before.
pub(crate) const EVERY: Duration = ms(4);

/// Where the calls go, in turn: every other one to the host that works.
pub(crate) const ORDER: [usize; 8] = [WORKS, FAILS, WORKS, LIMITS, WORKS, HANGS, WORKS, COLD];

/// Calls that may be under way at the same time.
pub(crate) const CALLERS: usize = 64;

/// How long a call waits for its turn while all callers are busy; then it is turned away.
pub(crate) const PATIENCE: Duration = ms(250);

/// An answer within this time is one in good time.
pub(crate) const GOOD: Duration = ms(100);
