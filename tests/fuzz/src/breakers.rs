// SPDX-License-Identifier: MIT OR Apache-2.0
//! `breakers.toml`, and what is made of it: names in C, and rules in Rust that say what the file says.

use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;
use std::time::Duration;

use atomic_breaker::Config;
use atomic_breaker_c::generate::generate;
use regex::Regex;
use toml::{Table, Value};

use crate::reading::{number, rules};
use crate::text;

/// The keywords of C, its later ones with lower-case letters too, and of C++.
const KEYWORDS: &str = "auto break case char const continue default do double else enum extern float for goto if inline int \
    long register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while \
    bool true false nullptr alignas alignof constexpr typeof asm catch class delete explicit friend mutable namespace new \
    operator private protected public template this throw try typename using virtual and or not xor export";

pub(crate) fn made(bytes: &[u8]) {
    let Some(text) = text(bytes) else {
        return;
    };
    let asked = text.parse::<Table>().ok().and_then(|table| read(&table));
    match generate(text) {
        Ok(made) => {
            let asked = asked.expect("a table of breakers");
            let rust = Module::all(&made.rust);
            assert_eq!(
                rust.keys().collect::<Vec<_>>(),
                asked.keys().collect::<Vec<_>>()
            );
            for (name, breaker) in &asked {
                assert_eq!(&rust[name], breaker, "{name}: {}", made.rust);
            }
            is_c(&made.header, &asked);
        }
        Err(error) => assert!(!error.is_empty()),
    }
}

/// The rules of a breaker in the settings, or in the Rust file.
#[derive(Debug, PartialEq)]
struct Breaker {
    tick_ms: u64,
    retained: bool,
    seed_from: Option<String>,
    rules: Config,
}

fn read(table: &Table) -> Option<BTreeMap<String, Breaker>> {
    let each = table.iter().map(|(name, value)| {
        let mut settings = value.as_table()?.clone();
        let mut own = |name: &str| settings.remove(name);
        let tick_ms = own("tick_ms").as_ref().map_or(Some(64), number)?;
        let retained = own("retained").map_or(Some(false), |it| it.as_bool())?;
        let seed_from = match own("seed_from") {
            Some(Value::String(name)) => Some(name),
            Some(_) => return None,
            None => None,
        };
        let breaker = Breaker {
            tick_ms,
            retained,
            seed_from,
            rules: rules(&settings, Config::new(), None)?,
        };
        Some((name.clone(), breaker))
    });
    each.collect()
}

macro_rules! pattern {
    ($name:ident = $pattern:literal) => {
        static $name: LazyLock<Regex> = LazyLock::new(|| Regex::new($pattern).expect("a pattern"));
    };
}
pattern!(MODULE = r"(?s)mod ticks_of_(\d+)_ms \{(.*?)\n\}");
pattern!(RULES = r"const RULES_(\d+): Checked = Rules::new\(Config::new\(\)(.*)\);");
pattern!(CALL = r"\.(\w+)\(((?:[^()]|\(\d+\))*)\)");
pattern!(FUNCTIONS = r#"functions!\("(\w+)" = Handle(?:\((\d+)\))?(, retained in &WORD_(\d+))?\)"#);
pattern!(VARIABLE = r#"#\[link_name = "(\w+)"\]\s+safe static (WORD|SEED)_(\d+): ([\w<>]+);"#);
pattern!(WORDS = r"(?s)fn word\(self\) -> &'static Place \{\s+(.*?)\n {8}\}");
pattern!(SEEDS = r"(?s)fn entropy\(self\) -> u32 \{\s+(.*?)\n {8}\}");
pattern!(C_VARIABLE = r"(?m)^extern (\w+) (\w+);$");
pattern!(C_FUNCTION = r"(?m)^(?:AB_USE_RESULT )?\w+ (\w+)\(.*\);$");

/// The breakers of one tick.
struct Module<'r>(&'r str);

impl<'r> Module<'r> {
    fn all(rust: &str) -> BTreeMap<String, Breaker> {
        let modules = MODULE.captures_iter(rust).flat_map(|found| {
            let tick_ms = found[1].parse().expect("a tick");
            let module = Module(found.get(2).map_or("", |it| it.as_str()));
            module.breakers(tick_ms)
        });
        modules.collect()
    }

    fn breakers(&self, tick_ms: u64) -> Vec<(String, Breaker)> {
        let functions = FUNCTIONS.captures_iter(self.0);
        let each = functions.map(|found| {
            let (name, index) = (&found[1], found.get(2).map_or("0", |it| it.as_str()));
            let retained = found.get(3).is_some();
            assert!(found.get(4).is_none_or(|it| it.as_str() == index));
            let word = self.variable("WORD", index).expect("a word");
            let kind = if retained { "Retained<Place>" } else { "Place" };
            assert_eq!(word, (name, kind));
            let place = if retained { ".word()" } else { "" };
            let place = format!("WORD_{index}{place}");
            let shown = if retained { place } else { format!("&{place}") };
            assert_eq!(self.of_index(&WORDS, index), shown);
            let seed = self.variable("SEED", index).map(|(name, _)| name);
            let read = seed.map_or("0".to_owned(), |_| format!("read(&SEED_{index})"));
            assert_eq!(self.of_index(&SEEDS, index), read);
            let breaker = Breaker {
                tick_ms,
                retained,
                seed_from: seed.map(str::to_owned),
                rules: self.rules(index),
            };
            (name.to_owned(), breaker)
        });
        each.collect()
    }

    /// The name and the kind of a variable.
    fn variable(&self, kind: &str, index: &str) -> Option<(&'r str, &'r str)> {
        let mut all = VARIABLE.captures_iter(self.0);
        let found = all.find(|found| &found[2] == kind && &found[3] == index)?;
        let part = |place| found.get(place).map_or("", |it| it.as_str());
        Some((part(1), part(4)))
    }

    /// The answer of a function for a handle: always the same, or by its number.
    fn of_index(&self, function: &Regex, index: &str) -> &'r str {
        let found = function.captures(self.0).expect("a function");
        let body = found.get(1).map_or("", |it| it.as_str());
        let Some(arms) = body.strip_prefix("match self.0 { ") else {
            return body;
        };
        let mut arms = arms.trim_end_matches(" }").split(", ");
        let arm = arms.find_map(|arm| {
            let (of, value) = arm.split_once(" => ")?;
            (of == index || of == "_").then_some(value)
        });
        arm.expect("an arm")
    }

    /// The rules, by calls of the builder.
    fn rules(&self, index: &str) -> Config {
        let mut all = RULES.captures_iter(self.0);
        let found = all.find(|found| &found[1] == index).expect("rules");
        let calls = found.get(2).map_or("", |it| it.as_str());
        let length: usize = CALL.find_iter(calls).map(|call| call.len()).sum();
        assert_eq!(length, calls.len(), "{calls}");
        CALL.captures_iter(calls)
            .fold(Config::new(), |config, call| {
                let numbers = call[2].split(", ").map(|argument| {
                    let ms = argument.strip_prefix("Duration::from_millis(");
                    let number = ms.map_or(argument, |ms| ms.trim_end_matches(')'));
                    (number.parse().expect("a number"), ms.is_some())
                });
                built(config, &call[1], &numbers.collect::<Vec<_>>())
            })
    }
}

