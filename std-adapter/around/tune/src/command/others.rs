// SPDX-License-Identifier: MIT OR Apache-2.0
//! Other settings to choose, and why.

use std::io::Write;

use anyhow::Result;
use atomic_breaker_tune::{Evaluation, Recommendation, Weights, builder_line};

use crate::table::CostTable;
use crate::words::{broken, real};

/// The costs by which other settings are compared.
#[derive(Clone, Copy)]
struct Compared<'r> {
    evaluation: &'r Evaluation,
    /// Wasted calls and the time that they took, in wasted calls.
    wasted: f64,
    rejected: f64,
}

impl<'r> Compared<'r> {
    fn new(evaluation: &'r Evaluation, weights: Weights) -> Self {
        let rejected = real(evaluation.all.useful_rejected());
        Self {
            evaluation,
            wasted: evaluation.cost - weights.healthy_rejected * rejected,
            rejected,
        }
    }

    /// The cost of a rejected call if both cost the same.
    fn equal(&self, other: &Self) -> f64 {
        (self.wasted - other.wasted) / (other.rejected - self.rejected)
    }
}

/// The settings that waste least, those that reject least, and settings in between, each better than the pick in one of both.
/// The front is that of the folds that the search knew; they are compared by the whole log, whose figures are shown.
fn choice<'r>(
    found: &'r Recommendation,
    pick: &Compared<'_>,
    weights: Weights,
) -> Vec<(&'static str, Compared<'r>)> {
    let front = found.front.iter().filter(|it| it.trips > 0);
    let front = front.map(|it| Compared::new(it, weights));
    let front: Vec<_> = front
        .filter(|it| (it.rejected - pick.rejected).abs() >= 1.0)
        .filter(|it| (it.wasted < pick.wasted) != (it.rejected < pick.rejected))
        .filter(|it| is_thinkable(it.equal(pick), weights))
        .collect();
    let first = front.iter().min_by(|a, b| a.wasted.total_cmp(&b.wasted));
    let last = front.iter().rev();
    let last = last.min_by(|a, b| a.rejected.total_cmp(&b.rejected));
    let (Some(first), Some(last)) = (first, last) else {
        return Vec::new();
    };
    let part = |value: f64, least: f64, most: f64| (value - least) / (most - least).max(1.0);
    let far = |it: &Compared<'_>| {
        part(it.wasted, first.wasted, last.wasted)
            + part(it.rejected, last.rejected, first.rejected)
    };
    let between = front.iter().min_by(|a, b| far(a).total_cmp(&far(b)));
    let mut chosen = vec![("least waste", *first)];
    chosen.extend(between.map(|it| ("in between", *it)));
    chosen.push(("fewest rejected", *last));
    chosen.dedup_by(|b, a| a.1.evaluation.config == b.1.evaluation.config);
    if let [(name, it)] = &mut chosen[..] {
        let wastes_less = it.rejected > pick.rejected;
        *name = if wastes_less {
            "less waste"
        } else {
            "fewer rejected"
        };
    }
    chosen
}

/// Returns whether a user who has taken these weights may think of another price, too: a tenth or ten times as much.
fn is_thinkable(price: f64, weights: Weights) -> bool {
    let usual = weights.healthy_rejected;
    usual == 0.0 || (usual / 10.0..usual * 10.0).contains(&price)
}

/// Shows other settings to choose from, where the weights are not yours.
pub(crate) fn others(out: &mut impl Write, found: &Recommendation, weights: Weights) -> Result<()> {
    let pick = Compared::new(&found.pick, weights);
    let chosen = choice(found, &pick, weights);
    if chosen.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\nOthers, if a healthy call that is rejected costs you more or less than {} wasted ones:\n",
        weights.healthy_rejected
    )?;
    let mut table = CostTable::new(weights);
    for (name, Compared { evaluation, .. }) in &chosen {
        table.evaluation(name, evaluation);
    }
    write!(out, "{table}")?;
    for (name, other) in chosen {
        let is_cheaper = other.rejected > pick.rejected;
        let than = if is_cheaper { "less" } else { "more" };
        writeln!(
            out,
            "\n{name}, the better choice if it costs {than} than {:.2}:\n{}",
            other.equal(&pick),
            broken(&builder_line(&other.evaluation.config), "    ")
        )?;
    }
    Ok(())
}
