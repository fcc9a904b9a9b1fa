// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tables of docs/drivers.md.

use std::fmt::Write;

use crate::condition::Ill;
use crate::run::{Figures, Seen, Sight};
use crate::zoo::animals;

const fn illness(ill: Ill) -> &'static str {
    match ill {
        Ill::Silent => "silent",
        Ill::Mute => "mute",
        Ill::Rubbish => "rubbish",
    }
}

fn returned(sight: &Sight) -> String {
    let words = sight.keys().map(|seen| match seen {
        Seen::Right => "right values",
        Seen::WrongAndPlausible => "`Ok`",
        Seen::Wrong => "wrong values",
        Seen::Error => "errors",
        Seen::Nothing => "nothing",
        Seen::Panic => "panics",
    });
    words.collect::<Vec<_>>().join(", ")
}

fn cells(figures: &Figures) -> String {
    let or_never = |number: Option<u32>, unit: &str| match number {
        Some(number) => format!("{number}{unit}"),
        None => "never".to_owned(),
    };
    format!(
        "{} | {} | {} | {} | {} | {} |",
        or_never(figures.noticed_after, ""),
        figures.wasted,
        figures.repairs,
        or_never(figures.served_after, " s"),
        figures.right,
        figures.wrong,
    )
}

const COLUMNS: &str = "noticed after | in vain | repairs | served again after | readings of 1,000 | wrong ones taken |\n";
const ALIGNED: &str = "---:|---:|---:|---:|---:|---:|\n";

/// Returns the table of drivers in a `Device`.
pub fn by_driver() -> String {
    let mut table = format!("| driver | of | the device is | bare, it returns | {COLUMNS}");
    table += "|---|---|---|---|";
    table += ALIGNED;
    for animal in animals() {
        for ill in Ill::ALL {
            let [bare, _] = animal.ill(ill);
            let (bare, figures) = (returned(&bare), cells(&animal.by_driver(ill)));
            let (name, drives, ill) = (animal.name, animal.drives, illness(ill));
            let _ = writeln!(table, "| {name} | {drives} | {ill} | {bare} | {figures}");
        }
    }
    table
}

/// Returns the table of drivers over guarded buses.
pub fn by_transport() -> String {
    let mut table = format!("| driver | over | the device is | {COLUMNS}");
    table += "|---|---|---|";
    table += ALIGNED;
    for animal in animals() {
        for ill in Ill::ALL {
            let Some((guard, figures)) = animal.by_transport(ill) else {
                break;
            };
            let (name, ill, figures) = (animal.name, illness(ill), cells(&figures));
            let _ = writeln!(table, "| {name} | `{guard}` | {ill} | {figures}");
        }
    }
    table
}

/// Returns the table of what is returned after a cycle of the power, without setting the device up again.
pub fn not_set_up() -> String {
    let mut table = "| driver | after a cycle of the power, it returns |\n|---|---|\n".to_owned();
    for animal in animals() {
        let _ = writeln!(
            table,
            "| {} | {} |",
            animal.name,
            returned(&animal.not_set_up())
        );
    }
    table
}
