// SPDX-License-Identifier: MIT OR Apache-2.0
//! A table of what settings cost.

use std::fmt;

use atomic_breaker_tune::{Evaluation, Figures, Weights};

use crate::words::{cost, number, time};

pub(crate) struct CostTable {
    weights: Weights,
    rows: Vec<[String; 6]>,
}

impl CostTable {
    pub(crate) fn new(weights: Weights) -> Self {
        let headings = [
            "",
            "wasted",
            "time wasted",
            "healthy rejected",
            "trips",
            "cost",
        ];
        Self {
            weights,
            rows: vec![headings.map(str::to_owned)],
        }
    }

    pub(crate) fn row(&mut self, name: &str, figures: &Figures, trips: Option<u64>) {
        self.rows.push([
            name.to_owned(),
            number(figures.wasted),
            time(figures.wasted_time()),
            number(figures.useful_rejected()),
            trips.map_or_else(|| "–".into(), number),
            cost(self.weights.cost(figures)),
        ]);
    }

    /// A row with what the whole log would have cost.
    pub(crate) fn evaluation(&mut self, name: &str, evaluation: &Evaluation) {
        self.row(name, &evaluation.all, Some(evaluation.trips));
    }
}

impl fmt::Display for CostTable {
    /// Columns are as wide as they need to be, the first to the left and the others to the right.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |column: usize| {
            self.rows
                .iter()
                .map(|row| row[column].chars().count())
                .max()
        };
        for row in &self.rows {
            for (column, cell) in row.iter().enumerate() {
                let width = width(column).unwrap_or(0);
                match column {
                    0 => write!(f, "{cell:<width$}")?,
                    _ => write!(f, "   {cell:>width$}")?,
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
