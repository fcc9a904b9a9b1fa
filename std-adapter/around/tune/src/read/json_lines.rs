// SPDX-License-Identifier: MIT OR Apache-2.0
//! An object of JSON per line, each with fields of its own.

use std::borrow::Cow;

use serde_json::Value;

use super::columns::{Column, TimeUnit};
use super::error::ReadError;
use super::logged::{FieldText, LineFields};
use super::named::Columns;

pub(super) struct JsonParser {
    /// The names that each column may have, and their units.
    names: [Vec<(String, Option<TimeUnit>)>; Column::COUNT],
    /// The columns that were in any line so far.
    found: [bool; Column::COUNT],
    /// The fields of the first object.
    first: Option<Vec<String>>,
    columns: Columns,
}

/// A field of an object, or with dots in its name of an object within it.
fn field<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    let found = value.get(name).or_else(|| {
        let (outer, inner) = name.split_once('.')?;
        field(value.get(outer)?, inner)
    });
    found.filter(|found| !found.is_null())
}

impl JsonParser {
    pub(super) fn new(columns: &Columns) -> Self {
        let names = |column: Column| {
            let names = columns.names(column).into_iter();
            let unit = |name: &str| (name.to_owned(), columns.unit_of(column, name));
            names.map(unit).collect()
        };
        Self {
            names: Column::ALL.map(names),
            found: [false; Column::COUNT],
            first: None,
            columns: columns.clone(),
        }
    }

    pub(super) fn row(&mut self, line: &str) -> Result<LineFields<'static>, String> {
        let value: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        if let (None, Value::Object(fields)) = (&self.first, &value) {
            self.first = Some(fields.keys().cloned().collect());
        }
        let mut row = LineFields::default();
        for column in Column::ALL {
            let place = column as usize;
            for (name, unit) in &self.names[place] {
                let text = match field(&value, name) {
                    None => continue,
                    Some(Value::Array(_) | Value::Object(_)) => {
                        if self.columns.is_given(column) {
                            return Err(format!("its {column} is a list or an object"));
                        }
                        continue;
                    }
                    Some(Value::String(text)) => text.clone(),
                    Some(other) => other.to_string(),
                };
                let text = Cow::Owned(text);
                row[place] = Some(FieldText { text, unit: *unit });
                self.found[place] = true;
                break;
            }
        }
        Ok(row)
    }

    /// Errs if a column is in none of the lines.
    pub(super) fn check(&self, are_all_skipped: bool) -> Result<(), ReadError> {
        // Needed ones are missed only where no line has all of them.
        let is_found = |column: Column| {
            self.found[column as usize] || !(are_all_skipped || self.columns.is_given(column))
        };
        self.columns
            .check(is_found, self.first.as_deref().unwrap_or_default())
    }

    pub(super) fn guesses(&self) -> Vec<(Column, String)> {
        let is_found = |column: Column| self.found[column as usize];
        self.columns
            .guesses(is_found, self.first.as_deref().unwrap_or_default())
    }
}
