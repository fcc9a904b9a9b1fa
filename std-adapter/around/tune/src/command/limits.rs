// SPDX-License-Identifier: MIT OR Apache-2.0
//! The time limit that the log's answers suggest, for all keys and for those that are slower.

use std::io::Write;
use std::time::Duration;

use anyhow::Result;
use atomic_breaker_tune::{AnswerTimes, CallLog, Incident};

use crate::output::shown;
use crate::words::{number, time};

/// At most so many slower keys are named.
const MOST: usize = 5;

/// Prints a time limit, and those of keys that need a longer one.
pub(crate) fn limits(
    out: &mut impl Write,
    log: &CallLog,
    incidents: &[Incident],
    useful_within: Option<Duration>,
) -> Result<()> {
    let (all, keys) = log.answer_times(incidents);
    let Some(all) = all else {
        writeln!(
            out,
            "\nNo time limit is suggested: that takes 1,000 answers outside of incidents."
        )?;
        return Ok(());
    };
    let limit = all.time_limit();
    writeln!(
        out,
        "\nTime limit for a call: {}. Outside of incidents, {}.",
        time(limit),
        took(&all)
    )?;
    let slower: Vec<_> = keys
        .iter()
        .filter(|(_, it)| it.time_limit() > limit)
        .collect();
    for (key, times) in slower.iter().take(MOST) {
        let key = log.keys().get(*key as usize).map_or("", |it| it);
        writeln!(
            out,
            "  {}: {}; {}.",
            shown(key),
            time(times.time_limit()),
            took(times)
        )?;
    }
    if slower.len() > MOST {
        writeln!(
            out,
            "  and {} more keys",
            number((slower.len() - MOST) as u64)
        )?;
    }
    if let Some(useful) = useful_within.filter(|useful| *useful < limit) {
        writeln!(
            out,
            "Answers are useful within {} only, so no call needs to wait for longer than that.",
            time(useful)
        )?;
    }
    Ok(())
}

fn took(times: &AnswerTimes) -> String {
    let [median, most] = [times.median_us, times.of_1000_us].map(|us| {
        let took = Duration::from_micros(us.into());
        if us < 10_000 {
            format!("{:.1} ms", took.as_secs_f64() * 1_000.0)
        } else {
            time(took)
        }
    });
    format!(
        "half of {} answers took {median} at most, 999 of 1,000 {most}",
        number(times.answers as u64)
    )
}
