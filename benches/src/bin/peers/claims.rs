// SPDX-License-Identifier: MIT OR Apache-2.0
//! This project's claims about its speed, held against this very run.

use benches::claim::Claim;

use super::columns::{Column, Measured};

/// Every claim with its figure.
pub(crate) fn claims(run: &Measured) -> Vec<Claim> {
    [closed(run), failing(run), rejected(run)].concat()
}

fn ours(run: &Measured, column: Column) -> f64 {
    run.ours.median(column).expect("we can do all")
}

fn over_bare(run: &Measured, column: Column) -> f64 {
    ours(run, column) - run.bare.median(column).expect("not asked for rejections")
}

/// The ratio of the fastest peer's time to ours.
fn ahead(run: &Measured, column: Column) -> f64 {
    run.best_peer(column) / ours(run, column)
}

fn closed(run: &Measured) -> Vec<Claim> {
    let swap = run.yardstick("compare-and-swap loop");
    vec![
        Claim::at_most(
            "closed call, over the bare closure, of a bare compare-and-swap",
            0.6,
            over_bare(run, Column::Closed) / swap[0],
            "×",
        ),
        Claim::at_least(
            "closed call, ahead of the fastest peer",
            3.5,
            ahead(run, Column::Closed),
            "×",
        ),
        Claim::at_least(
            "two threads on one breaker, each, of its speed alone",
            0.7,
            ours(run, Column::Closed) / ours(run, Column::ClosedByTwo),
            "×",
        ),
        Claim::at_least(
            "two threads on one breaker, ahead of the fastest peer's two",
            20.0,
            ahead(run, Column::ClosedByTwo),
            "×",
        ),
        Claim::at_least(
            "future, ahead of the fastest peer",
            1.2,
            ahead(run, Column::Future),
            "×",
        ),
    ]
}

fn failing(run: &Measured) -> Vec<Claim> {
    let swap = run.yardstick("compare-and-swap loop");
    let columns = [
        (
            "failure that does not trip",
            Column::Failing,
            Column::FailingByTwo,
        ),
        (
            "failure and success in turn, each",
            Column::HalfFail,
            Column::HalfFailByTwo,
        ),
    ];
    columns
        .into_iter()
        .flat_map(|(what, alone, by_two)| {
            [
                Claim::at_most(
                    format!("{what}, of a bare compare-and-swap loop"),
                    2.5,
                    ours(run, alone) / swap[0],
                    "×",
                ),
                Claim::at_least(
                    format!("{what}, ahead of the fastest peer"),
                    1.0,
                    ahead(run, alone),
                    "×",
                ),
                Claim::at_most(
                    "the same by two threads, of their bare compare-and-swap loop",
                    2.5,
                    ours(run, by_two) / swap[1],
                    "×",
                ),
                Claim::at_least(
                    "the same by two threads, ahead of the fastest peer's two",
                    1.0,
                    ahead(run, by_two),
                    "×",
                ),
            ]
        })
        .collect()
}

fn rejected(run: &Measured) -> Vec<Claim> {
    let coarse = run.coarse.median(Column::Rejected).expect("we can do all");
    vec![
        Claim::at_most(
            "rejection, of one reading of its clock",
            1.25,
            ours(run, Column::Rejected) / run.yardstick("`StdClock`, in milliseconds")[0],
            "×",
        ),
        Claim::at_least(
            "rejection by the coarse clock, ahead of the fastest peer",
            4.0,
            run.best_peer(Column::Rejected) / coarse,
            "×",
        ),
    ]
}
