//! The result for machines.

use anyhow::Result;
use atomic_breaker_tune::{
    CallLog, Evaluation, Figures, Incident, ReadSummary, Recommendation, Weights,
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
    today: &'r Option<Evaluation>,
    recommended: &'r Evaluation,
    others: &'r [Evaluation],
}

pub(crate) fn text(
    log: &CallLog,
    summary: &ReadSummary,
    found: &Recommendation,
    weights: Weights,
) -> Result<String> {
    let output = Output {
        calls: log.calls().len(),
        keys: log.keys(),
        skipped_lines: summary.skipped,
        incidents: &found.incidents,
        held_out: found.held_out,
        weights,
        tried: found.tried,
        saves: found.saves(),
        is_better_than_none: found.is_better_than_none(),
        is_complete: found.is_complete,
        without: found.without,
        today: &found.today,
        recommended: &found.pick,
        others: &found.front,
    };
    Ok(serde_json::to_string_pretty(&output)? + "\n")
}
