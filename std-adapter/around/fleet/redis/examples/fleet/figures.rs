// SPDX-License-Identifier: MIT OR Apache-2.0
//! The figures of one run.

use std::time::Duration;

use crate::log::{Entry, What};
use crate::scene::{QUORUM, Run};

pub(crate) struct Figures {
    pub(crate) tried: usize,
    pub(crate) answered: usize,
    pub(crate) wasted: usize,
    /// From the trip that completes the quorum until the last instance was open.
    pub(crate) protected: Option<Duration>,
    pub(crate) periods: usize,
    pub(crate) probes: usize,
    pub(crate) requests: u64,
    /// From the server's return until the last rejected call.
    pub(crate) back: Duration,
}

impl Figures {
    pub(crate) fn of(run: &Run) -> Self {
        let all = || run.logs.iter().flatten();
        let count = |is: &dyn Fn(What) -> bool| all().filter(|entry| is(entry.what)).count();
        let opened = count(&|what| what == What::Opened);
        let last = all().filter(|entry| entry.what == What::Rejected);
        let last = last.map(|entry| entry.at).max().unwrap_or_default();
        Self {
            tried: count(&|what| !matches!(what, What::Opened | What::Closed)),
            answered: count(&|what| matches!(what, What::Answered | What::ProbeAnswered)),
            wasted: count(&What::is_wasted),
            protected: protected(run),
            periods: if run.is_fleet { run.periods } else { opened },
            probes: count(&What::is_probe),
            requests: run.requests,
            back: last.saturating_sub(run.returned),
        }
    }
}

/// The time at which each instance opened first.
fn protected(run: &Run) -> Option<Duration> {
    let opened = |entry: &&Entry| entry.what == What::Opened;
    let firsts = run.logs.iter().map(|log| Some(log.iter().find(opened)?.at));
    let mut firsts: Vec<Duration> = firsts.collect::<Option<_>>()?;
    firsts.sort_unstable();
    let quorum = firsts.get(QUORUM as usize - 1)?;
    Some(firsts.last()?.saturating_sub(*quorum))
}
