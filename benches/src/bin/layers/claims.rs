// SPDX-License-Identifier: MIT OR Apache-2.0
//! Claims about the server side, held against a run.

use benches::claim::Claim;

use crate::run::Run;
use crate::{budget, ours, peers, sliding};

/// The breaker is closed, and all calls succeed. Each is a comparison within the run, so that it holds whatever the
/// processor.
pub(crate) fn claims(run: &Run) -> Vec<Claim> {
    let [by_key, by_key_fast] = ours::BY_KEY;
    let mut claims = layer(run, ours::STATIC, peers::FASTEST, 3.0).to_vec();
    claims.extend(
        by_key
            .into_iter()
            .chain(by_key_fast)
            .flat_map(|name| layer(run, name, peers::BY_KEY, 2.0)),
    );
    claims.extend([
        Claim::at_most(
            "a success counted by `SlidingRatio`: of its clock and a compare-and-swap alone",
            3.0,
            run.alone(sliding::SHARDED).median / run.alone(sliding::FLOOR).median,
            "×",
        ),
        share(
            run,
            sliding::SHARDED,
            "a success counted by `SlidingRatio`",
            0.7,
        ),
        Claim::at_least(
            "deposit into a full retry budget: ahead of tower's",
            10.0,
            run.ahead(budget::FULL, budget::TOWER).median,
            "×",
        ),
        share(run, budget::FULL, "deposit into a full retry budget", 0.7),
    ]);
    claims
}

fn layer(run: &Run, name: &str, peer: &str, least: f64) -> [Claim; 3] {
    [
        Claim::at_least(
            format!("{name}: ahead of {peer}"),
            least,
            run.ahead(name, peer).median,
            "×",
        ),
        share(run, name, name, 0.7),
        Claim::at_most(
            format!("{name}: allocations"),
            0.0,
            run.allocations(name),
            "in 1,000 requests",
        ),
    ]
}

fn share(run: &Run, name: &str, called: &str, least: f64) -> Claim {
    Claim::at_least(
        format!("{called}: each of two threads, of its speed alone"),
        least,
        run.share(name).median,
        "×",
    )
}
