// SPDX-License-Identifier: MIT OR Apache-2.0
//! The Rust side: rules and handles, for `include!` in the library.

use std::format;
use std::string::String;
use std::vec::Vec;

use toml::{Table, Value};

use super::asked::{Breakers, RequestedBreaker};

/// Settings of several numbers, in the order in which the builder takes them.
const ARGUMENTS: &[(&str, [&str; 2])] = &[
    ("failures_within", ["failures", "window_ms"]),
    ("exponential", ["factor", "max_ms"]),
    ("exponential_percent", ["percent", "max_ms"]),
    ("linear", ["step_ms", "max_ms"]),
    ("gradual_return", ["first_percent", "over_ms"]),
];

pub(super) fn of(breakers: &Breakers) -> String {
    let modules = breakers
        .iter()
        .map(|(log2, same_tick)| module(*log2, same_tick));
    format!(
        "// Made by atomic-breaker-c: edit breakers.toml instead, and run it again.\n{}",
        modules.collect::<String>()
    )
}

/// The breakers of a tick.
fn module(log2: u32, breakers: &[RequestedBreaker]) -> String {
    let is_one = breakers.len() == 1;
    let lines = |line: &dyn Fn(usize, &RequestedBreaker) -> String| -> String {
        let each = breakers.iter().enumerate();
        each.map(|(index, breaker)| line(index, breaker)).collect()
    };
    let rules = lines(&|index, breaker| {
        let config = config(&breaker.settings);
        format!("    const RULES_{index}: Checked = Rules::new({config});\n")
    });
    let variables = lines(&|index, breaker| {
        let name = &breaker.name;
        let kind = if breaker.retained {
            "Retained<Place>"
        } else {
            "Place"
        };
        let word = format!(
            "        #[link_name = \"{name}\"]\n        safe static WORD_{index}: {kind};\n"
        );
        match &breaker.seed_from {
            Some(seed) => format!(
                "{word}        #[link_name = \"{seed}\"]\n        safe static SEED_{index}: AtomicU32;\n"
            ),
            None => word,
        }
    });
    let all = lines(&|index, _| format!("RULES_{index}, "));
    let words = by_index(breakers, |index, of| {
        if of.retained {
            format!("WORD_{index}.word()")
        } else {
            format!("&WORD_{index}")
        }
    });
    let seeds = by_index(breakers, |index, of| match of.seed_from {
        Some(_) => format!("read(&SEED_{index})"),
        None => "0".into(),
    });
    let functions = lines(&|index, breaker| {
        let name = &breaker.name;
        let handle = if is_one {
            "Handle".into()
        } else {
            format!("Handle({index})")
        };
        if breaker.retained {
            format!("    functions!(\"{name}\" = {handle}, retained in &WORD_{index});\n")
        } else {
            format!("    functions!(\"{name}\" = {handle});\n")
        }
    });
    let (number, index) = if is_one {
        ("", "0")
    } else {
        ("(u8)", "self.0.into()")
    };
    let tick_ms = 1_u32 << log2;
    format!(
        "
mod ticks_of_{tick_ms}_ms {{
    use crate::table::prelude::*;

    type Place = Ticks<AtomicU32, {log2}>;
    type Checked = Rules<TickBits<{log2}>>;

{rules}
    unsafe extern \"C\" {{
{variables}    }}

    #[derive(Clone, Copy)]
    struct Handle{number};

    // SAFETY: handles have the numbers of the rules, and are made below only.
    unsafe impl Table for Handle {{
        type Word = Place;
        const RULES: &'static [Checked] = &[{all}];

        #[inline]
        fn index(self) -> usize {{
            {index}
        }}

        #[inline]
        fn word(self) -> &'static Place {{
            {words}
        }}

        #[inline]
        fn entropy(self) -> u32 {{
            {seeds}
        }}
    }}

{functions}}}
"
    )
}

/// Defines the lookup of a breaker by its handle.
fn by_index(
    breakers: &[RequestedBreaker],
    value: impl Fn(usize, &RequestedBreaker) -> String,
) -> String {
    let each = breakers.iter().enumerate();
    let values: Vec<_> = each.map(|(index, of)| value(index, of)).collect();
    let Some((last, others)) = values.split_last() else {
        return String::new();
    };
    if others.iter().all(|other| other == last) {
        return last.clone();
    }
    let arms = others.iter().enumerate();
    let arms: Vec<_> = arms
        .map(|(index, value)| format!("{index} => {value}"))
        .collect();
    let arms = arms.join(", ");
    format!("match self.0 {{ {arms}, _ => {last} }}")
}

/// The settings as calls of the builder, which takes them under the same names.
fn config(settings: &Table) -> String {
    let calls = settings.iter().map(|(name, value)| {
        let arguments = match value {
            Value::Table(several) => {
                let order = ARGUMENTS.iter().find(|(of, _)| of == name);
                let order = order.map_or(&[][..], |(_, order)| order);
                let each = order
                    .iter()
                    .filter_map(|name| Some(argument(name, several.get(*name)?)));
                each.collect::<Vec<_>>().join(", ")
            }
            one => argument(name, one),
        };
        let method = name.strip_suffix("_ms").unwrap_or(name);
        format!(".{method}({arguments})")
    });
    format!("Config::new(){}", calls.collect::<String>())
}

/// All of them are whole numbers, as the core has read them.
fn argument(name: &str, value: &Value) -> String {
    let number = value.as_integer().unwrap_or_default();
    if name.ends_with("_ms") {
        format!("Duration::from_millis({number})")
    } else {
        format!("{number}")
    }
}
