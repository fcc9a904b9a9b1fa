// SPDX-License-Identifier: MIT OR Apache-2.0
//! The output of the command.

use std::collections::HashSet;
use std::io::{self, Write};
use std::time::Duration;

use anyhow::Result;
use atomic_breaker_tune::{
    CallLog, Column, Config, Figures, Outcome, ReadSummary, Recommendation, Replayed, Weights,
    builder_line,
};

use crate::table::CostTable;
use crate::words::{broken, cost, counted, number, time};
use crate::{advice, limits, others, verdict};

fn skipped(out: &mut impl Write, summary: &ReadSummary) -> io::Result<()> {
    if let Some(ends) = &summary.ends {
        writeln!(
            out,
            "{ends} is when a call ended, as nginx and Caddy write it: each began its duration before"
        )?;
    }
    if let Some(unit) = &summary.unit {
        writeln!(out, "{unit}{}", advice::units(unit))?;
    }
    if summary
        .guesses
        .iter()
        .any(|(column, _)| *column == Column::Key)
    {
        writeln!(
            out,
            "no column says what was called, so there is one breaker for all: perhaps {}",
            advice::names(&summary.guesses)
        )?;
    }
    if !summary.failures.found().is_empty() {
        writeln!(out, "outcomes taken for failures: {}", summary.failures)?;
    }
    if summary.skipped > 0 {
        writeln!(out, "{summary}")?;
    }
    Ok(())
}

/// Prints what was read.
pub(crate) fn read(
    out: &mut impl Write,
    name: &str,
    log: &CallLog,
    summary: &ReadSummary,
) -> Result<()> {
    let calls = log.calls();
    let last = calls.last().map_or(0, |call| call.start_us);
    let keys = match log.keys().len() {
        0 | 1 => String::new(),
        keys => format!(" of {}", counted(keys, "key")),
    };
    writeln!(
        out,
        "{name}: {}{keys} in {}",
        counted(calls.len(), "call"),
        time(Duration::from_micros(last))
    )?;
    let retries = calls.iter().filter(|call| call.is_retry()).count();
    if retries > 0 {
        writeln!(
            out,
            "{} of them are retries of a request, replayed like any other call",
            number(retries as u64)
        )?;
    }
    rejected(out, log)?;
    let left = calls.iter().filter(|call| !call.was_rejected());
    let left = left
        .filter(|it| it.completion().outcome == Outcome::Ignored && !it.completion().has_hung())
        .count();
    if left > 0 {
        writeln!(
            out,
            "{} of them say nothing of the resource: their callers left soon, were over their quota, or asked for something wrong",
            number(left as u64)
        )?;
    }
    skipped(out, summary)?;
    Ok(())
}

/// Prints how many calls were rejected when the log was written, and how many of them have no neighbour.
fn rejected(out: &mut impl Write, log: &CallLog) -> Result<()> {
    let calls = log.calls();
    let rejected = calls.iter().filter(|call| call.was_rejected()).count();
    if rejected == 0 {
        return Ok(());
    }
    let made = calls.iter().filter(|call| !call.was_rejected());
    let made: HashSet<u32> = made.map(|call| call.key).collect();
    let alone = calls
        .iter()
        .filter(|call| !made.contains(&call.key))
        .count();
    writeln!(
        out,
        "{} of them were rejected when the log was written: each is taken to end as the call of its key did that \
         began closest to it",
        number(rejected as u64)
    )?;
    if alone > 0 {
        writeln!(
            out,
            "{} of these have a key without other calls, such as a group that had no live upstream: they count for \
             nothing, unless all keys share a breaker (--one)",
            number(alone as u64)
        )?;
    }
    Ok(())
}

/// Prints what given rules would have cost.
pub(crate) fn replayed(
    out: &mut impl Write,
    replayed: &Replayed,
    summary: &ReadSummary,
    weights: Weights,
) -> Result<()> {
    let trips = replayed.changes.iter().filter(|it| it.is_trip()).count();
    let (figures, mut table) = (&replayed.figures, CostTable::new(weights));
    table.row("these rules", figures, Some(trips as u64));
    writeln!(
        out,
        "{} calls, {} rejected, {} of them spared a wasted call",
        number(figures.calls),
        number(figures.rejected),
        number(figures.spared())
    )?;
    write!(out, "{table}")?;
    skipped(out, summary)?;
    if summary.is_mostly_skipped() {
        writeln!(
            out,
            "most lines were skipped, and those that were read may differ from them"
        )?;
    }
    Ok(())
}

