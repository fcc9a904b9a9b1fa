// SPDX-License-Identifier: MIT OR Apache-2.0
//! The calls of a log once more, before breakers with other settings.

mod closest;

use std::ops::Range;
use std::time::Duration;

use crate::simulate::engine::{BreakerScope, Callers, Completion, PlannedCall, UsefulWithin, run};
use crate::simulate::{ColdServer, Figures, StateChange};
use atomic_breaker::Config;
use atomic_breaker_server::RegistryError;

use crate::log::{CallLog, ColdServers, Ends, LoggedCall, still_open};
use closest::Closest;

/// The settings of a log's replay.
///
/// Further tries of a request are calls like any other: they begin when they began in the log, also if the breaker rejects the
/// try before. So settings that reject the first try of many requests are charged for their retries as well.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Replay {
    pub(crate) breakers: BreakerScope,
    pub(crate) useful_within: Option<Duration>,
    /// The number of callers, and the interval of each one's calls.
    callers: Option<(u32, Duration)>,
    cold_server: Option<ColdServer>,
    pub(crate) seed: u64,
}

impl Default for Replay {
    fn default() -> Self {
        Self::new()
    }
}

impl Replay {
    /// A replay with one breaker, to whose callers every answer is useful.
    pub const fn new() -> Self {
        Self {
            breakers: BreakerScope::Single,
            useful_within: None,
            callers: None,
            cold_server: None,
            seed: 0,
        }
    }

    /// Sets which calls share a breaker: all of them unless set.
    pub const fn breakers(mut self, breakers: BreakerScope) -> Self {
        self.breakers = breakers;
        self
    }

    /// Sets the time after which an answer is useless to its caller, so that the call counts as wasted: never unless
    /// set.
    pub const fn useful_within(mut self, limit: Duration) -> Self {
        self.useful_within = Some(limit);
        self
    }

    /// Takes the calls as those of that many callers, each of which makes a call `every` so often unless it still waits for
    /// the one before.
    ///
    /// Without this, calls begin when they began in the log, whatever the breaker does. That is right where they come
    /// from outside, as requests to a server do. But callers who wait for each call make fewer of them while the resource
    /// hangs, and more of them when a breaker rejects them at once: calls that the log does not have. Such a call ends as the
    /// call of the log did that began closest to it.
    ///
    /// # Panics
    /// If `number` is 0, or `every` less than 1 µs.
    pub const fn callers(mut self, number: u32, every: Duration) -> Self {
        assert!(number > 0, "callers must not be 0");
        assert!(every.as_micros() > 0, "every must be at least 1 µs");
        self.callers = Some((number, every));
        self
    }

    /// Makes resources cold after each incident of the log: they bear a share of their usual load at first, and calls beyond
    /// that fail. So a replay shows what it would cost to let all calls back at once. A [stream](Self::stream) does not
    /// know when an incident has ended, and plays no cold servers.
    pub const fn cold_server(mut self, server: ColdServer) -> Self {
        self.cold_server = Some(server);
        self
    }

    /// The seed of jitter, of the choices of a gradual return, and of a [search](crate::Recommend): 0 unless set.
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    pub(crate) fn useful(&self) -> UsefulWithin {
        UsefulWithin::new(self.useful_within)
    }

    /// Replays a log in memory.
    pub fn run(&self, config: &Config, log: &CallLog) -> Result<Replayed, RegistryError> {
        let (mut figures, changes) = self.counts(Some(config), log, 1, |_| Some(0))?;
        if still_open(&changes).next().is_some() {
            Ends::of(&log.calls, self.breakers).charge(&changes, &mut figures);
        }
        Ok(Replayed {
            figures: figures[0],
            changes,
        })
    }

    /// Replays calls in the order of their start, without keeping them: for a log larger than memory. The end of a key is not
    /// noticed, so [`Figures::rejected_after_end`] is 0.
    pub fn stream(
        &self,
        config: &Config,
        calls: impl Iterator<Item = LoggedCall>,
    ) -> Result<Replayed, RegistryError> {
        let (mut figures, useful) = (Figures::default(), self.useful());
        let watch = |call: &PlannedCall, completion| figures.add(call, completion, useful);
        let changes = self.play(Some(config), calls, ColdServers::default(), watch)?;
        Ok(Replayed { figures, changes })
    }

