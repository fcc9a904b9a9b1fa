// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ages of the time in a word, by the classes that arithmetic can tell apart.

use crate::form::Form;
use crate::rules::Ruled;
use crate::spec::Meaning;

/// Both sides of each edge: none, the deadline, each time of the rules, the longest time, the guard band, the wrap.
pub(crate) fn ages<F: Form>(meaning: &Meaning, ruled: &Ruled<F>) -> Vec<u64> {
    let lease = ruled.lease << meaning.lost;
    let edges = [
        ruled.keeps_trips_for(meaning.trips),
        meaning.open_for,
        lease.min(F::LONGEST),
        F::LONGEST,
        F::RANGE - F::GUARD,
    ];
    distinct::<F>(edges.into_iter().chain([0, ruled.span]))
}

/// Those at which a report may end differently: at the end of the window of failures, and at that of the time after which
/// a probe that is dropped has failed.
pub(crate) fn ages_of_reports<F: Form>(ruled: &Ruled<F>) -> Vec<u64> {
    distinct::<F>([0, ruled.span, ruled.config.cancel_limit_ms.into()].into_iter())
}

fn distinct<F: Form>(edges: impl Iterator<Item = u64>) -> Vec<u64> {
    let around = edges.flat_map(|edge| [edge.wrapping_sub(1), edge, edge + 1]);
    let mut ages: Vec<_> = around.map(|age| age % F::RANGE).collect();
    ages.sort_unstable();
    ages.dedup();
    ages
}
