// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ages of the time in a word, by the classes that arithmetic can tell apart.

use crate::rules::Ruled;
use crate::spec::{GUARD, LONGEST, Meaning, RANGE};

/// Both sides of each edge: none, the deadline, each time of the rules, the longest time, the guard band, the wrap.
pub(crate) fn ages(meaning: &Meaning, ruled: &Ruled) -> Vec<u32> {
    let lease = ruled.lease << meaning.lost.min(4);
    let edges = [meaning.open_for, lease.min(LONGEST), LONGEST, RANGE - GUARD];
    distinct(edges.into_iter().chain([0, ruled.span]))
}

/// Those at which a report may end differently: it looks at the window of failures, and at nothing else.
pub(crate) fn ages_of_reports(ruled: &Ruled) -> Vec<u32> {
    distinct([0, ruled.span].into_iter())
}

fn distinct(edges: impl Iterator<Item = u32>) -> Vec<u32> {
    let around = edges.flat_map(|edge| [edge.wrapping_sub(1), edge, edge + 1]);
    let mut ages: Vec<_> = around.map(|age| age % RANGE).collect();
    ages.sort_unstable();
    ages.dedup();
    ages
}