    /// The cost of a log's calls without a breaker.
    pub fn without(&self, log: &CallLog) -> Figures {
        let played = self.counts(None, log, 1, |_| Some(0));
        // Without a breaker there are no settings that might not fit.
        played.map_or_else(|_| Figures::default(), |(figures, _)| figures[0])
    }

    /// Replays a log and shows a stretch of it, in microseconds since its beginning, in so many moments, at least one; of all
    /// keys, or of one. Without settings there is no breaker.
    pub fn timeline(
        &self,
        config: Option<&Config>,
        log: &CallLog,
        key: Option<u32>,
        stretch_us: Range<u64>,
        moments: usize,
    ) -> Result<ReplayTimeline, RegistryError> {
        let moments = moments.max(1);
        let length_us = stretch_us.end.saturating_sub(stretch_us.start) / moments as u64;
        let is_shown = |of: u32| key.is_none_or(|key| key == of);
        let (moments, mut changes) = self.counts(config, log, moments, |call| {
            let since = call.start_us.checked_sub(stretch_us.start);
            let moment = since.filter(|_| is_shown(call.key))? / length_us.max(1);
            usize::try_from(moment).ok()
        })?;
        changes.retain(|change| is_shown(change.key));
        Ok(ReplayTimeline { moments, changes })
    }

    /// Counts by fold.
    pub(crate) fn by_fold(
        &self,
        config: Option<&Config>,
        log: &CallLog,
        folds: usize,
    ) -> Result<(Vec<Figures>, Vec<StateChange>), RegistryError> {
        self.counts(config, log, folds, |call| Some(usize::from(call.tag)))
    }

    /// Replays a log, with cold servers if they are asked for, and counts each call in one of so many places, or in none.
    pub(crate) fn counts(
        &self,
        config: Option<&Config>,
        log: &CallLog,
        places: usize,
        place: impl Fn(&PlannedCall) -> Option<usize>,
    ) -> Result<(Vec<Figures>, Vec<StateChange>), RegistryError> {
        let (mut counts, useful) = (vec![Figures::default(); places], self.useful());
        let cold = self.cold_server.map(|it| log.cold_servers(it, useful));
        let calls = log.calls.iter().copied();
        let changes = self.play(
            config,
            calls,
            cold.unwrap_or_default(),
            |call, completion| {
                if let Some(figures) = place(call).and_then(|it| counts.get_mut(it)) {
                    figures.add(call, completion, useful);
                }
            },
        )?;
        Ok((counts, changes))
    }

    fn play(
        &self,
        config: Option<&Config>,
        calls: impl Iterator<Item = LoggedCall>,
        mut cold: ColdServers,
        watch: impl FnMut(&PlannedCall, Option<Completion>),
    ) -> Result<Vec<StateChange>, RegistryError> {
        let (breakers, seed) = (self.breakers, self.seed);
        let serve = |call: &PlannedCall| cold.completion(call);
        if let Some((number, every)) = self.callers {
            let every_us = u64::try_from(every.as_micros()).unwrap_or(u64::MAX / 2);
            let mut closest = Closest::new(calls);
            let callers = Callers::new(number, every_us, |at| closest.call_at(at));
            return run(config, breakers, seed, callers, serve, watch);
        }
        let calls = calls.map(LoggedCall::played).peekable();
        run(config, breakers, seed, calls, serve, watch)
    }
}

/// The result of the calls of a log.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Replayed {
    /// The counts.
    pub figures: Figures,
    /// The breakers' changes of state, in the order of time.
    pub changes: Vec<StateChange>,
}

/// A stretch of a replay in moments of the same length.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReplayTimeline {
    /// The counts of the calls that began in each moment, in order.
    pub moments: Vec<Figures>,
    /// The changes of these keys' breakers in all of the log.
    pub changes: Vec<StateChange>,
}
