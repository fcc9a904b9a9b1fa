//! An object of JSON per line.

use std::borrow::Cow;

use serde_json::Value;

use super::calls::Row;
use super::columns::{Column, Columns};
use super::error::ReadError;

pub(super) struct Parser {
    names: [Option<String>; Column::COUNT],
}

/// A field of an object, or with dots in its name of an object within it.
fn field<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    let found = value.get(name).or_else(|| {
        let (outer, inner) = name.split_once('.')?;
        field(value.get(outer)?, inner)
    });
    found.filter(|found| !found.is_null())
}

impl Parser {
    pub(super) fn new(first: &str, columns: &mut Columns) -> Result<Self, ReadError> {
        let first: Value = serde_json::from_str(first).unwrap_or_default();
        let names = || match &first {
            Value::Object(fields) => fields.keys().cloned().collect(),
            _ => Vec::new(),
        };
        columns.find(|name| field(&first, name).is_some(), names)?;
        Ok(Self {
            names: Column::ALL.map(|column| columns.name(column).map(str::to_owned)),
        })
    }

    pub(super) fn row(&self, line: &str) -> Result<Row<'static>, String> {
        let value: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let text = |name: &Option<String>| match field(&value, name.as_deref()?)? {
            Value::String(text) => Some(text.clone()),
            Value::Array(_) | Value::Object(_) | Value::Null => None,
            other => Some(other.to_string()),
        };
        Ok(Row {
            fields: self.names.each_ref().map(|name| text(name).map(Cow::Owned)),
        })
    }
}
