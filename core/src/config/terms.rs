//! The settings of several numbers: what trips, how the open time grows, how traffic returns.

/// What the word counts while closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum TripRule {
    /// [Failures with no success between them](super::Config::consecutive_failures).
    Consecutive {
        /// So many trip.
        failures: u32,
    },
    /// [Failures since the first one of a window](super::Config::failures_within), even with successes between them.
    Within {
        /// So many trip.
        failures: u32,
        /// How long a window lasts, in milliseconds.
        window_ms: u32,
    },
    /// Nothing: [the tally alone decides](super::Config::tally_only).
    TallyOnly,
}

/// How traffic [returns](super::Config::gradual_return).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct GradualReturn {
    /// The share of the calls that passes at first, in percent.
    pub first_percent: u8,
    /// How long it takes until all pass, in milliseconds.
    pub over_ms: u32,
}

/// How each open time follows from the one before: multiplied, then lengthened, up to a maximum. Made by
/// [`Config::exponential`](super::Config::exponential) and [`Config::linear`](super::Config::linear).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Growth {
    /// In 256ths.
    factor: u32,
    step_ms: u32,
    /// The longest open time without jitter, in milliseconds.
    pub max_ms: u32,
}

impl Growth {
    pub(crate) const fn exponential(percent: u32, max_ms: u32) -> Self {
        let factor = (percent as u64 * 256).div_ceil(100);
        Self {
            factor: if factor > u32::MAX as u64 {
                u32::MAX
            } else {
                factor as u32
            },
            step_ms: 0,
            max_ms,
        }
    }

    pub(crate) const fn linear(step_ms: u32, max_ms: u32) -> Self {
        Self {
            factor: 256,
            step_ms,
            max_ms,
        }
    }

    /// The factor in percent, as it was set; `None` for linear growth.
    pub const fn percent(self) -> Option<u32> {
        match self.step_ms {
            0 => Some((self.factor as u64 * 100 / 256) as u32),
            _ => None,
        }
    }

    /// The step of linear growth in milliseconds.
    pub const fn step_ms(self) -> Option<u32> {
        match self.step_ms {
            0 => None,
            step_ms => Some(step_ms),
        }
    }

    /// Whether it grows at all.
    pub(crate) const fn grows(self) -> bool {
        self.factor > 256 || self.factor == 256 && self.step_ms > 0
    }

    /// `first_ms` after this many steps.
    pub(crate) const fn after(self, first_ms: u32, steps: u32) -> u32 {
        let mut ms = first_ms;
        let mut step = 0;
        while step < steps && ms < self.max_ms {
            let grown = ((ms as u64 * self.factor as u64) >> 8) + self.step_ms as u64;
            ms = if grown > self.max_ms as u64 {
                self.max_ms
            } else {
                grown as u32
            };
            step += 1;
        }
        ms
    }
}
