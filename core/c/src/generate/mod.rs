// SPDX-License-Identifier: MIT OR Apache-2.0
//! Generates the code for a `breakers.toml`: a header for C, and Rust for the library, with every rule checked.
//!
//! ```toml
//! [radio]
//! consecutive_failures = 3
//! open_for_ms = 2000
//! exponential = { factor = 2, max_ms = 60000 }
//!
//! [modem]
//! failures_within = { failures = 5, window_ms = 30000 }
//! tick_ms = 1024           # a power of two from 1 to 65536; 64 unless set
//! retained = true          # in memory that survives a reset
//! jitter_percent = 20
//! seed_from = "device_id"  # a `uint32_t` of your program that differs from device to device
//! ```
//!
//! The settings are those of [`Config`]; a failure ratio needs more than one word, and is not offered.

mod asked;
mod header;
mod rust;
mod settings;

use std::format;
use std::string::{String, ToString as _};

use atomic_breaker::config::SETTING_NAMES;
use atomic_breaker::word::{Bits, TickBits};
use atomic_breaker::{Config, Rules};
use serde::Deserialize as _;
use toml::{Table, Value};

pub use settings::settings;

use asked::{Breakers, RequestedBreaker};

/// The two files.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Generated {
    /// For C and C++: `breakers.h`.
    pub header: String,
    /// The Rust file of the library: `breakers.rs`.
    pub rust: String,
}

/// More of one tick than a byte tells apart, or than anyone wants in one program.
const MOST: usize = 200;
/// A file that is longer was not written by hand.
const LONGEST: usize = 1 << 20;

/// Makes both files of the text of `breakers.toml`.
///
/// # Errors
/// The fault of the file, and the fix.
pub fn generate(text: &str) -> Result<Generated, String> {
    if text.len() > LONGEST {
        return Err("it is longer than 1 MiB".into());
    }
    let file: Table = text.parse().map_err(|error| format!("{error}"))?;
    let mut breakers = Breakers::new();
    for (name, value) in file {
        let Value::Table(settings) = value else {
            return Err(format!(
                "{name}: settings belong to a breaker: write [radio] above"
            ));
        };
        no_setting(&name)?;
        let (log2, breaker) =
            breaker(name.clone(), settings).map_err(|error| format!("[{name}]: {error}"))?;
        let same_tick = breakers.entry(log2).or_default();
        same_tick.push(breaker);
        if same_tick.len() > MOST {
            return Err(format!("there are more than {MOST} breakers of one tick"));
        }
    }
    check_names(&breakers)?;
    Ok(Generated {
        header: header::of(&breakers),
        rust: rust::of(&breakers),
    })
}

/// Reads and checks the settings of a breaker.
fn breaker(name: String, mut settings: Table) -> Result<(u32, RequestedBreaker), String> {
    check_name(&name)?;
    let tick_ms = match settings.remove("tick_ms") {
        None => 64,
        Some(Value::Integer(ms @ 1..=65_536)) if ms.count_ones() == 1 => ms,
        Some(_) => return Err("tick_ms: set a power of two from 1 to 65536".into()),
    };
    let retained = match settings.remove("retained") {
        None => false,
        Some(Value::Boolean(retained)) => retained,
        Some(_) => return Err("retained: set true or false".into()),
    };
    let seed_from = match settings.remove("seed_from") {
        None => None,
        Some(Value::String(variable)) => {
            check_name(&variable).map_err(|error| format!("seed_from: {error}"))?;
            Some(variable)
        }
        Some(_) => return Err("seed_from: set the name of a variable".into()),
    };
    no_ratio(|name| settings.contains_key(name))?;
    let config =
        Config::deserialize(Value::Table(settings.clone())).map_err(|error| said(&error))?;
    let has_seed = config.seed.is_some();
    match (config.jitter_percent, has_seed, &seed_from) {
        (_, true, Some(_)) => return Err("seed and seed_from: set one of them".into()),
        (1.., false, None) => {
            return Err("jitter without a seed is the same on every device: set seed_from to the name \
                        of a uint32_t of your program that differs from device to device, such as the \
                        chip's unique number, or seed to a number"
                .into());
        }
        (0, _, Some(_)) => {
            return Err(
                "seed_from has no effect without jitter_percent: set that, or leave it out".into(),
            );
        }
        _ => {}
    }
    let log2 = tick_ms.trailing_zeros();
    check(config, log2)?;
    let breaker = RequestedBreaker {
        name,
        settings,
        retained,
        seed_from,
    };
    Ok((log2, breaker))
}

/// Settings of Rust that one word has no room for.
const RATIOS: [&str; 2] = ["failure_ratio", "tally_only"];