/// Prints what was found.
pub(crate) fn found(
    out: &mut impl Write,
    log: &CallLog,
    found: &Recommendation,
    weights: Weights,
    useful_within: Option<Duration>,
) -> Result<()> {
    incidents(out, log, found)?;
    writeln!(
        out,
        "\n{} tried{}; cost is in wasted calls: a second in a wasted call costs {}, a healthy call that is rejected {}\n",
        counted(found.tried, "setting"),
        if found.is_complete {
            ""
        } else {
            ", then stopped"
        },
        weights.wasted_second,
        weights.healthy_rejected
    )?;
    let mut table = CostTable::new(weights);
    table.row("without a breaker", &found.without, None);
    if let Some(today) = &found.today {
        table.evaluation("today's rules", today);
    }
    let is_better = found.is_better_than_none();
    let best = if is_better {
        "recommended"
    } else {
        "the best settings"
    };
    table.evaluation(best, &found.pick);
    write!(out, "{table}")?;
    verdict::saved(out, found)?;
    verdict::others_help(out, log, found, useful_within.is_some())?;
    if is_better {
        checked(out, found, weights)?;
        paste(out, &found.pick.config)?;
        others::others(out, found, weights)?;
    }
    limits::limits(out, log, &found.incidents, useful_within)?;
    let tried = found.front.iter().chain([&found.pick]).chain(&found.today);
    if tried.into_iter().any(|it| it.all.rejected_after_end > 0) {
        writeln!(
            out,
            "\nHealthy calls that are rejected include those that a breaker would have rejected after the last one of its key\n\
             or of the log, when an outage had no end yet: it is taken to end there."
        )?;
    }
    writeln!(
        out,
        "\nWhat a replay cannot know: whether the load that a breaker keeps away would have made the outage longer, and\n\
         which calls callers would have made that it rejects at once (see --callers)."
    )?;
    Ok(())
}

/// Prints what the settings are worth on incidents that they were not chosen by.
fn checked(out: &mut impl Write, found: &Recommendation, weights: Weights) -> Result<()> {
    if found.held_out == 0 {
        writeln!(
            out,
            "\nUnchecked: with fewer than three outages none can be kept from the search. Take a longer log."
        )?;
        return Ok(());
    }
    writeln!(
        out,
        "\nOn {} that the search did not know, of every third outage:\n",
        counted(found.held_out, "incident")
    )?;
    let mut table = CostTable::new(weights);
    let mut without = Figures::default();
    for outage in found.outages.iter().skip(2).step_by(3) {
        without += outage.without;
    }
    if !found.outages.is_empty() {
        table.row("without a breaker", &without, None);
    }
    if let Some(today) = &found.today {
        table.row("today's rules", &today.checked_on, None);
    }
    table.row("recommended", &found.pick.checked_on, None);
    write!(out, "{table}")?;
    let is_worse = weights.cost(&found.pick.checked_on) > weights.cost(&without);
    if is_worse && !found.outages.is_empty() {
        writeln!(
            out,
            "\nThere they cost more than no breaker: a longer log may show other settings, or raise --healthy-rejected."
        )?;
    }
    Ok(())
}

fn incidents(out: &mut impl Write, log: &CallLog, found: &Recommendation) -> Result<()> {
    const MOST: usize = 10;
    let incidents = &found.incidents;
    writeln!(out, "\n{}:", counted(incidents.len(), "incident"))?;
    for (place, incident) in incidents.iter().take(MOST).enumerate() {
        let at = Duration::from_micros(incident.from_us);
        let lasted = Duration::from_micros(incident.until_us - incident.from_us);
        let key = log.keys().get(incident.key as usize);
        let key = key.filter(|_| log.keys().len() > 1);
        writeln!(
            out,
            "  after {}: {} of {} calls failed within {}{}",
            time(at),
            number(incident.failed),
            number(incident.calls),
            time(lasted),
            key.map_or_else(String::new, |key| format!(", {}", shown(key)))
        )?;
        let mut outages = found.outages.iter();
        // Once for an outage of several keys.
        let outage = outages.find(|it| it.incidents.start == place && found.is_better_than_none());
        if let Some(outage) = outage {
            writeln!(
                out,
                "    costs {} without a breaker, {} with the recommended settings",
                cost(outage.cost_without),
                cost(outage.cost)
            )?;
        }
    }
    if incidents.len() > MOST {
        writeln!(out, "  and {} more", incidents.len() - MOST)?;
    }
    Ok(())
}

/// A key on a line of its own.
pub(crate) fn shown(key: &str) -> String {
    if key.is_empty() {
        return "without a key".to_owned();
    }
    key.escape_debug().to_string()
}

fn paste(out: &mut impl Write, config: &Config) -> Result<()> {
    writeln!(out, "\n{}\n", broken(&builder_line(config), ""))?;
    // In one line each: a table of its own would end the table that they are pasted into.
    for (name, value) in toml::Table::try_from(config)? {
        writeln!(out, "{name} = {value}")?;
    }
    if config.failure_ratio.is_some_and(|it| it.calls().is_some()) {
        writeln!(
            out,
            "\nIt needs memory: .last_calls(LastCalls::new()) on the builder."
        )?;
    } else if config.failure_ratio.is_some() {
        writeln!(
            out,
            "\nIt needs memory: a SlidingRatio of atomic-breaker-server, which ClientConfig of atomic-breaker-http has."
        )?;
    }
    Ok(())
}
