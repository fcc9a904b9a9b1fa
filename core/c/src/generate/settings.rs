// SPDX-License-Identifier: MIT OR Apache-2.0
//! The settings of one breaker of a file of rules, for a program that reads the file when it starts.

use std::format;
use std::string::{String, ToString as _};
use std::vec::Vec;

use atomic_breaker::{Config, Rules};
use serde::Deserialize as _;
use toml::{Table, Value};

use super::{LONGEST, no_ratio};
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
/// What is wrong with the file, and what to do.
pub fn settings(text: &str, name: &str) -> Result<CSettings, String> {
    if text.len() > LONGEST {
        return Err("it is longer than 1 MiB".into());
    }
    let mut file: Table = text.parse().map_err(|error| format!("{error}"))?;
    match file.remove(name) {
        Some(Value::Table(settings)) => of(settings).map_err(|error| format!("[{name}]: {error}")),
        Some(_) => Err(format!(
            "{name} is one setting: write [{name}] above its settings"
        )),
        None => {
            let names: Vec<_> = file.keys().map(String::as_str).take(20).collect();
            let names = names.join(", ");
            Err(format!("there is no [{name}] in it, but: {names}"))
        }
    }
}

fn of(settings: Table) -> Result<CSettings, String> {
    if let Some(name) = FIRMWARE.iter().find(|name| settings.contains_key(**name)) {
        return Err(format!("{name} is for firmware: leave it out"));
    }
    no_ratio(&settings)?;
    let config = Config::deserialize(Value::Table(settings))
        .map_err(|error| error.to_string().trim_end().to_string())?;
    let _ = Rules::<u64>::try_new(config).map_err(|error| error.to_string())?;
    Ok(CSettings::of(&config))
}
