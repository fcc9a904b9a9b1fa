// SPDX-License-Identifier: MIT OR Apache-2.0
//! The names of a log's columns.

use super::columns::{Column, TimeUnit};
use super::error::ReadError;

/// Caddy's time, in seconds.
const CADDY: &str = "ts";
/// Times at which nginx and Caddy write a line: when the call has ended. Numbers are in seconds.
const ENDS: [&str; 3] = [CADDY, "msec", "time_iso8601"];
/// Durations of nginx, in seconds.
const LENGTHS: [&str; 2] = ["request_time", "upstream_response_time"];

/// The names of columns that were given, and the units of those whose names do not say it.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns {
    pub(super) given: [Option<String>; Column::COUNT],
    pub(super) unit: Option<TimeUnit>,
    pub(super) start_unit: Option<TimeUnit>,
}

impl Columns {
    pub(super) const fn is_given(&self, column: Column) -> bool {
        self.given[column as usize].is_some()
    }

    /// The names that a column may have: the given name, or the usual ones, the best first.
    pub(super) fn names(&self, column: Column) -> Vec<&str> {
        match &self.given[column as usize] {
            Some(name) => vec![name],
            None => column.usual().collect(),
        }
    }

    /// The unit of times in the column of this name. `None` if neither its name nor the reading says it.
    pub(super) fn unit_of(&self, column: Column, name: &str) -> Option<TimeUnit> {
        let start = self.start_unit.filter(|_| matches!(column, Column::Start));
        let said = start.or_else(|| TimeUnit::of_name(name)).or(self.unit);
        // Beside `ts`, Caddy has a `duration`.
        let is_caddy = self.given[Column::Start as usize].as_deref() == Some(CADDY);
        let is_known = ENDS.contains(&name) || LENGTHS.contains(&name);
        let is_in_seconds = is_known || is_caddy && name == "duration";
        said.or(is_in_seconds.then_some(TimeUnit::Seconds))
    }

    /// The name of the start, if servers write there when a call ended.
    pub(super) fn end(&self) -> Option<&str> {
        let name = self.given[Column::Start as usize].as_deref();
        name.filter(|name| ENDS.contains(name))
    }

    /// Errs if a column that is needed, or was named, was not found among those that there are.
    pub(super) fn check(
        &self,
        is_found: impl Fn(Column) -> bool,
        all: &[String],
    ) -> Result<(), ReadError> {
        let is_missing =
            |column: &Column| !is_found(*column) && (column.is_needed() || self.is_given(*column));
        let missing: Vec<Column> = Column::ALL.into_iter().filter(is_missing).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let names = |column: Column| self.names(column).into_iter().map(str::to_owned).collect();
        Err(ReadError::NoColumn {
            guesses: self.guesses(is_found, all),
            missing: missing.into_iter().map(|it| (it, names(it))).collect(),
            found: all.to_vec(),
        })
    }

    /// Columns that may be meant by those that were neither found nor named.
    pub(super) fn guesses(
        &self,
        is_found: impl Fn(Column) -> bool,
        all: &[String],
    ) -> Vec<(Column, String)> {
        let is_open = |column: &Column| !is_found(*column) && !self.is_given(*column);
        let guess = |column: Column| {
            let name = all.iter().find(|name| column.may_be(name))?;
            Some((column, name.clone()))
        };
        Column::ALL
            .into_iter()
            .filter(is_open)
            .filter_map(guess)
            .collect()
    }
}
