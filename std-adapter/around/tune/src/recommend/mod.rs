// SPDX-License-Identifier: MIT OR Apache-2.0
//! The settings that would have cost least, checked on incidents that they were not chosen by.

mod evaluate;
mod found;
mod search;
mod settings;
mod space;
#[cfg(test)]
mod tests;
mod weights;

pub use found::{Evaluation, NoRecommendation, OutageCost, Recommendation};
pub use settings::builder_line;
pub use weights::Weights;

use std::time::Duration;

use crate::simulate::engine::Usefulness;
use atomic_breaker::Config;

use crate::log::{CallLog, Incident, LoggedCall, folds_of};
use crate::replay::Replay;
use evaluate::{Evaluator, is_held_out};
use search::Search;
use space::SearchSpace;

/// A search for settings.
///
/// ```
/// use atomic_breaker_tune::{CallLog, Completion, Failure, LoggedCall, Outcome, Recommend};
/// use std::time::Duration;
///
/// // 100 calls a second for twenty minutes; every two minutes the resource is down for five seconds.
/// let calls = (0..120_000_u64).map(|number| {
///     let down = number % 12_000 >= 11_500;
///     let outcome = if down { Failure::new().into() } else { Outcome::Success };
///     LoggedCall::new(number * 10_000, Completion::new(outcome, Duration::from_millis(20)))
/// });
/// let mut log = CallLog::new(calls.collect(), Vec::new());
///
/// let found = Recommend::new().tries(200).run(&mut log)?;
/// assert_eq!(found.incidents.len(), 10);
/// assert!(found.pick.all.wasted < found.without.wasted / 10);
/// # Ok::<(), atomic_breaker_tune::NoRecommendation>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Recommend {
    replay: Replay,
    today: Option<Config>,
    weights: Weights,
    tries: usize,
}

impl Default for Recommend {
    fn default() -> Self {
        Self::new()
    }
}

impl Recommend {
    /// A search with one breaker, the usual weights and 1,000 tries.
    pub const fn new() -> Self {
        Self {
            replay: Replay::new(),
            today: None,
            weights: Weights::new(),
            tries: 1_000,
        }
    }

    /// Sets the replay of the log. Its [seed](Replay::seed) also decides the candidates that are tried.
    pub const fn replay(mut self, replay: Replay) -> Self {
        self.replay = replay;
        self
    }

    /// Settings to compare with, such as today's.
    pub const fn today(mut self, today: Config) -> Self {
        self.today = Some(today);
        self
    }

    /// Sets the weights of the costs.
    pub const fn weights(mut self, weights: Weights) -> Self {
        self.weights = weights;
        self
    }

    /// Sets the largest number of candidates that are tried: 1,000 unless set, at least 1.
    pub const fn tries(mut self, tries: usize) -> Self {
        self.tries = tries;
        self
    }

    /// Searches, on all threads of rayon's pool. With three or more outages the search knows nothing of every third one,
    /// on which its result is then checked. Incidents of several keys that overlap are one outage.
    pub fn run(&self, log: &mut CallLog) -> Result<Recommendation, NoRecommendation> {
        self.run_while(log, |_| true)
    }

    /// [`run`](Self::run), which asks before each candidate whether to go on, with how many have been evaluated. If not, the
    /// search ends with the best so far.
    pub fn run_while(
        &self,
        log: &mut CallLog,
        goes_on: impl Fn(usize) -> bool + Sync,
    ) -> Result<Recommendation, NoRecommendation> {
        let (incidents, folds) = log.divide(self.replay.useful());
        if incidents.is_empty() {
            let figures = self.replay.without(log);
            return Err(NoRecommendation::NoIncident {
                calls: figures.calls,
                wasted: figures.wasted,
            });
        }
        let useful = self.replay.useful();
        let is_useful = |call: &LoggedCall| useful.worth(call.completion()) == Usefulness::Useful;
        if !log.calls.iter().any(is_useful) {
            return Err(NoRecommendation::AllFailed {
                calls: log.calls.len() as u64,
            });
        }
        let space = SearchSpace::new(self.slow_limits(log));
        let evaluator = Evaluator::new(&self.replay, self.weights, log, folds);
        self.search(&evaluator, &space, incidents, goes_on)
    }

    /// Limits for slow calls that useful calls hardly ever reach: how long a call may take to be useful, and two and five times
    /// as long as all but one in a thousand useful calls take.
    fn slow_limits(&self, log: &CallLog) -> Vec<Duration> {
        let useful = self.replay.useful();
        let mut times: Vec<u32> = log
            .calls
            .iter()
            .map(LoggedCall::completion)
            .filter(|it| useful.worth(*it) == Usefulness::Useful)
            .map(|it| it.duration_us)
            .collect();
        let mut limits: Vec<Duration> = self.replay.useful_within.into_iter().collect();
        let place = times.len() - times.len().div_ceil(1_000);
        if place < times.len() {
            let (_, most, _) = times.select_nth_unstable(place);
            let most = Duration::from_micros(u64::from(*most));
            limits.extend([2, 5].map(|times| most * times));
        }
        // In whole milliseconds, and no longer than a word holds.
        let whole = |limit: Duration| Duration::from_millis(limit.as_millis() as u64 + 1);
        let mut limits: Vec<_> = limits.into_iter().map(whole).collect();
        limits.retain(|limit| *limit <= Duration::from_secs(600));
        limits.sort_unstable();
        limits.dedup();
        limits
    }

    fn search(
        &self,
        evaluator: &Evaluator<'_>,
        space: &SearchSpace,
        incidents: Vec<Incident>,
        goes_on: impl Fn(usize) -> bool + Sync,
    ) -> Result<Recommendation, NoRecommendation> {
        let today = self.today.map(|today| evaluator.evaluate(&today));
        let today = today.transpose().map_err(NoRecommendation::Today)?;
        let mut search = Search::new(space, evaluator, self.tries);
        let is_complete = search.run(goes_on);
        let pick = search.pick().ok_or(NoRecommendation::Stopped)?;
        let pick = pick.evaluation.clone();
        let without = evaluator.without();
        let folds = folds_of(&incidents).into_iter();
        Ok(Recommendation {
            outages: evaluator.outages(&pick.config, &incidents),
            pick,
            today,
            without,
            cost_without: self.weights.cost(&without),
            front: search.front(),
            held_out: folds.filter(|fold| is_held_out(usize::from(*fold))).count(),
            incidents,
            tried: search.trials.len(),
            is_complete,
        })
    }
}
