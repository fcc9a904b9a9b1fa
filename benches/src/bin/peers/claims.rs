//! What this project claims of its speed, held against this very run.

use benches::table::Table;

use super::columns::{Column, Measured};

struct Claim {
    what: &'static str,
    limit: String,
    measured: f64,
    unit: &'static str,
    holds: bool,
}

fn at_most(what: &'static str, limit: f64, measured: f64, unit: &'static str) -> Claim {
    Claim {
        what,
        limit: format!("at most {limit:.2} {unit}"),
        measured,
        unit,
        holds: measured <= limit,
    }
}

fn at_least(what: &'static str, limit: f64, measured: f64, unit: &'static str) -> Claim {
    Claim {
        what,
        limit: format!("at least {limit:.1} {unit}"),
        measured,
        unit,
        holds: measured >= limit,
    }
}

/// Every claim with its figure.
pub(crate) fn table(run: &Measured) -> Table {
    let ours = |column| run.ours.median(column).expect("we can do all");
    let bare = |column| run.bare.median(column).expect("not asked for refusals");
    let over_bare = |column| ours(column) - bare(column);
    let ahead = |column| run.best_peer(column) / ours(column);
    let coarse = run.coarse.median(Column::Refused).expect("we can do all");
    let claims = [
        at_most(
            "closed call, over the bare closure",
            1.5,
            over_bare(Column::Closed),
            "ns",
        ),
        at_least(
            "closed call, ahead of the fastest peer",
            12.0,
            ahead(Column::Closed),
            "×",
        ),
        at_least(
            "two threads on one breaker, each, of its speed alone",
            0.9,
            ours(Column::Closed) / ours(Column::ClosedByTwo),
            "×",
        ),
        at_least(
            "two threads on one breaker, ahead of the fastest peer's two",
            100.0,
            ahead(Column::ClosedByTwo),
            "×",
        ),
        at_most(
            "refusal, of one reading of its clock",
            1.1,
            ours(Column::Refused) / run.yardstick("`StdClock`, in milliseconds"),
            "×",
        ),
        at_least(
            "refusal by the coarse clock, ahead of the fastest peer",
            4.0,
            run.best_peer(Column::Refused) / coarse,
            "×",
        ),
        at_most(
            "failure that does not trip, over an uncontended compare-and-swap",
            10.0,
            ours(Column::Failing) - run.yardstick("compare-and-swap loop"),
            "ns",
        ),
        at_most(
            "future, over the bare future",
            3.0,
            over_bare(Column::Future),
            "ns",
        ),
    ];
    let mut table = Table::new(["claim", "limit", "this run", ""]);
    for claim in claims {
        table.row([
            claim.what.to_string(),
            claim.limit,
            format!("{:.2} {}", claim.measured, claim.unit),
            if claim.holds { "holds" } else { "**missed**" }.to_string(),
        ]);
    }
    table
}
