// SPDX-License-Identifier: MIT OR Apache-2.0
//! The settings of one breaker of a file of rules, for a program that reads the file when it starts.

use core::ops::Range;
use std::format;
use std::string::String;
use std::vec::Vec;

use atomic_breaker::{Config, Rules};
use serde::Deserialize as _;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::{LONGEST, no_ratio, no_setting, said, without_tally};
use crate::types::CSettings;

/// Settings that name the firmware around a breaker.
const FIRMWARE: [&str; 3] = ["tick_ms", "retained", "seed_from"];

/// The settings of the breaker `name` in the text of a TOML file, checked for words of 64 bits.
///
/// ```
/// use atomic_breaker_c::generate::settings;
///
/// let file = "[database]\nconsecutive_failures = 3\nopen_for_ms = 2000";
/// let database = settings(file, "database")?;
/// assert_eq!((database.failures, database.open_ms, database.probes), (3, 2_000, 1));
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
/// The fault of the file, and the fix.
pub fn settings(text: &str, name: &str) -> Result<CSettings, String> {
    if text.len() > LONGEST {
        return Err("it is longer than 1 MiB".into());
    }
    let file = DeTable::parse(text).map_err(|error| format!("{error}"))?;
    let mut file = file.into_inner();
    for (table, value) in &file {
        if matches!(value.get_ref(), DeValue::Table(_)) {
            no_setting(table.get_ref())?;
        }
    }
    let Some(found) = file.remove(name) else {
        return Err(absent(&file, name));
    };
    let DeValue::Table(settings) = found.get_ref() else {
        return Err(format!(
            "{name} is one setting: write [{name}] above its settings"
        ));
    };
    let place = |span: Option<Range<usize>>| {
        let before = span.and_then(|span| text.get(..span.start));
        let line = before.map(|before| format!(", line {}", before.matches('\n').count() + 1));
        format!("[{name}]{}", line.unwrap_or_default())
    };
    let table = place(Some(found.span()));
    refuse(settings).map_err(|error| format!("{table}: {error}"))?;
    let config = Config::deserialize(ValueDeserializer::from(found))
        .map_err(|error| format!("{}: {}", place(error.span()), said(&error)))?;
    match Rules::<u64>::try_new(config) {
        Ok(_) => Ok(CSettings::of(&config)),
        Err(error) => {
            let message = without_tally(error.message());
            Err(format!("{table}: {message}"))
        }
    }
}

fn refuse(settings: &DeTable<'_>) -> Result<(), String> {
    if let Some(name) = FIRMWARE.iter().find(|name| settings.contains_key(**name)) {
        return Err(format!("{name} is for firmware: leave it out"));
    }
    no_ratio(|name| settings.contains_key(name))
}

/// Explains why there is no table of this name.
fn absent(file: &DeTable<'_>, name: &str) -> String {
    let mut parts = name.split('.');
    if name.contains('.') && parts.next().is_some_and(|first| file.contains_key(first)) {
        return format!("there is no [\"{name}\"] in it: a name with a dot stands in quotes");
    }
    if file.is_empty() {
        return format!("there is no [{name}] in it, nor anything else: begin with [{name}]");
    }
    let names: Vec<_> = file.keys().map(|name| &**name.get_ref()).take(20).collect();
    format!("there is no [{name}] in it, but: {}", names.join(", "))
}
