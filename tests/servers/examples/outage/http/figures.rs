// SPDX-License-Identifier: MIT OR Apache-2.0
//! The figures of one run.

use std::time::Duration;

use super::condition::Counts;
use super::load::{Call, Outcome, Run};
use super::scenario::{COLD, END, GOOD, HOSTS, WORKS};
use crate::figures::half_and_most;
use crate::scene::ms;

pub(crate) struct Figures {
    pub(crate) begun: usize,
    pub(crate) answered: usize,
    pub(crate) in_time: usize,
    pub(crate) failed: usize,
    pub(crate) rejected: usize,
    pub(crate) turned_away: usize,
    /// Half of all calls took less, and 99 of 100.
    pub(crate) all: (Duration, Duration),
    /// The same for calls to the healthy host.
    pub(crate) works: (Duration, Duration),
    pub(crate) breakdowns: usize,
    /// Calls that were rejected after their host had recovered.
    pub(crate) rejected_late: usize,
    pub(crate) hosts: Vec<HostFigures>,
}

/// The figures of one host.
pub(crate) struct HostFigures {
    pub(crate) begun: usize,
    pub(crate) answered: usize,
    pub(crate) in_time: usize,
    pub(crate) turned_away: usize,
    pub(crate) counts: Counts,
    /// From its recovery to normal service.
    pub(crate) recovered: Option<Duration>,
}

impl Figures {
    pub(crate) fn of(run: &Run) -> Self {
        let calls = &run.calls;
        let count = |outcome| calls.iter().filter(|call| call.outcome == outcome).count();
        let works = calls.iter().filter(|call| call.host == WORKS);
        Self {
            begun: calls.len(),
            answered: count(Outcome::Answered),
            in_time: calls.iter().filter(|call| is_good(call)).count(),
            failed: count(Outcome::Failed),
            rejected: count(Outcome::Rejected),
            turned_away: count(Outcome::TurnedAway),
            all: half_and_most(calls.iter().map(|call| call.took)),
            works: half_and_most(works.map(|call| call.took)),
            breakdowns: run.counts[COLD].breakdowns,
            rejected_late: calls.iter().filter(|call| is_rejected_late(call)).count(),
            hosts: (0..HOSTS.len()).map(|host| of_host(run, host)).collect(),
        }
    }

    /// Summed over all hosts.
    pub(crate) fn sum(&self, what: impl Fn(&Counts) -> usize) -> usize {
        self.hosts.iter().map(|host| what(&host.counts)).sum()
    }
}

fn of_host(run: &Run, host: usize) -> HostFigures {
    let calls: Vec<_> = run.calls.iter().filter(|call| call.host == host).collect();
    let count = |outcome| calls.iter().filter(|call| call.outcome == outcome).count();
    HostFigures {
        begun: calls.len(),
        answered: count(Outcome::Answered),
        in_time: calls.iter().filter(|call| is_good(call)).count(),
        turned_away: count(Outcome::TurnedAway),
        counts: run.counts[host],
        recovered: recovered(HOSTS[host].scene.recovery(), &calls),
    }
}

pub(crate) fn is_good(call: &Call) -> bool {
    call.outcome == Outcome::Answered && call.took < GOOD
}

fn is_rejected_late(call: &Call) -> bool {
    let recovery = HOSTS[call.host].scene.recovery();
    call.outcome == Outcome::Rejected && call.arrived >= recovery
}

/// From the recovery of a host to the end of the last half second in which more than one of twenty calls to it got no
/// timely response.
fn recovered(recovery: Duration, calls: &[&Call]) -> Option<Duration> {
    let half = ms(500);
    let starts = (0_u32..).map(|n| recovery + half * n / 4);
    let bad = |start: &Duration| {
        let within = calls
            .iter()
            .filter(|call| (*start..*start + half).contains(&call.arrived));
        let (all, good) = within.fold((0, 0), |(all, good), call| {
            (all + 1, good + u32::from(is_good(call)))
        });
        good * 20 < all * 19
    };
    let windows = starts.take_while(|start| *start + half <= END);
    let last = windows.filter(bad).last();
    let normal = last.map_or(Duration::ZERO, |start| {
        start.saturating_sub(recovery) + half
    });
    (recovery + normal < END).then_some(normal)
}
