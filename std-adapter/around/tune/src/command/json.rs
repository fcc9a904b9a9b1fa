// SPDX-License-Identifier: MIT OR Apache-2.0
//! The result for machines.

use anyhow::Result;
use atomic_breaker_tune::{AnswerTimes, CallLog, ReadSummary, Recommendation, Weights};
use serde::Serialize;

/// The fields of the file, which stay what they are: others may come. Times are in microseconds.
#[derive(Serialize)]
struct Output<'r> {
    calls: usize,
    keys: &'r [Box<str>],
    skipped_lines: u64,
    weights: Weights,
    /// The times that answers took outside of incidents; null with fewer than 1,000.
    answers: Option<AnswerTimes>,
    /// The time limit that follows.
    time_limit_us: Option<u64>,
    /// The share of the cost that the recommended settings save.
    saves: f64,
    /// `true` if they are recommended at all.
    is_better_than_none: bool,
    #[serde(flatten)]
    found: &'r Recommendation,
}

pub(crate) fn text(
    log: &CallLog,
    summary: &ReadSummary,
    found: &Recommendation,
    weights: Weights,
) -> Result<String> {
    let (answers, _) = log.answer_times(&found.incidents);
    let output = Output {
        calls: log.calls().len(),
        keys: log.keys(),
        skipped_lines: summary.skipped,
        weights,
        answers,
        time_limit_us: answers.map(|it| it.time_limit().as_micros() as u64),
        saves: found.saves(),
        is_better_than_none: found.is_better_than_none(),
        found,
    };
    Ok(serde_json::to_string_pretty(&output)? + "\n")
}