/// The rules after a call of the builder. An argument is a number, or milliseconds.
fn built(config: Config, method: &str, arguments: &[(u32, bool)]) -> Config {
    let time = |ms: u32| Duration::from_millis(ms.into());
    match (method, arguments) {
        ("consecutive_failures", &[(failures, false)]) => config.consecutive_failures(failures),
        ("failures_within", &[(failures, false), (ms, true)]) => {
            config.failures_within(failures, time(ms))
        }
        ("slow_call", &[(ms, true)]) => config.slow_call(time(ms)),
        ("open_for", &[(ms, true)]) => config.open_for(time(ms)),
        ("exponential", &[(factor, false), (ms, true)]) => config.exponential(factor, time(ms)),
        ("exponential_percent", &[(percent, false), (ms, true)]) => {
            config.exponential_percent(percent, time(ms))
        }
        ("linear", &[(step, true), (ms, true)]) => config.linear(time(step), time(ms)),
        ("jitter_percent", &[(percent, false)]) => config.jitter_percent(percent),
        ("seed", &[(seed, false)]) => config.seed(seed),
        ("max_retry_after", &[(ms, true)]) => config.max_retry_after(time(ms)),
        ("probes", &[(probes, false)]) => config.probes(probes),
        ("close_after", &[(successes, false)]) => config.close_after(successes),
        ("probe_lease", &[(ms, true)]) => config.probe_lease(time(ms)),
        ("cancel_limit", &[(ms, true)]) => config.cancel_limit(time(ms)),
        ("gradual_return", &[(percent, false), (ms, true)]) => {
            config.gradual_return(percent, time(ms))
        }
        _ => panic!(".{method}({arguments:?}) does not compile"),
    }
}

/// Each name can be one, and is that of one thing.
fn is_c(header: &str, asked: &BTreeMap<String, Breaker>) {
    assert!(header.contains("#ifndef"));
    assert_eq!(header.matches("/*").count(), header.matches("*/").count());
    let variables: Vec<_> = C_VARIABLE
        .captures_iter(header)
        .map(|it| it.extract::<2>().1)
        .collect();
    let functions: Vec<_> = C_FUNCTION
        .captures_iter(header)
        .map(|it| it.extract::<1>().1[0])
        .collect();
    for (name, breaker) in asked {
        let kind = if breaker.retained {
            "ab_retained"
        } else {
            "ab_t"
        };
        let same: Vec<_> = variables.iter().filter(|it| it[1] == name).collect();
        assert_eq!(same, [&[kind, name.as_str()]], "{header}");
        if let Some(seed) = &breaker.seed_from {
            assert!(variables.contains(&["uint32_t", seed]), "{header}");
        }
        for function in ["acquire", "report", "reset"] {
            assert!(functions.contains(&format!("{name}_{function}").as_str()));
        }
        let restores = functions.contains(&format!("{name}_restore").as_str());
        assert_eq!(restores, breaker.retained, "{header}");
    }
    let taken: HashSet<&str> = functions.iter().copied().collect();
    assert_eq!(taken.len(), functions.len(), "a function twice: {header}");
    for name in variables.iter().map(|it| it[1]) {
        assert!(!taken.contains(name), "{name} twice: {header}");
        let is_name = name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.len() <= 40
            && name
                .bytes()
                .all(|c| c == b'_' || c.is_ascii_digit() || c.is_ascii_lowercase());
        let is_keyword = KEYWORDS.split_whitespace().any(|it| it == name);
        // Names of types, and what the library's own begin with.
        let begin = name.split('_').next();
        let is_ours = ["ab", "ab32", "ab64"].map(Some).contains(&begin) || name.ends_with("_t");
        assert!(is_name && !is_keyword && !is_ours, "{name}");
    }
}
