// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table.

use crate::figures::Figures;
use crate::scene::{INSTANCES, QUORUM, Run};
use test_support::table::{Table, latency};

pub(crate) fn intro() -> String {
    format!(
        "{INSTANCES} processes call a server on this machine: the first each 10 ms, the n-th 1/n as often.\n\
         It is killed and started again: first without a fleet, then with one of k = {QUORUM}.\n"
    )
}

pub(crate) fn of(runs: &[Run; 2]) -> String {
    let mut table = Table::new(
        ["without a fleet", "with a fleet"],
        runs.each_ref().map(Figures::of),
    );
    table
        .row("calls tried", |f| f.tried.to_string())
        .row("answered", |f| f.answered.to_string())
        .row("wasted on the dead server", |f| f.wasted.to_string())
        .row("from the third trip to the last one open", |f| {
            f.protected.map_or("not all opened".into(), latency)
        })
        .row("open periods", |f| f.periods.to_string())
        .row("probes", |f| f.probes.to_string())
        .row("probes per period", |f| {
            let hundredths = f.probes * 100 / f.periods.max(1);
            format!("{}.{:02}", hundredths / 100, hundredths % 100)
        })
        .row("requests to Redis", |f| f.requests.to_string())
        .row("last rejection after the return", |f| latency(f.back));
    table.text
}
