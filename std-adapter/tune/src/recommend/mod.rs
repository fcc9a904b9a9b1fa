//! The settings that would have cost least, checked on incidents that they were not chosen by.

mod found;
#[cfg(test)]
mod tests;
mod weights;

pub use found::{NoRecommendation, Outage, Recommendation, Tried};
pub use weights::Weights;

use std::time::Duration;

use atomic_breaker::Config;
use atomic_breaker_server::RegistryError;

use crate::ends::Ends;
use crate::figures::{Figures, Score, Worth, count};
use crate::incident::{Incident, incidents, recoveries};
use crate::log::Log;
use crate::parts::{part, parts_of};
use crate::replay::Replay;
use crate::search::{Cost, Search};
use crate::space::{Point, Space};

/// Is told how far a search is, and may end it.
pub trait Progress: Sync {
    /// So many of at most so many settings have been tried.
    fn tried(&self, done: usize, of: usize) {
        let _ = (done, of);
    }

    /// Whether the search is to end with the best so far. Settings that are being tried are left.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// Nobody.
impl Progress for () {}

/// A search for settings.
///
/// ```
/// use atomic_breaker_tune::{Call, Ending, Log, Met, Recommend};
/// use std::time::Duration;
///
/// // 100 calls a second for ten minutes; every minute the resource is down for five seconds.
/// let calls = (0..60_000_u64).map(|number| {
///     let down = number % 6_000 >= 5_500;
///     let met = if down { Met::Failure } else { Met::Success };
///     Call::new(number * 10_000, Ending::new(met, Duration::from_millis(20)))
/// });
/// let mut log = Log::new(calls.collect(), Vec::new());
///
/// let found = Recommend::new().tries(200).run(&mut log, &())?;
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
    seed: u64,
}

impl Default for Recommend {
    fn default() -> Self {
        Self::new()
    }
}

impl Recommend {
    /// One breaker, the usual weights, 1,000 tries.
    pub const fn new() -> Self {
        Self {
            replay: Replay::new(),
            today: None,
            weights: Weights::new(),
            tries: 1_000,
            seed: 0,
        }
    }

    /// How the log is replayed.
    pub const fn replay(mut self, replay: Replay) -> Self {
        self.replay = replay;
        self
    }

    /// Settings to compare with, such as today's.
    pub const fn today(mut self, today: Config) -> Self {
        self.today = Some(today);
        self
    }

    /// What costs how much.
    pub const fn weights(mut self, weights: Weights) -> Self {
        self.weights = weights;
        self
    }

    /// How many settings are tried at the most: 1,000 unless set, at least 1.
    pub const fn tries(mut self, tries: usize) -> Self {
        self.tries = tries;
        self
    }

    /// Which settings are tried: the same seed tries the same, with any number of threads.
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Searches, on all threads of rayon's pool. With three or more outages the search knows nothing of every third one,
    /// on which its result is then checked. Incidents of several keys that overlap are one outage.
    pub fn run(
        &self,
        log: &mut Log,
        progress: &dyn Progress,
    ) -> Result<Recommendation, NoRecommendation> {
        let incidents = self.divide(log);
        let Some((incidents, parts)) = incidents else {
            return Err(self.nothing(log));
        };
        let space = Space::new(self.slow_limits(log));
        self.search(log, &space, incidents, parts, progress)
    }

    /// Finds the incidents, and gives each call the number of its part. `None` if there are none.
    fn divide(&self, log: &mut Log) -> Option<(Vec<Incident>, usize)> {
        let incidents = incidents(&log.calls, self.replay.useful());
        let parts = part(&mut log.calls, &incidents);
        log.recoveries = recoveries(&log.calls, &incidents);
        (!incidents.is_empty()).then_some((incidents, parts))
    }

    fn nothing(&self, log: &Log) -> NoRecommendation {
        let figures = self.replay.without(log);
        NoRecommendation::NoIncident {
            calls: figures.calls,
            wasted: figures.wasted,
        }
    }

