//! This project's claims about its speed, held against this very run.

use benches::claim::{self, Claim};
use benches::table::Table;

use super::columns::{Column, Measured};

/// Every claim with its figure.
pub(crate) fn table(run: &Measured) -> Table {
    let claims = [closed(run), failing(run), rejected(run)];
    claim::table(&claims.concat())
}

fn ours(run: &Measured, column: Column) -> f64 {
    run.ours.median(column).expect("we can do all")
}

fn over_bare(run: &Measured, column: Column) -> f64 {
    ours(run, column) - run.bare.median(column).expect("not asked for rejections")
}

/// How many times as long the fastest peer takes.
fn ahead(run: &Measured, column: Column) -> f64 {
    run.best_peer(column) / ours(run, column)
}

fn closed(run: &Measured) -> Vec<Claim> {
    vec![
        Claim::at_most(
            "closed call, over the bare closure",
            1.5,
            over_bare(run, Column::Closed),
            "ns",
        ),
        Claim::at_least(
            "closed call, ahead of the fastest peer",
            12.0,
            ahead(run, Column::Closed),
            "×",
        ),
        Claim::at_least(
            "two threads on one breaker, each, of its speed alone",
            0.9,
            ours(run, Column::Closed) / ours(run, Column::ClosedByTwo),
            "×",
        ),
        Claim::at_least(
            "two threads on one breaker, ahead of the fastest peer's two",
            100.0,
            ahead(run, Column::ClosedByTwo),
            "×",
        ),
        Claim::at_most(
            "future, over the bare future",
            5.0,
            over_bare(run, Column::Future),
            "ns",
        ),
    ]
}

fn failing(run: &Measured) -> Vec<Claim> {
    let swap = run.yardstick("compare-and-swap loop");
    vec![
        Claim::at_most(
            "failure that does not trip, over a bare compare-and-swap",
            3.0,
            ours(run, Column::Failing) - swap[0],
            "ns",
        ),
        Claim::at_least(
            "failure that does not trip, ahead of the fastest peer",
            1.0,
            ahead(run, Column::Failing),
            "×",
        ),
        Claim::at_most(
            "the same by two threads, of their bare compare-and-swap loop",
            1.5,
            ours(run, Column::FailingByTwo) / swap[1],
            "×",
        ),
        Claim::at_least(
            "the same by two threads, ahead of the fastest peer's two",
            1.0,
            ahead(run, Column::FailingByTwo),
            "×",
        ),
        Claim::at_most(
            "failure and success in turn, each, over a bare compare-and-swap",
            3.0,
            ours(run, Column::HalfFail) - swap[0],
            "ns",
        ),
        Claim::at_least(
            "failure and success in turn, ahead of the fastest peer",
            1.0,
            ahead(run, Column::HalfFail),
            "×",
        ),
        Claim::at_most(
            "the same by two threads, of their bare compare-and-swap loop",
            1.5,
            ours(run, Column::HalfFailByTwo) / swap[1],
            "×",
        ),
        Claim::at_least(
            "the same by two threads, ahead of the fastest peer's two",
            1.0,
            ahead(run, Column::HalfFailByTwo),
            "×",
        ),
    ]
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
