// SPDX-License-Identifier: MIT OR Apache-2.0
//! Markdown tables.

use std::fmt;

/// A table, filled row by row. The first column has words, the others have figures.
#[derive(Clone, Debug)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table of these columns.
    pub fn new<S: ToString>(header: impl IntoIterator<Item = S>) -> Self {
        let mut table = Self { rows: Vec::new() };
        table.row(header);
        table
    }

    /// One more row.
    pub fn row<S: ToString>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows
            .push(cells.into_iter().map(|cell| cell.to_string()).collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.rows[0].len();
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
                .max(3)
        };
        for (number, row) in self.rows.iter().enumerate() {
            for column in 0..columns {
                let cell = row.get(column).map_or("", String::as_str);
                if column == 0 {
                    write!(f, "| {cell:0$} ", width(column))?;
                } else {
                    write!(f, "| {cell:>0$} ", width(column))?;
                }
            }
            writeln!(f, "|")?;
            if number == 0 {
                write!(f, "|{}", "-".repeat(width(0) + 2))?;
                for column in 1..columns {
                    write!(f, "|{}:", "-".repeat(width(column) + 1))?;
                }
                writeln!(f, "|")?;
            }
        }
        Ok(())
    }
}
