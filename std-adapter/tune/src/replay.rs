//! The calls of a log once more, before breakers with other settings.

use std::iter::Peekable;
use std::time::Duration;

use atomic_breaker::Config;
use atomic_breaker_server::RegistryError;

use crate::call::{Call, Ending};
use crate::callers::{Callers, Closest};
use crate::cold::{ColdServer, ColdServers};
use crate::ends::Ends;
use crate::engine::{Source, Watch, play};
use crate::figures::{Figures, Score, UsefulWithin};
use crate::guard::{Change, Keys};
use crate::incident::{incidents, recoveries};
use crate::log::Log;

/// How a log is replayed.
///
/// Further tries of a request are calls like any other: they begin when they began in the log, also if the breaker rejects the
/// try before. So settings that reject the first try of many requests are charged for their retries as well.
#[derive(Clone, Copy, Debug)]
#[must_use]
#[non_exhaustive]
pub struct Replay {
    /// [`keys`](Self::keys).
    pub keys: Keys,
    /// [`useful_within`](Self::useful_within).
    pub useful_within: Option<Duration>,
    /// [`callers`](Self::callers): how many, and how often each calls.
    pub callers: Option<(u32, Duration)>,
    /// [`cold_server`](Self::cold_server).
    pub cold_server: Option<ColdServer>,
    /// [`seed`](Self::seed).
    pub seed: u64,
}

impl Default for Replay {
    fn default() -> Self {
        Self::new()
    }
}

impl Replay {
    /// One breaker, and every answer is useful.
    pub const fn new() -> Self {
        Self {
            keys: Keys::One,
            useful_within: None,
            callers: None,
            cold_server: None,
            seed: 0,
        }
    }

    /// One breaker for all calls, or one per key.
    pub const fn keys(mut self, keys: Keys) -> Self {
        self.keys = keys;
        self
    }

    /// Answers that take longer are of no use to the callers: such calls count as wasted.
    pub const fn useful_within(mut self, limit: Duration) -> Self {
        self.useful_within = Some(limit);
        self
    }

    /// The calls are those of that many callers, at least one, each of which makes a call `every` so often, at least
    /// 1 µs, unless it still waits for the one before.
    ///
    /// Without this, calls begin when they began in the log, whatever the breaker does. That is right where they come
    /// from outside, as requests to a server do. But callers who wait for each call make fewer of them while the resource
    /// hangs, and more of them when a breaker rejects them at once: calls that the log does not have. Here such a call
    /// meets what the call of the log met that began closest to it.
    ///
    /// # Panics
    /// If there is no caller, or no time between calls.
    pub const fn callers(mut self, number: u32, every: Duration) -> Self {
        assert!(number > 0, "at least one caller makes the calls");
        assert!(
            every.as_micros() > 0,
            "callers make a call every 1 µs at most"
        );
        self.callers = Some((number, every));
        self
    }

    /// After each incident of the log its resource is cold: it bears a share of its usual load at first, and calls beyond
    /// that fail. So a replay shows what it would cost to let all calls back at once. A [stream](Self::stream) does not
    /// know when an incident has ended, and plays no cold servers.
    pub const fn cold_server(mut self, server: ColdServer) -> Self {
        self.cold_server = Some(server);
        self
    }

    /// Where jitter and the choices of a gradual return come from.
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    pub(crate) fn useful(&self) -> UsefulWithin {
        UsefulWithin(self.useful_within.map_or(u32::MAX, |limit| {
            u32::try_from(limit.as_micros()).unwrap_or(u32::MAX)
        }))
    }

    /// Replays a log in memory.
    pub fn run(&self, config: &Config, log: &Log) -> Result<Replayed, RegistryError> {
        let mut score = Score::new(1, self.useful());
        let changes = self.play_log(Some(config), log, |call| call.in_part(0), &mut score)?;
        let ends = Ends::of_open(&log.calls, self.keys, &changes);
        ends.charge(&changes, &mut score.parts);
        Ok(Replayed {
            figures: score.total(),
            changes,
        })
    }

    /// Replays calls in the order of their start, without keeping them: for a log larger than memory.
    pub fn stream(
        &self,
        config: &Config,
        calls: impl Iterator<Item = Call>,
    ) -> Result<Replayed, RegistryError> {
        let mut score = Score::new(1, self.useful());
        let calls = calls.map(|call| call.in_part(0));
        let changes = self.play(Some(config), calls, ColdServers::default(), &mut score)?;
        Ok(Replayed {
            figures: score.total(),
            changes,
        })
    }

    /// What the calls cost without a breaker.
    pub fn without(&self, log: &Log) -> Figures {
        let mut score = Score::new(1, self.useful());
        // Without a breaker there are no settings that might not fit.
        let _ = self.play_log(None, log, |call| call.in_part(0), &mut score);
        score.total()
    }

    /// Plays a log, and cold servers if they are asked for.
    pub(crate) fn play_log(
        &self,
        config: Option<&Config>,
        log: &Log,
        part: impl Fn(Call) -> Call,
        watch: &mut impl Watch,
    ) -> Result<Vec<Change>, RegistryError> {
        let cold = self.cold_servers(log);
        let calls = log.calls.iter().copied().map(part);
        self.play(config, calls, cold, watch)
    }

    fn cold_servers(&self, log: &Log) -> ColdServers {
        let Some(server) = self.cold_server else {
            return ColdServers::default();
        };
        if log.recoveries.is_empty() {
            let found = recoveries(&log.calls, &incidents(&log.calls, self.useful()));
            return ColdServers::new(server, &found);
        }
        ColdServers::new(server, &log.recoveries)
    }

    fn play(
        &self,
        config: Option<&Config>,
        calls: impl Iterator<Item = Call>,
        cold: ColdServers,
        watch: &mut impl Watch,
    ) -> Result<Vec<Change>, RegistryError> {
        if let Some((number, every)) = self.callers {
            let every_us = u64::try_from(every.as_micros()).unwrap_or(u64::MAX / 2);
            let source = Callers::new(number, every_us, Closest::new(calls, cold));
            return play(config, self.keys, self.seed, source, watch);
        }
        let calls = calls.peekable();
        play(config, self.keys, self.seed, InOrder { calls, cold }, watch)
    }
}

/// What became of the calls of a log.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Replayed {
    /// The counts.
    pub figures: Figures,
    /// What the breakers did, in the order of time.
    pub changes: Vec<Change>,
}

/// Calls at the times of the log, whatever becomes of them.
struct InOrder<I: Iterator<Item = Call>> {
    calls: Peekable<I>,
    cold: ColdServers,
}

impl<I: Iterator<Item = Call>> Source for InOrder<I> {
    #[inline]
    fn next_start_us(&mut self) -> Option<u64> {
        self.calls.peek().map(|call| call.start_us)
    }

    #[inline]
    fn take(&mut self) -> Call {
        self.calls.next().expect("a call was announced")
    }

    #[inline]
    fn made(&mut self, call: &Call) -> Ending {
        self.cold.made(call)
    }
}
