// SPDX-License-Identifier: MIT OR Apache-2.0
//! The figures of one run of a TCP scene.

use std::time::Duration;

use atomic_breaker_http::State;

use super::load::{Call, Outcome, Run};
use super::scenario::{Mode, SLOW};
use super::scene::Scene;

pub(crate) struct Figures {
    pub(crate) tried: usize,
    pub(crate) answered: usize,
    pub(crate) in_time: usize,
    pub(crate) wasted: usize,
    pub(crate) waited: Duration,
    pub(crate) rejected: usize,
    /// Half of all calls took less, and 99 of 100.
    pub(crate) all: (Duration, Duration),
    /// The same of the calls while the server was dead.
    pub(crate) outage: (Duration, Duration),
    /// From the recovery of the server to normal service.
    pub(crate) recovered: Option<Duration>,
    pub(crate) breakdowns: usize,
    pub(crate) probes: Option<usize>,
}

impl Figures {
    pub(crate) fn of(run: &Run) -> Self {
        let calls = &run.calls;
        let count = |is: &dyn Fn(&Call) -> bool| calls.iter().filter(|call| is(call)).count();
        let failed = |call: &Call| call.outcome == Outcome::Failed;
        let latencies = |is: &dyn Fn(&Call) -> bool| {
            half_and_most(calls.iter().filter(|c| is(c)).map(|call| call.took))
        };
        Self {
            tried: calls.len(),
            answered: count(&|call| call.outcome == Outcome::Answered),
            in_time: count(&is_good),
            wasted: count(&failed),
            waited: calls
                .iter()
                .filter(|call| failed(call))
                .map(|call| call.took)
                .sum(),
            rejected: count(&|call| call.outcome == Outcome::Rejected),
            all: latencies(&|_| true),
            outage: latencies(&|call| run.scene.mode_at(call.began).is_dead()),
            recovered: recovered(run.scene, calls),
            breakdowns: run.breakdowns,
            probes: run.history.as_ref().map(|history| {
                // Every half-open begins with one probe, and one success closes it.
                let half_open = history
                    .iter()
                    .filter(|(_, told)| told.to == State::HalfOpen);
                half_open.count()
            }),
        }
    }
}

/// Answered sooner than by a slow server.
fn is_good(call: &Call) -> bool {
    call.outcome == Outcome::Answered && call.took < SLOW
}

/// Half of the times are shorter, and 99 of 100.
pub(crate) fn half_and_most(times: impl Iterator<Item = Duration>) -> (Duration, Duration) {
    let mut times: Vec<_> = times.collect();
    times.sort_unstable();
    (percentile(&times, 50), percentile(&times, 99))
}

fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let index = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(index).copied().unwrap_or_default()
}

/// From the recovery of the server to the first tenth of a second in which nearly all calls are good.
fn recovered(scene: &Scene<Mode>, calls: &[Call]) -> Option<Duration> {
    let tenth = Duration::from_millis(100);
    let recovery = scene.recovery();
    let starts = (0_u32..).map(|n| recovery + tenth * n / 4);
    starts
        .take_while(|start| *start + tenth <= scene.end)
        .find_map(|start| {
            let within = calls
                .iter()
                .filter(|c| (start..start + tenth).contains(&c.began));
            let (all, good) = within.fold((0, 0), |(all, good), call| {
                (all + 1, good + u32::from(is_good(call)))
            });
            (all >= 10 && good * 100 >= all * 95).then(|| start.saturating_sub(recovery))
        })
}
