// SPDX-License-Identifier: MIT OR Apache-2.0
//! The log of an instance: a line for each call and each change of its breaker.

use std::time::{Duration, SystemTime};

/// The time since the start of the scene, and the event.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) at: Duration,
    pub(crate) what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Answered,
    Failed,
    ProbeAnswered,
    ProbeFailed,
    Rejected,
    /// The breaker opened, or its open time was extended.
    Opened,
    /// It is no longer open or half-open.
    Closed,
}

const NAMES: [(What, &str); 7] = [
    (What::Answered, "answered"),
    (What::Failed, "failed"),
    (What::ProbeAnswered, "probe-answered"),
    (What::ProbeFailed, "probe-failed"),
    (What::Rejected, "rejected"),
    (What::Opened, "opened"),
    (What::Closed, "closed"),
];

/// All processes are on one machine: its clock tells when the scene began. If the clock is set meanwhile, the run is
/// invalid.
pub(crate) fn since(beginning: SystemTime) -> Duration {
    beginning.elapsed().unwrap_or_default()
}

impl Entry {
    pub(crate) fn line(self) -> String {
        let name = NAMES.iter().find(|(what, _)| *what == self.what);
        let name = name.map_or("", |(_, name)| name);
        format!("{} {name}", self.at.as_micros())
    }

    pub(crate) fn parse(line: &str) -> Option<Self> {
        let (at, name) = line.split_once(' ')?;
        let (what, _) = NAMES.iter().find(|(_, known)| *known == name)?;
        Some(Self {
            at: Duration::from_micros(at.parse().ok()?),
            what: *what,
        })
    }
}

impl What {
    /// A call to which the server did not respond.
    pub(crate) const fn is_wasted(self) -> bool {
        matches!(self, Self::Failed | Self::ProbeFailed)
    }

    pub(crate) const fn is_probe(self) -> bool {
        matches!(self, Self::ProbeAnswered | Self::ProbeFailed)
    }
}
