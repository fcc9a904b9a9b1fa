// SPDX-License-Identifier: MIT OR Apache-2.0
//! The two promises, and what falls short of them.

use std::fmt;

use atomic_breaker::TripRule;
use atomic_breaker_http::Config;

use crate::figures::Figures;
use crate::scenario::{Down, Scenario};

/// The least share of the calls served without a breaker that are served with it, in percent.
pub const SERVED_PERCENT: f64 = 98.0;

/// Of the calls of an outage at most so many are wasted, in percent, where that is more than the floor.
pub const WASTED_PERCENT: f64 = 2.0;

/// A promise that is not kept.
#[derive(Clone, Debug, PartialEq)]
pub enum Shortfall {
    /// Served, in percent of what is served without a breaker.
    Served(f64),
    /// Wasted calls, and how many may be, in a run.
    Wasted(f64, f64),
    /// Served again only so many seconds after the outage, and how many it may take.
    Back(f64, f64),
}

impl fmt::Display for Shortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Served(percent) => write!(f, "served {percent:.1} % of what is served without"),
            Self::Wasted(calls, limit) => {
                write!(f, "wasted {calls:.1} calls, of at most {limit:.1}")
            }
            Self::Back(seconds, limit) => {
                write!(
                    f,
                    "served again after {seconds:.1} s, of at most {limit:.1} s"
                )
            }
        }
    }
}

/// The number of an outage's calls that may be wasted in a run: 2 % of them, or those that come before the row of
/// failures can have lasted, the row itself, and one for each probe.
pub fn wasted_limit(down: &Down, figures: &Figures, config: &Config) -> f64 {
    let runs = figures.runs.max(1) as f64;
    let share = figures.down as f64 / runs * WASTED_PERCENT / 100.0;
    let floor = figures.early as f64 / runs + f64::from(row(config) + probes(down, config));
    share.max(floor)
}

/// So many failures in a row trip.
const fn row(config: &Config) -> u32 {
    match config.trip {
        TripRule::Consecutive { failures }
        | TripRule::Lasting { failures, .. }
        | TripRule::Within { failures, .. } => failures,
        _ => 0,
    }
}

/// The largest number of probes that an outage needs: one at the end of each open time, the jitter left aside, which
/// lengthens.
pub fn probes(down: &Down, config: &Config) -> u32 {
    let (mut at, mut open) = (0.0, f64::from(config.open_for_ms) / 1_000.0);
    let mut probes = 0;
    while at < down.seconds() as f64 {
        at += open;
        probes += 1;
        if let Some(growth) = config.growth {
            let factor = f64::from(growth.percent().unwrap_or(100)) / 100.0;
            let step = f64::from(growth.step_ms().unwrap_or(0)) / 1_000.0;
            open = (open * factor + step).min(f64::from(growth.max_ms) / 1_000.0);
        }
    }
    probes
}

/// The time after an outage by which everything must be served again, in seconds: a tenth of it or a second, or as long
/// as it asked its callers to stay away and a fifth, as open times have a jitter.
pub fn back_limit(down: &Down) -> f64 {
    (down.seconds() as f64 / 10.0)
        .max(1.0)
        .max(down.asks as f64 * 1.2)
}

/// The shortfalls of a line.
pub fn shortfalls(
    scenario: &Scenario,
    figures: &Figures,
    none: &Figures,
    config: &Config,
) -> Vec<Shortfall> {
    let mut short = Vec::new();
    if scenario.is_partial {
        let served = figures.against(none);
        if served < SERVED_PERCENT {
            short.push(Shortfall::Served(served));
        }
    }
    if let Some(down) = &scenario.down {
        let limit = wasted_limit(down, figures, config);
        let wasted = figures.wasted as f64 / figures.runs.max(1) as f64;
        if wasted > limit {
            short.push(Shortfall::Wasted(wasted, limit));
        }
        let limit = back_limit(down);
        if down.ends_well && figures.back_seconds() > limit {
            short.push(Shortfall::Back(figures.back_seconds(), limit));
        }
    }
    short
}
