//! Claims about the server side, held against a run.

use benches::claim::Claim;

use crate::run::Run;
use crate::{budget, ours, sliding};

/// The breaker is closed, and all calls succeed.
pub(crate) fn claims(run: &Run) -> Vec<Claim> {
    let [by_key, by_key_fast] = ours::BY_KEY;
    let limits = [(ours::STATIC, 15.0)]
        .into_iter()
        .chain(by_key.map(|name| (name, 60.0)))
        .chain(by_key_fast.map(|name| (name, 40.0)));
    let mut claims: Vec<_> = limits
        .flat_map(|(name, most_ns)| layer(run, name, most_ns))
        .collect();
    claims.extend([
        Claim::at_most(
            "a success counted by `SlidingRatio`: over its clock and a compare-and-swap alone",
            1.5,
            run.longer(sliding::SHARDED, sliding::FLOOR).median,
            "ns",
        ),
        share(
            run,
            sliding::SHARDED,
            "a success counted by `SlidingRatio`",
            0.7,
        ),
        Claim::at_most(
            "deposit into a full retry budget",
            3.0,
            run.alone(budget::FULL).median,
            "ns",
        ),
        share(run, budget::FULL, "deposit into a full retry budget", 0.9),
    ]);
    claims
}

fn layer(run: &Run, name: &str, most_ns: f64) -> [Claim; 3] {
    [
        Claim::at_most(
            format!("{name}: over the bare service"),
            most_ns,
            run.longer(name, ours::BARE).median,
            "ns",
        ),
        share(run, name, name, 0.9),
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
