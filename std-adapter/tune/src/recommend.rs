//! The settings that would have cost least, checked on incidents that they were not chosen by.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use atomic_breaker::Config;
use atomic_breaker_registry::RegistryError;
use serde::Serialize;

use crate::figures::{Figures, Score, Worth, count};
use crate::incident::{Incident, incidents, part, part_of};
use crate::log::Log;
use crate::replay::Replay;
use crate::search::{Cost, Search};
use crate::space::{Point, Space};

/// What costs how much, in wasted calls.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Weights {
    /// A call that is rejected though it would have been answered: 5 unless set. It is an error that need not have been;
    /// a wasted call would have been an error anyway.
    pub healthy_rejected: f64,
    /// A second that a caller waits in vain: 1 unless set.
    pub wasted_second: f64,
}

impl Default for Weights {
    fn default() -> Self {
        Self::new()
    }
}

impl Weights {
    /// The usual ones.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            healthy_rejected: 5.0,
            wasted_second: 1.0,
        }
    }

    /// What a rejected call costs that would have been answered, in wasted calls.
    ///
    /// # Panics
    /// If it is negative or not a number.
    #[must_use]
    pub const fn healthy_rejected(mut self, wasted_calls: f64) -> Self {
        assert!(wasted_calls >= 0.0, "a weight is at least 0");
        self.healthy_rejected = wasted_calls;
        self
    }

    /// What a second of waiting in vain costs, in wasted calls.
    ///
    /// # Panics
    /// If it is negative or not a number.
    #[must_use]
    pub const fn wasted_second(mut self, wasted_calls: f64) -> Self {
        assert!(wasted_calls >= 0.0, "a weight is at least 0");
        self.wasted_second = wasted_calls;
        self
    }

    /// What a run has cost, in wasted calls.
    pub fn cost(&self, figures: &Figures) -> f64 {
        self.wasted(figures) + self.healthy_rejected * count(figures.healthy_rejected)
    }

    fn wasted(&self, figures: &Figures) -> f64 {
        count(figures.wasted) + self.wasted_second * figures.wasted_time().as_secs_f64()
    }
}

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

    /// Searches, on all threads of rayon's pool. With three or more incidents the search knows nothing of every third one,
    /// on which its result is then checked.
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

    fn tried(&self, log: &Log, config: &Config, parts: usize) -> Result<Tried, RegistryError> {
        let mut score = Score::new(parts, self.replay.useful());
        let calls = log.calls.iter().copied();
        let changes = self.replay.play(Some(config), calls, &mut score)?;
        let held_out = |part: usize| part > 0 && part.is_multiple_of(HELD_OUT);
        let sum = |take: &dyn Fn(usize) -> bool| {
            let mut sum = Figures::default();
            for (part, figures) in score.parts.iter().enumerate() {
                if take(part) {
                    sum += *figures;
                }
            }
            sum
        };
        let all = score.total();
        Ok(Tried {
            config: *config,
            tuned_on: sum(&|part| !held_out(part)),
            checked_on: sum(&held_out),
            all,
            cost: self.weights.cost(&all),
            trips: changes.iter().filter(|change| change.is_trip()).count() as u64,
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
        let done = std::sync::atomic::AtomicUsize::new(0);
        let eval = |point: Point| {
            let tried = self
                .tried(log, &space.config(point), parts)
                .expect("all settings of the search fit");
            let cost = Cost {
                total: self.weights.cost(&tried.tuned_on),
                wasted: self.weights.wasted(&tried.tuned_on),
                healthy_rejected: count(tried.tuned_on.healthy_rejected),
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
        Ok(Recommendation {
            pick: search.tried[pick].2.clone(),
            today,
            without: self.replay.without(log),
            front: front.iter().map(|it| search.tried[*it].2.clone()).collect(),
            held_out: (0..incidents.len())
                .filter(|place| usize::from(part_of(*place)).is_multiple_of(HELD_OUT))
                .count(),
            incidents,
            tried: search.tried.len(),
            is_complete,
        })
    }
}

/// Every so manieth incident is held out.
const HELD_OUT: usize = 3;

/// Settings, and what they would have cost.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Tried {
    /// The settings.
    pub config: Config,
    /// The whole log.
    pub all: Figures,
    /// The incidents that the search knew, with the calls around them.
    pub tuned_on: Figures,
    /// The incidents that it did not know, with the calls around them.
    pub checked_on: Figures,
    /// What the whole log costs, in wasted calls: see [`Weights`].
    pub cost: f64,
    /// How often breakers opened that let calls through.
    pub trips: u64,
}

/// What a search has found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Recommendation {
    /// The settings to take: by the weights the best for the incidents that the search knew, and of those within half a
    /// percent of it the simplest.
    pub pick: Tried,
    /// Those to compare with.
    pub today: Option<Tried>,
    /// What the log costs without a breaker.
    pub without: Figures,
    /// Pareto's front: settings for which none wastes less without rejecting more healthy calls, from the least wasted on,
    /// judged by the incidents that the search knew.
    pub front: Vec<Tried>,
    /// All incidents, in the order of their start.
    pub incidents: Vec<Incident>,
    /// How many of them the search did not know: 0 if there were fewer than three, and the result is unchecked.
    pub held_out: usize,
    /// How many settings were tried.
    pub tried: usize,
    /// Whether the search came to its end.
    pub is_complete: bool,
}

/// Why nothing is recommended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum NoRecommendation {
    /// The resource was never down for long enough to tell, so nothing shows which settings are better.
    NoIncident {
        /// All calls.
        calls: u64,
        /// Those in vain.
        wasted: u64,
    },
    /// The settings to compare with do not fit.
    Today(RegistryError),
    /// The search was stopped before the first settings were tried.
    Stopped,
}

impl fmt::Display for NoRecommendation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoIncident { calls: 0, .. } => f.write_str("no incident: the log has no calls"),
            Self::NoIncident { calls, wasted } => write!(
                f,
                "no incident: {wasted} of {calls} calls were in vain, and never so many of them close together that the \
                 resource must have been down (five to thirteen in a row, or half of them for a while): replay a log \
                 that has an outage"
            ),
            Self::Today(error) => write!(f, "the settings to compare with: {error}"),
            Self::Stopped => f.write_str("stopped before the first settings were tried"),
        }
    }
}

impl Error for NoRecommendation {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Today(error) => error.source(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
