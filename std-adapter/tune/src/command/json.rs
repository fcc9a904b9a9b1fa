//! The result for machines.

use anyhow::Result;
use atomic_breaker_tune::{
    Config, Figures, Incident, Log, Recommendation, Skipped, Tried, Weights,
};
use serde::Serialize;

/// The fields of the file, which stay what they are: others may come. Times are in microseconds.
#[derive(Serialize)]
struct Output<'r> {
    calls: usize,
    keys: &'r [Box<str>],
    skipped_lines: u64,
    incidents: &'r [Incident],
    held_out: usize,
    weights: Weights,
    tried: usize,
    /// The share of the cost that the recommended settings save.
    saves: f64,
    /// Whether they are recommended at all.
    is_better_than_none: bool,
    is_complete: bool,
    without: Figures,
    today: Option<Settings<'r>>,
    recommended: Settings<'r>,
    others: Vec<Settings<'r>>,
}

#[derive(Serialize)]
struct Settings<'r> {
    #[serde(rename = "settings")]
    config: &'r Config,
    all: Figures,
    checked_on: Figures,
    trips: u64,
    cost: f64,
}

impl<'r> Settings<'r> {
    fn of(tried: &'r Tried) -> Self {
        Self {
            config: &tried.config,
            all: tried.all,
            checked_on: tried.checked_on,
            trips: tried.trips,
            cost: tried.cost,
        }
    }
}

pub(crate) fn text(
    log: &Log,
    skipped: &Skipped,
    found: &Recommendation,
    weights: Weights,
) -> Result<String> {
    let output = Output {
        calls: log.calls().len(),
        keys: log.keys(),
        skipped_lines: skipped.count,
        incidents: &found.incidents,
        held_out: found.held_out,
        weights,
        tried: found.tried,
        saves: found.saves(),
        is_better_than_none: found.is_better_than_none(),
        is_complete: found.is_complete,
        without: found.without,
        today: found.today.as_ref().map(Settings::of),
        recommended: Settings::of(&found.pick),
        others: found.front.iter().map(Settings::of).collect(),
    };
    Ok(serde_json::to_string_pretty(&output)? + "\n")
}
