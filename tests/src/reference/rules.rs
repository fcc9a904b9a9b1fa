//! The rules of a breaker, and what its word cannot tell apart.

use std::ops::RangeInclusive;
use std::time::Duration;

use atomic_breaker::Config;

/// The rules of a breaker, and the coarseness of the word that it lives in.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    pub trip: Trip,
    pub open_for: u64,
    /// Factor and maximum.
    pub growth: Option<(u64, u64)>,
    /// Percent, and the seed.
    pub jitter: (u64, u32),
    pub max_retry_after: Option<u64>,
    pub probes: usize,
    pub close_after: u32,
    pub lease: u64,
    pub slow: Option<u64>,
    pub grain: Grain,
}

/// When failures trip.
#[derive(Clone, Copy, Debug)]
pub enum Trip {
    InARow(u32),
    Within(u32, u64),
}

/// What a word cannot tell apart.
#[derive(Clone, Copy, Debug)]
pub struct Grain {
    /// Milliseconds of a tick.
    pub tick: u64,
    /// An open time has so many significant bits.
    pub significant: u32,
    /// Trips in a row are counted up to here.
    pub most_trips: u32,
    /// The longest open time, in ticks.
    pub longest: u64,
    /// How far the time in the word reaches; `None` for ever.
    pub wrap: Option<Wrap>,
}

/// Where the time in the word wraps, in ticks.
#[derive(Clone, Copy, Debug)]
pub struct Wrap {
    pub ticks: i64,
    /// Times that seem to lie ahead of now by up to this much are a step back of the clock.
    pub guard: i64,
}

impl Grain {
    /// The 64-bit word.
    pub const WIDE: Self = Self {
        tick: 1,
        significant: 12,
        most_trips: 31,
        longest: 1 << 31,
        wrap: None,
    };

    /// The 32-bit word with the given tick.
    pub const fn narrow(tick: u64) -> Self {
        Self {
            tick,
            significant: 5,
            most_trips: 7,
            longest: 1 << 14,
            wrap: None,
        }
    }

    /// The same word, with a time that wraps where it is documented to.
    #[must_use]
    pub const fn wrapping(self) -> Self {
        let (ticks, guard) = match self.significant {
            12 => (1 << 32, 1 << 16),
            _ => (1 << 15, 64),
        };
        Self {
            wrap: Some(Wrap { ticks, guard }),
            ..self
        }
    }

    /// A number of milliseconds in whole ticks, no less.
    pub(super) fn up(self, ms: u64) -> u64 {
        ms.div_ceil(self.tick)
    }

    /// An open time in ticks as it is stored: no less, in few significant bits.
    fn stored(self, ticks: u64) -> u64 {
        let mut unit = 1;
        while ticks.div_ceil(unit) >= 1 << self.significant {
            unit *= 2;
        }
        ticks.div_ceil(unit) * unit
    }
}

impl Rules {
    /// The same rules for the real breaker.
    pub fn config(&self) -> Config {
        let ms = Duration::from_millis;
        let mut config = Config::new()
            .open_for(ms(self.open_for))
            .probes(self.probes as u32)
            .close_after(self.close_after)
            .probe_lease(ms(self.lease))
            .jitter_percent(self.jitter.0 as u32)
            .seed(self.jitter.1)
            .tick_log2_ms(self.grain.tick.ilog2());
        config = match self.trip {
            Trip::InARow(failures) => config.consecutive_failures(failures),
            Trip::Within(failures, window) => config.failures_within(failures, ms(window)),
        };
        if let Some((factor, max)) = self.growth {
            config = config.exponential(factor as u32, ms(max));
        }
        if let Some(limit) = self.max_retry_after {
            config = config.max_retry_after(ms(limit));
        }
        if let Some(limit) = self.slow {
            config = config.slow_call(ms(limit));
        }
        config
    }

    /// The shortest and the longest open time of a trip, in ticks.
    pub(super) fn open_ticks(&self, trips: u32, at_least: u64) -> RangeInclusive<u64> {
        let mut open = self.open_for;
        if let Some((factor, max)) = self.growth {
            for _ in 1..trips {
                open = (open * factor).min(max);
            }
        }
        let longest = self.grain.longest * self.grain.tick;
        let at_least = at_least.min(self.max_retry_after.unwrap_or(longest));
        let shortest = self.grain.up(open.max(at_least));
        let jittered = (shortest * (100 + self.jitter.0)).div_ceil(100);
        self.grain.stored(shortest)..=self.grain.stored(jittered.min(self.grain.longest))
    }
}