/// Describes the error in a value: without offering what is refused here, and with ranges in place of Rust's types.
fn said(error: &toml::de::Error) -> String {
    let mut text = error.to_string().trim_end().to_string();
    for ratio in RATIOS {
        text = text.replace(&format!("`{ratio}`, "), "");
        text = text.replace(&format!(", `{ratio}`"), "");
    }
    text = text.replace(
        "consecutive_failures, failures_within and tally_only exclude each other: keep one \
         (failure_ratio goes with any of them)",
        "consecutive_failures and failures_within exclude each other: keep one",
    );
    for (kind, most) in [
        ("u8", u8::MAX.into()),
        ("u16", u16::MAX.into()),
        ("u32", u32::MAX),
    ] {
        let range = format!("expected a whole number from 0 to {most}");
        text = text.replace(&format!("expected {kind}"), &range);
    }
    if text.contains("floating point") {
        text += "; times are in milliseconds, and a factor of 1.5 is exponential_percent = { percent = 150, max_ms = .. }";
    }
    text
}

/// The message of a fault, without offering what is refused here.
fn without_tally(message: &str) -> String {
    message.replace(" or tally_only", "")
}

fn no_ratio(is_set: impl Fn(&str) -> bool) -> Result<(), String> {
    match RATIOS.into_iter().find(|ratio| is_set(ratio)) {
        None => Ok(()),
        Some(ratio) => Err(format!(
            "{ratio} needs more memory than one word, which is not offered for C: use failures_within"
        )),
    }
}

/// A table of settings above which no breaker stands, as where a breaker's own were pasted beneath it.
fn no_setting(name: &str) -> Result<(), String> {
    if !SETTING_NAMES.contains(&name) {
        return Ok(());
    }
    Err(format!(
        "[{name}] is a setting, not a breaker: write {name} = {{ .. }} in one line beneath the breaker that it is for"
    ))
}

/// Checks the rules for a word of this tick.
fn check(config: Config, log2: u32) -> Result<(), String> {
    fn fits<B: Bits>(config: Config) -> Result<(), String> {
        Rules::<B>::try_new(config).map(drop).map_err(|error| {
            let longest = B::LAYOUT.max_ms();
            let message = without_tally(error.message());
            if message.contains("longer than") {
                format!("{message} (the longest time with this tick is {longest} ms)")
            } else {
                message
            }
        })
    }
    macro_rules! by_tick {
        ($($n:literal)+) => {
            match log2 {
                $($n => fits::<TickBits<$n>>(config),)+
                _ => Err("tick_ms is a power of two from 1 to 65536".into()),
            }
        };
    }
    by_tick!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16)
}

/// The suffixes of the generated functions' names, after the name of the breaker.
const SUFFIXES: &[&str] = &[
    "acquire",
    "report",
    "ignore",
    "report_failures",
    "report_retry_after",
    "report_down",
    "cancel",
    "renew",
    "state",
    "snapshot",
    "restore",
    "restore_after",
    "restore_running",
    "trip",
    "force_open",
    "release",
    "disable",
    "enable",
    "reset",
    "probe_now",
];

/// Names that cannot be variables: keywords of C and C++ up to C23 and C++23, macros of compilers and of their headers, and
/// what the library takes from libc.
const TAKEN: &str = " alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl \
    complex concept const const_cast consteval constexpr constinit continue co_await co_return co_yield \
    decltype default delete do double dynamic_cast else enum errno explicit export extern false float for \
    friend goto i386 if imaginary inline int linux long main memcmp memcpy memmove memset mutable namespace \
    new noexcept noreturn not not_eq nullptr operator or or_eq private protected public register \
    reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast stderr \
    stdin stdout struct switch template this thread_local throw true try typedef typeid typename typeof \
    typeof_unqual union unix unsigned using virtual void volatile while xor xor_eq ";

/// The prefixes of the library's own functions.
const OURS: [&str; 3] = ["ab", "ab32", "ab64"];

/// Checks that a name can be that of a variable, and part of a function's name.
fn check_name(name: &str) -> Result<(), String> {
    let is_fine = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && name.len() <= 40
        && !name.ends_with("_t")
        && !OURS.contains(&name.split('_').next().unwrap_or_default())
        && !TAKEN.contains(&format!(" {name} "));
    if is_fine {
        return Ok(());
    }
    Err(format!(
        "{name:?} cannot be a variable of C here: use lower-case letters, digits and underscores, at most \
         40, no keyword of C or C++ and no name of their headers, no _t at the end, and no ab, ab32 or ab64 \
         before the first underscore"
    ))
}

/// Checks that no variable is called like a function of another breaker.
fn check_names(breakers: &Breakers) -> Result<(), String> {
    let all = || breakers.values().flatten();
    if all().next().is_none() {
        return Err("there is no breaker in it: begin with [radio], for example".into());
    }
    let variables = || all().flat_map(|of| of.seed_from.iter().chain([&of.name]));
    for breaker in all() {
        for suffix in SUFFIXES {
            let function = format!("{}_{suffix}", breaker.name);
            if variables().any(|name| *name == function) {
                return Err(format!(
                    "{function} would be a variable, and a function of [{}]: rename one of them",
                    breaker.name
                ));
            }
        }
        if variables().filter(|name| **name == breaker.name).count() > 1 {
            return Err(format!(
                "seed_from = {:?} is a breaker: name another variable",
                breaker.name
            ));
        }
    }
    Ok(())
}