    /// Limits for slow calls that useful calls hardly ever reach: how long they may take to be useful, and two and five
    /// times as long as all but one in a thousand of them take.
    fn slow_limits(&self, log: &Log) -> Vec<Duration> {
        let useful = self.replay.useful();
        let mut times: Vec<u32> = log
            .calls
            .iter()
            .map(crate::Call::ending)
            .filter(|ending| useful.worth(*ending) == Worth::Useful)
            .map(|ending| ending.duration_us)
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

    /// Whether a probe comes just before a recovery or just after it is luck: in small logs the mean of several runs counts,
    /// each with other jitter.
    fn runs(log: &Log) -> u64 {
        (RUN_CALLS / log.calls.len().max(1) as u64).clamp(1, MOST_RUNS)
    }

    /// The sums of all runs by part of the log, and how often breakers opened.
    fn by_part(
        &self,
        log: &Log,
        config: &Config,
        (parts, ends): (usize, &Ends),
    ) -> Result<(Vec<Figures>, u64), RegistryError> {
        let (mut sums, mut trips) = (vec![Figures::default(); parts], 0);
        for run in 0..Self::runs(log) {
            let mut score = Score::new(parts, self.replay.useful());
            let replay = self.replay.seed(self.replay.seed.wrapping_add(run));
            let changes = replay.play_log(Some(config), log, |call| call, &mut score)?;
            ends.charge(&changes, &mut score.parts);
            trips += changes.iter().filter(|change| change.is_trip()).count() as u64;
            for (sum, figures) in sums.iter_mut().zip(score.parts) {
                *sum += figures;
            }
        }
        Ok((sums, trips))
    }

    /// What each outage costs without a breaker, and with these settings.
    fn outages(
        &self,
        log: &Log,
        config: &Config,
        incidents: &[Incident],
        parts: (usize, &Ends),
    ) -> Vec<Outage> {
        let numbers = parts_of(incidents);
        // Beyond, several outages have the same number.
        if numbers.windows(2).any(|pair| pair[1] < pair[0]) {
            return Vec::new();
        }
        let mut without = Score::new(parts.0, self.replay.useful());
        let played = self.replay.play_log(None, log, |call| call, &mut without);
        let (Ok(_), Ok((with, _))) = (played, self.by_part(log, config, parts)) else {
            return Vec::new();
        };
        let mut outages: Vec<Outage> = Vec::new();
        for (place, number) in numbers.iter().enumerate() {
            if place > 0 && numbers[place - 1] == *number {
                if let Some(last) = outages.last_mut() {
                    last.incidents.end = place + 1;
                }
                continue;
            }
            let part = usize::from(*number);
            let (without, pick) = (without.parts[part], with[part].mean_of(Self::runs(log)));
            outages.push(Outage {
                incidents: place..place + 1,
                without,
                cost_without: self.weights.cost(&without),
                pick,
                cost: self.weights.cost(&pick),
            });
        }
        outages
    }

    fn tried(
        &self,
        log: &Log,
        config: &Config,
        (parts, ends): (usize, &Ends),
    ) -> Result<Tried, RegistryError> {
        let (mut tuned_on, mut checked_on) = (Figures::default(), Figures::default());
        let runs = Self::runs(log);
        let (by_part, trips) = self.by_part(log, config, (parts, ends))?;
        for (part, figures) in by_part.iter().enumerate() {
            if part > 0 && part.is_multiple_of(HELD_OUT) {
                checked_on += *figures;
            } else {
                tuned_on += *figures;
            }
        }
        let (tuned_on, checked_on) = (tuned_on.mean_of(runs), checked_on.mean_of(runs));
        let mut all = tuned_on;
        all += checked_on;
        Ok(Tried {
            config: *config,
            tuned_on,
            checked_on,
            all,
            cost: self.weights.cost(&all),
            trips: trips.div_ceil(runs),
        })
    }

    fn search(
        &self,
        log: &Log,
        space: &Space,
        incidents: Vec<Incident>,
        parts: usize,
        progress: &dyn Progress,
    ) -> Result<Recommendation, NoRecommendation> {
        let ends = Ends::of(&log.calls, self.replay.keys);
        let parts = (parts, &ends);
        let done = std::sync::atomic::AtomicUsize::new(0);
        let eval = |point: Point| {
            let tried = self
                .tried(log, &space.config(point), parts)
                .expect("all settings of the search fit");
            let cost = Cost {
                total: self.weights.cost(&tried.tuned_on),
                wasted: self.weights.wasted(&tried.tuned_on),
                healthy_rejected: count(tried.tuned_on.useful_rejected()),
            };
            let done = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
            progress.tried(done, self.tries);
            (cost, tried)
        };
        let today = self.today.map(|today| self.tried(log, &today, parts));
        let today = today.transpose().map_err(NoRecommendation::Today)?;
        let mut search = Search::new(space, self.tries, self.seed);
        let is_complete = search.run(eval, || progress.is_stopped());
        let Some(pick) = search.pick() else {
            return Err(NoRecommendation::Stopped);
        };
        let front = search.front();
        let pick = search.tried[pick].2.clone();
        let without = self.replay.without(log);
        Ok(Recommendation {
            outages: self.outages(log, &pick.config, &incidents, parts),
            pick,
            today,
            without,
            cost_without: self.weights.cost(&without),
            front: front.iter().map(|it| search.tried[*it].2.clone()).collect(),
            held_out: parts_of(&incidents)
                .into_iter()
                .filter(|part| usize::from(*part).is_multiple_of(HELD_OUT))
                .count(),
            incidents,
            tried: search.tried.len(),
            is_complete,
        })
    }
}

/// Runs of a small log have so many calls together, and there are at most so many.
const RUN_CALLS: u64 = 500_000;
const MOST_RUNS: u64 = 4;

/// Every so manieth outage is held out.
const HELD_OUT: usize = 3;
