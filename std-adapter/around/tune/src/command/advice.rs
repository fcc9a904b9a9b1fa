// SPDX-License-Identifier: MIT OR Apache-2.0
//! The options to give, in words to paste.

use std::path::Path;

use anyhow::{Error, anyhow};
use atomic_breaker_tune::{Column, ReadError, UnitDoubt};

/// Explains why a log cannot be read, with the options that may help.
pub(crate) fn explained(path: &Path, error: ReadError) -> Error {
    let options = match &error {
        ReadError::NoColumn {
            missing, guesses, ..
        } => columns(missing, guesses),
        ReadError::Unit(doubt) => units(doubt),
        _ => String::new(),
    };
    let words = format!("{}{options}", Error::new(error));
    anyhow!(words).context(path.display().to_string())
}

/// The option that names a column.
const fn option(column: Column) -> Option<&'static str> {
    match column {
        Column::Start => Some("--start"),
        Column::Duration => Some("--duration"),
        Column::Outcome => Some("--outcome"),
        Column::Key => Some("--key"),
        _ => None,
    }
}

/// A word as shells read it. Anything that might be a command for a terminal is left out, and has to be typed.
fn quoted(name: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "_-.@:/".contains(it);
    if !name.is_empty() && name.chars().all(is_plain) && !name.starts_with('-') {
        return name.to_owned();
    }
    if name.chars().any(|it| it.is_control() || it == '\'')
        || name != name.escape_debug().to_string()
    {
        return "COLUMN".to_owned();
    }
    format!("'{name}'")
}

/// `--start started --duration took`
pub(crate) fn names(guesses: &[(Column, String)]) -> String {
    let named =
        |(column, name): &(Column, String)| Some(format!("{} {}", option(*column)?, quoted(name)));
    guesses
        .iter()
        .filter_map(named)
        .collect::<Vec<_>>()
        .join(" ")
}

fn columns(missing: &[(Column, Vec<String>)], guesses: &[(Column, String)]) -> String {
    let mut named = guesses.to_vec();
    for (column, _) in missing {
        if !guesses.iter().any(|(guess, _)| guess == column) {
            named.push((*column, "COLUMN".to_owned()));
        }
    }
    named.sort_by_key(|(column, _)| *column as usize);
    format!(
        "\nIf that is what they say: {}\nTimes are in milliseconds, unless the names of their columns end in _s, _us or _ns, \
         or --unit says otherwise, but for those of nginx and Caddy, which are in seconds.",
        names(&named)
    )
}

pub(crate) fn units(doubt: &UnitDoubt) -> String {
    let unit = doubt.seems.symbol();
    format!(
        "\n--start-unit {unit} if it is, --unit {unit} if durations are, too, and --start-unit ms if it is not"
    )
}
