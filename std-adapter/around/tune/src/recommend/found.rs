// SPDX-License-Identifier: MIT OR Apache-2.0
//! The result of a search, or the reason why it recommends nothing.

use std::error::Error;
use std::fmt;
use std::ops::Range;

use crate::simulate::Figures;
use atomic_breaker::Config;
use atomic_breaker_server::RegistryError;
use serde::Serialize;

use crate::log::Incident;

/// Settings, and what they would have cost: the mean of up to four runs with other jitter, where a log has
/// fewer than 250,000 calls.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Evaluation {
    /// The settings.
    #[serde(rename = "settings")]
    pub config: Config,
    /// The cost of the whole log.
    pub all: Figures,
    /// The cost of the folds that the search knew.
    #[serde(skip)]
    pub tuned_on: Figures,
    /// The cost of the folds that were held out.
    pub checked_on: Figures,
    /// The number of times that breakers opened that let calls through.
    pub trips: u64,
    /// The cost of the whole log, in wasted calls: see [`Weights`](super::Weights).
    pub cost: f64,
}

/// The cost of an outage, together with the calls around it, half way to the next one of the same key. Incidents of
/// several keys that overlap are one outage.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OutageCost {
    /// The places of its incidents in [`Recommendation::incidents`].
    pub incidents: Range<usize>,
    /// The cost of the outage without a breaker.
    pub without: Figures,
    /// The cost of the outage without a breaker, in wasted calls.
    pub cost_without: f64,
    /// The cost of the outage with the settings that are recommended, in wasted calls.
    pub cost: f64,
}

/// The result of a search.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Recommendation {
    /// The settings to take: the best for the incidents that the search knew, by the weights, and of those within half a
    /// percent of it the simplest.
    #[serde(rename = "recommended")]
    pub pick: Evaluation,
    /// The settings to compare with.
    pub today: Option<Evaluation>,
    /// The cost of the log without a breaker.
    pub without: Figures,
    /// The cost of the log without a breaker, in wasted calls.
    pub cost_without: f64,
    /// Pareto's front: settings for which none wastes less without rejecting more healthy calls, from the least wasted on,
    /// judged by the incidents that the search knew.
    #[serde(rename = "others")]
    pub front: Vec<Evaluation>,
    /// All incidents, in the order of their start.
    pub incidents: Vec<Incident>,
    /// The cost of each outage, in the order of their start; empty if there are more than 65,535.
    #[serde(skip)]
    pub outages: Vec<OutageCost>,
    /// The number of incidents that were held out, those of every third outage: 0 if there were fewer than three
    /// outages, and the result is unchecked.
    pub held_out: usize,
    /// The number of candidates that were tried.
    pub tried: usize,
    /// `true` if the search came to its end.
    pub is_complete: bool,
}

impl Recommendation {
    /// The share of the cost that the settings save, compared with no breaker: 0.8 for four fifths, and negative if they cost
    /// more.
    pub fn saves(&self) -> f64 {
        if self.cost_without > 0.0 {
            1.0 - self.pick.cost / self.cost_without
        } else {
            0.0
        }
    }

    /// Returns whether the settings are better than no breaker: they open it, and save at least half a percent of the
    /// cost. In the incidents of some logs a breaker does not help.
    pub fn is_better_than_none(&self) -> bool {
        self.pick.trips > 0 && self.saves() >= 0.005
    }
}

/// The reason why nothing is recommended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum NoRecommendation {
    /// The resource was never down for long enough to tell, so nothing shows which settings are better.
    NoIncident {
        /// All calls.
        calls: u64,
        /// Calls that failed, or were answered too late to be useful.
        wasted: u64,
    },
    /// All calls that say something of the resource failed, so nothing shows what a breaker costs while it works.
    AllFailed {
        /// All calls.
        calls: u64,
    },
    /// The settings to compare with do not fit.
    Today(RegistryError),
    /// The search was stopped before the first candidate was tried.
    Stopped,
}

impl fmt::Display for NoRecommendation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoIncident { calls: 0, .. } => f.write_str("no incident: the log has no calls"),
            Self::NoIncident { calls, wasted: 0 } => write!(
                f,
                "no incident: none of {calls} calls failed: replay a log that has an outage, if its outcomes say how calls \
                 ended"
            ),
            Self::AllFailed { calls } => write!(
                f,
                "none of {calls} calls succeeded: replay a log that goes on after the outage, if its outcomes say how calls \
                 ended"
            ),
            Self::NoIncident { calls, wasted } => write!(
                f,
                "no incident: {wasted} of {calls} calls failed, and never so many of one key close together that it \
                 must have been down (five to thirteen in a row, or half of them for a while): replay a log that has an \
                 outage"
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
