// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table and the text.

use super::careful::{TRIES, TRY};
use super::figures::{Figures, HostFigures};
use super::guard::{RETURN, RETURN_FIRST};
use super::load::Run;
use super::scenario::{
    CALLERS, CLOSED, COLD, EVERY, FAILS, GOOD, HANGS, HOSTS, LIMITS, ORDER, PATIENCE, QUOTA,
    RECOVERY, STRENGTH, TROUBLE, WORK, WORKS,
};
use test_support::table::{Table, chosen, latency, or_never, times};

/// The results to look for, with their figures.
pub(crate) fn intro() -> String {
    let a_second = 1_000 / EVERY.as_millis() as usize;
    let cold_a_second = a_second / ORDER.len();
    let bears = STRENGTH.at_first * (1_000 / STRENGTH.period.as_millis() as u32);
    let [try_limit, patience] = [TRY, PATIENCE].map(chosen);
    let [work, closed, down] = [WORK, CLOSED, STRENGTH.down].map(chosen);
    let [from, until] = [TROUBLE, RECOVERY].map(chosen);
    format!(
        "Now a gateway calls five hosts over HTTP, {a_second} times a second, every other time the healthy\n\
         one. At most {CALLERS} calls are under way; others wait for at most {patience}, and are then turned away.\n\
         A try may take {try_limit}, and there are up to {TRIES}. From {from} to {until} all hosts but one are in trouble:\n\
         \n  \
           works   answers after {work}, all the time\n  \
           fails   answers 500, later 503 with a `Retry-After`\n  \
           limits  answers {QUOTA} requests, then 429 with a `Retry-After` for {closed}, and so on\n  \
           hangs   takes requests and does not answer\n  \
           cold    answers 500, is restarted, and bears {bears} requests a second at first, of {cold_a_second} and\n          \
                   their retries; under more it breaks down for {down} and is cold again\n\
         \n\
         First they are called by a careful client: time limits, retries with exponential pauses and jitter.\n\
         Then by the same client behind the preset, `ClientGuard`, which answers at once where a breaker is open:\n\
         a caller that waits for a breaker is missing elsewhere.\n"
    )
}

pub(crate) fn report(runs: &[Run; 2]) -> String {
    let names = runs.each_ref().map(|run| run.name);
    let mut table = Table::new(names, runs.each_ref().map(Figures::of));
    table
        .row("calls begun", |f| f.begun.to_string())
        .row("  answered", |f| f.answered.to_string())
        .row(&format!("    within {}", chosen(GOOD)), |f| {
            f.in_time.to_string()
        })
        .row("  failed", |f| f.failed.to_string())
        .row("  rejected at once by a breaker", |f| {
            f.rejected.to_string()
        })
        .row("  turned away: all callers busy", |f| {
            f.turned_away.to_string()
        })
        .row("median latency of all calls", |f| latency(f.all.0))
        .row("  99th percentile", |f| latency(f.all.1))
        .row("median latency of the healthy host", |f| latency(f.works.0))
        .row("  99th percentile", |f| latency(f.works.1));
    by_host(&mut table, "calls turned away, by host:", WORKS, |host| {
        host.turned_away.to_string()
    });
    by_host(&mut table, "calls answered, by host:", WORKS, |host| {
        format!("{} of {}", host.answered, host.begun)
    });
    let timely = format!("  within {}, by host:", chosen(GOOD));
    by_host(&mut table, &timely, WORKS, |host| host.in_time.to_string());
    table.row("requests that their host could not answer", |f| {
        f.sum(|counts| counts.unable).to_string()
    });
    by_host(&mut table, "  by host, retries included:", FAILS, |host| {
        host.counts.unable.to_string()
    });
    table
        .row("requests before a `Retry-After` had elapsed", |f| {
            f.sum(|counts| counts.early).to_string()
        })
        .row("the cold host broke down under its load", |f| {
            times(f.breakdowns)
        });
    by_host(
        &mut table,
        "from recovery to normal service:",
        FAILS,
        |host| or_never(host.recovered),
    );
    table.row("rejected after the recovery of their host", |f| {
        f.rejected_late.to_string()
    });
    let text = in_words(&table.figures);
    table.text + &text
}

/// A line for each host, from the one of this index on.
fn by_host(
    table: &mut Table<Figures>,
    title: &str,
    first: usize,
    cell: impl Fn(&HostFigures) -> String,
) {
    table.row(title, |_| String::new());
    for (index, host) in HOSTS.iter().enumerate().skip(first) {
        table.row(&format!("    {}", host.name), |f| cell(&f.hosts[index]));
    }
}

/// Explains the table to newcomers, with its numbers.
fn in_words([a, b]: &[Figures; 2]) -> String {
    let unable = |figures: &Figures| figures.sum(|counts| counts.unable);
    let early = |figures: &Figures| figures.sum(|counts| counts.early);
    let normal = |figures: &Figures, host: usize| or_never(figures.hosts[host].recovered);
    let [back, good] = [RETURN, GOOD].map(chosen);
    let longest = |figures: &Figures| latency(figures.works.1);
    format!(
        "\n{} requests reached hosts that could not answer them without a breaker, {} with the preset; {} and\n\
         {} came before a `Retry-After` of the host had elapsed.\n\
         {} calls were turned away without a breaker, because all {CALLERS} callers were busy, {} of them calls to\n\
         the healthy host; with the preset {} and {}. One of a hundred calls to that host took {} or\n\
         more without, {} with it.\n\
         The host that is cold after its restart broke down under its load: {} without a breaker; with the\n\
         preset {}. Its breaker has a rule that the others do not need, `gradual_return`: {RETURN_FIRST} % of the\n\
         calls pass at first, and all of them {back} later.\n\
         Answered in all: {} calls without a breaker, {} of them within {good}; with the preset {} and {}.\n\
         The price: an open breaker also rejects calls that its host could answer. {} calls were rejected\n\
         after their host had recovered, because a breaker learns of that through its next probe, and the traffic of the\n\
         cold host returned gradually. Normal service was back with the preset after {} (fails), {}\n\
         (hangs), {} (cold); without it after {}, {}, {}. The longest open time, a\n\
         `Retry-After` and the limit of a try that hangs bound the first two of these times. The host that limits\n\
         answered {} calls with the preset, {} without: a 429 concerns its caller, whose retry waits, and opens\n\
         no breaker.\n",
        unable(a),
        unable(b),
        early(a),
        early(b),
        a.turned_away,
        a.hosts[WORKS].turned_away,
        b.turned_away,
        b.hosts[WORKS].turned_away,
        longest(a),
        longest(b),
        times(a.breakdowns),
        times(b.breakdowns),
        a.answered,
        a.in_time,
        b.answered,
        b.in_time,
        b.rejected_late,
        normal(b, FAILS),
        normal(b, HANGS),
        normal(b, COLD),
        normal(a, FAILS),
        normal(a, HANGS),
        normal(a, COLD),
        b.hosts[LIMITS].answered,
        a.hosts[LIMITS].answered,
    )
}
