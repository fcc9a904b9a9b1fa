// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tables and the text of the TCP scenes.

use std::fmt::Write;

use super::figures::Figures;
use super::load::Run;
use test_support::table::{Table, latency, or_never, times};

fn table(runs: &[Run; 2]) -> Table<Figures> {
    let names = runs.each_ref().map(|run| run.name);
    Table::new(names, runs.each_ref().map(Figures::of))
}

/// A transition of a breaker, or the prefix of it.
fn history(run: &Run) -> String {
    const MOST: usize = 20;
    let mut text = format!("\nWhat the breaker did ({}):\n", run.name);
    let history = run.history.as_deref().unwrap_or_default();
    for (at, told) in history.iter().take(MOST) {
        let _ = writeln!(text, "  {:4.2} s  {told}", at.as_secs_f64());
    }
    if let Some(more) = history.len().checked_sub(MOST).filter(|more| *more > 0) {
        let _ = writeln!(text, "  and so on, {more} more");
    }
    text
}

/// The first scene.
pub(crate) fn of_outage(runs: &[Run; 2]) -> String {
    let mut table = table(runs);
    table
        .row("calls tried", |f| f.tried.to_string())
        .row("answered", |f| f.answered.to_string())
        .row("  in good time", |f| f.in_time.to_string())
        .row("wasted on a dead server", |f| f.wasted.to_string())
        .row("  time that callers waited in vain", |f| {
            format!("{:.1} s", f.waited.as_secs_f64())
        })
        .row("rejected at once by the breaker", |f| {
            f.rejected.to_string()
        })
        .row("median latency of all calls", |f| latency(f.all.0))
        .row("  99th percentile", |f| latency(f.all.1))
        .row("median latency while the server was dead", |f| {
            latency(f.outage.0)
        })
        .row("  99th percentile", |f| latency(f.outage.1))
        .row("from recovery to normal service", |f| or_never(f.recovered))
        .row("probes used", |f| {
            f.probes.map_or("–".into(), |n| n.to_string())
        });
    let text = outage_in_words(&table.figures);
    table.text + &history(&runs[1]) + &text
}

/// Explains the table to newcomers, with its numbers.
fn outage_in_words([a, b]: &[Figures; 2]) -> String {
    let answered_slowly = |figures: &Figures| figures.answered - figures.in_time;
    format!(
        "\nWithout a breaker, {} calls were sent to a server that could not answer, and their callers\n\
         waited {:.1} s in all to learn that. With it, {} were; {} others were rejected at once, so\n\
         that their callers could do something else.\n\
         While the server was dead, one call in a hundred took {} or more without the breaker, and\n\
         {} with it. To find out when the server was back, the breaker let {} probes through, one\n\
         at a time, less and less often.\n\
         Slow answers count as failures here (the limit is 100 ms): with the breaker callers waited for\n\
         {} of them, without it for {}.\n\
         The price: a breaker learns of the recovery through its next probe. Normal service was back\n\
         after {} with it, {} without; `open_for` and the maximum of its growth bound that time.\n",
        a.wasted,
        a.waited.as_secs_f64(),
        b.wasted,
        b.rejected,
        latency(a.outage.1),
        latency(b.outage.1),
        b.probes.unwrap_or(0),
        answered_slowly(b),
        answered_slowly(a),
        or_never(b.recovered),
        or_never(a.recovered),
    )
}

/// The second scene.
pub(crate) fn of_cold_start(runs: &[Run; 2]) -> String {
    let mut table = table(runs);
    table
        .row("calls tried", |f| f.tried.to_string())
        .row("answered", |f| f.answered.to_string())
        .row("failed", |f| f.wasted.to_string())
        .row("rejected at once by the breaker", |f| {
            f.rejected.to_string()
        })
        .row("the server broke down under its load", |f| {
            times(f.breakdowns)
        })
        .row("from its restart to normal service", |f| {
            or_never(f.recovered)
        });
    let [at_once, gradually] = &table.figures;
    let text = format!(
        "\nThis server is up, but can bear little load at first. A breaker that closes lets the whole load\n\
         through, and down it goes again. With `gradual_return` a tenth of the calls passed at first,\n\
         and all of them two seconds later, while the server warmed up. Breakdowns: {} against {};\n\
         calls answered: {} against {}.\n",
        at_once.breakdowns, gradually.breakdowns, at_once.answered, gradually.answered,
    );
    table.text + &history(&runs[0]) + &history(&runs[1]) + &text
}
