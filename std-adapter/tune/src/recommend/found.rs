//! What a search has found, or why it recommends nothing.

use std::error::Error;
use std::fmt;
use std::ops::Range;

use atomic_breaker::Config;
use atomic_breaker_server::RegistryError;

use crate::figures::Figures;
use crate::incident::Incident;

/// Settings, and what they would have cost: the mean of up to four runs with other jitter, where a log has
/// fewer than 250,000 calls.
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
    /// What the whole log costs, in wasted calls: see [`Weights`](super::Weights).
    pub cost: f64,
    /// How often breakers opened that let calls through.
    pub trips: u64,
}

/// What an outage costs, together with the calls around it, half way to the next one of the same key. Incidents of several
/// keys that overlap are one outage.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outage {
    /// The places of its incidents in [`Recommendation::incidents`].
    pub incidents: Range<usize>,
    /// Without a breaker.
    pub without: Figures,
    /// What that costs, in wasted calls.
    pub cost_without: f64,
    /// With the settings that are recommended.
    pub pick: Figures,
    /// What that costs, in wasted calls.
    pub cost: f64,
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
    /// What that is in wasted calls.
    pub cost_without: f64,
    /// Pareto's front: settings for which none wastes less without rejecting more healthy calls, from the least wasted on,
    /// judged by the incidents that the search knew.
    pub front: Vec<Tried>,
    /// All incidents, in the order of their start.
    pub incidents: Vec<Incident>,
    /// What each outage costs, in the order of their start; empty if there are more than 65,535.
    pub outages: Vec<Outage>,
    /// How many incidents the search did not know, those of every third outage: 0 if there were fewer than three outages, and
    /// the result is unchecked.
    pub held_out: usize,
    /// How many settings were tried.
    pub tried: usize,
    /// Whether the search came to its end.
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

    /// Whether the settings are better than no breaker: they open it, and save at least half a percent of the cost. The
    /// incidents of some logs are none for a breaker.
    pub fn is_better_than_none(&self) -> bool {
        self.pick.trips > 0 && self.saves() >= 0.005
    }
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
                "no incident: {wasted} of {calls} calls were in vain, and never so many of one key close together that it \
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
