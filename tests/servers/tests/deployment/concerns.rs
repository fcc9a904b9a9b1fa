// SPDX-License-Identifier: MIT OR Apache-2.0
//! The subjects of faults, and the time for which each has been healthy.

use std::sync::Mutex;
use std::time::Duration;

use crate::net::{HOSTS, SHOPS};
use crate::trace;

/// A thing that callers rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Matter {
    /// That shops are served by a dependency.
    Host(usize),
    /// That callers are served by a shop, apart from its dependencies.
    Shop(usize),
    /// That jobs are done, apart from their dependencies.
    Jobs,
    /// That the fleet agrees, whatever the dependencies do.
    Fleet,
}

const MATTERS: usize = HOSTS + SHOPS + 2;

impl Matter {
    pub(crate) const ALL_HOSTS: [Self; HOSTS] = [Self::Host(0), Self::Host(1), Self::Host(2)];
    pub(crate) const ALL_SHOPS: [Self; SHOPS] = [Self::Shop(0), Self::Shop(1), Self::Shop(2)];

    const fn place(self) -> usize {
        match self {
            Self::Host(number) => number,
            Self::Shop(number) => HOSTS + number,
            Self::Jobs => HOSTS + SHOPS,
            Self::Fleet => HOSTS + SHOPS + 1,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Concerns(Mutex<[Concern; MATTERS]>);

#[derive(Clone, Copy, Debug, Default)]
struct Concern {
    faults: u32,
    /// The end of the last one.
    since: Duration,
}

impl Concerns {
    pub(crate) fn begin(&self, matters: &[Matter]) {
        let mut concerns = self.0.lock().unwrap();
        for matter in matters {
            concerns[matter.place()].faults += 1;
        }
    }

    pub(crate) fn end(&self, matters: &[Matter]) {
        let mut concerns = self.0.lock().unwrap();
        for matter in matters {
            let concern = &mut concerns[matter.place()];
            concern.faults -= 1;
            concern.since = trace::time();
        }
    }

    /// The time for which no fault has concerned any of these; `None` if one does.
    pub(crate) fn well_for(&self, matters: &[Matter]) -> Option<Duration> {
        let concerns = self.0.lock().unwrap();
        let each = matters.iter().map(|matter| {
            let concern = concerns[matter.place()];
            (concern.faults == 0).then(|| trace::time().saturating_sub(concern.since))
        });
        each.min().flatten()
    }
}
