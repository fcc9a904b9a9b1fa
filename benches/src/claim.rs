// SPDX-License-Identifier: MIT OR Apache-2.0
//! Claims, held against the run that measured them.

use std::process::ExitCode;

use crate::table::Table;

/// A claim and the measured value.
#[derive(Clone, Debug)]
pub struct Claim {
    what: String,
    limit: String,
    measured: String,
    /// `true` if the run shows it.
    pub holds: bool,
}

impl Claim {
    /// It must not be more.
    pub fn at_most(what: impl Into<String>, limit: f64, measured: f64, unit: &str) -> Self {
        let limited = format!("at most {limit:.2} {unit}");
        Self::new(what.into(), limited, measured, unit, measured <= limit)
    }

    /// It must not be less.
    pub fn at_least(what: impl Into<String>, limit: f64, measured: f64, unit: &str) -> Self {
        let limited = format!("at least {limit:.1} {unit}");
        Self::new(what.into(), limited, measured, unit, measured >= limit)
    }

    fn new(what: String, limit: String, measured: f64, unit: &str, holds: bool) -> Self {
        // A narrow miss must not look like the limit.
        let digits = if holds { 2 } else { 3 };
        let measured = format!("{measured:.digits$} {unit}");
        Self {
            what,
            limit,
            measured,
            holds,
        }
    }
}

/// Every claim with its figure.
pub fn table(claims: &[Claim]) -> Table {
    let mut table = Table::new(["claim", "limit", "this run", ""]);
    for claim in claims {
        let verdict = if claim.holds { "holds" } else { "**missed**" };
        table.row([&claim.what, &claim.limit, &claim.measured, verdict]);
    }
    table
}

/// The status to end with: 1 if the run does not show a claim. Prints a line for each of those: the value measured, and the limit.
pub fn verdict(claims: &[Claim]) -> ExitCode {
    let mut status = ExitCode::SUCCESS;
    for claim in claims.iter().filter(|claim| !claim.holds) {
        let Claim {
            what,
            limit,
            measured,
            ..
        } = claim;
        eprintln!("missed: {what}: {measured} measured, {limit} claimed");
        status = ExitCode::FAILURE;
    }
    status
}
