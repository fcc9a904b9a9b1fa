// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules by chance, for both sides, and their fingerprints.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use atomic_breaker_mapped::{Config, Rules, open};
use test_support::dice::Dice;

use crate::ask::{ask, dice};
use crate::support::{Dir, word};

/// Rules, and the same as in a file of rules.
pub(crate) struct Drawn {
    pub(crate) config: Config,
    pub(crate) json: String,
}

/// Mostly an everyday number, sometimes one at an edge.
fn number(dice: &mut Dice, least: u32, usual: u32, most: u32) -> u32 {
    match dice.below(10) {
        0 => least,
        1 => most,
        2 => dice.within(least..most),
        _ => dice.within(least..usual),
    }
}

fn ms(ms: u32) -> Duration {
    Duration::from_millis(ms.into())
}

fn growth(dice: &mut Dice, config: Config) -> (Config, String) {
    let max = number(dice, 1, 200_001, 1 << 31).max(config.open_for_ms);
    match dice.below(3) {
        0 => {
            let factor = number(dice, 2, 9, 40_000_000);
            let json = format!(r#""exponential":{{"factor":{factor},"max_ms":{max}}}"#);
            (config.exponential(factor, ms(max)), json)
        }
        1 => {
            let percent = number(dice, 101, 999, u32::MAX);
            let json = format!(r#""exponential_percent":{{"percent":{percent},"max_ms":{max}}}"#);
            (config.exponential_percent(percent, ms(max)), json)
        }
        _ => {
            let step = number(dice, 1, 30_000, 1 << 31);
            let json = format!(r#""linear":{{"step_ms":{step},"max_ms":{max}}}"#);
            (config.linear(ms(step), ms(max)), json)
        }
    }
}

impl Drawn {
    fn set(&mut self, config: Config, json: &str) {
        self.config = config;
        let comma = if self.json.len() > 1 { "," } else { "" };
        self.json += comma;
        self.json += json;
    }

    /// A setting of one number, in half of the rules.
    fn simple(
        &mut self,
        dice: &mut Dice,
        name: &str,
        [least, usual, most]: [u32; 3],
        with: fn(Config, u32) -> Config,
    ) {
        if dice.percent(50) {
            let value = number(dice, least, usual, most);
            self.set(with(self.config, value), &format!(r#""{name}":{value}"#));
        }
    }
}

fn attempt(dice: &mut Dice) -> Drawn {
    const HALF: u32 = 1 << 31;
    let mut drawn = Drawn {
        config: Config::new(),
        json: "{".into(),
    };
    let failures = number(dice, 1, 20, 65_535);
    match dice.below(4) {
        0 => (),
        1 => {
            let json = format!(r#""consecutive_failures":{failures}"#);
            drawn.set(drawn.config.consecutive_failures(failures), &json);
        }
        2 => {
            let failures = number(dice, 1, 4, 32_767);
            let json = format!(r#""consecutive_failures":{failures}"#);
            drawn.set(drawn.config.consecutive_failures(failures), &json);
            let lasting = number(dice, 0, 60_000, HALF);
            let json = format!(r#""lasting_ms":{lasting}"#);
            drawn.set(drawn.config.lasting(ms(lasting)), &json);
        }
        _ => {
            let window = number(dice, 1, 60_000, HALF);
            let json =
                format!(r#""failures_within":{{"failures":{failures},"window_ms":{window}}}"#);
            drawn.set(drawn.config.failures_within(failures, ms(window)), &json);
        }
    }
    drawn.simple(dice, "slow_call_ms", [1, 9_000, HALF - 1], |it, n| {
        it.slow_call(ms(n))
    });
    drawn.simple(dice, "open_for_ms", [0, 60_000, HALF], |it, n| {
        it.open_for(ms(n))
    });
    drawn.simple(dice, "jitter_percent", [0, 30, 100], Config::jitter_percent);
    drawn.simple(dice, "max_retry_after_ms", [0, 900_000, HALF], |it, n| {
        it.max_retry_after(ms(n))
    });
    drawn.simple(dice, "probes", [1, 6, 255], Config::probes);
    drawn.simple(dice, "close_after", [1, 9, 255], Config::close_after);
    drawn.simple(dice, "probe_lease_ms", [1, 90_000, HALF], |it, n| {
        it.probe_lease(ms(n))
    });
    drawn.simple(dice, "cancel_limit_ms", [0, 900, HALF], |it, n| {
        it.cancel_limit(ms(n))
    });
    // It is no part of the fingerprint.
    drawn.simple(dice, "seed", [0, 9, u32::MAX], Config::seed);
    if dice.percent(50) {
        let (first, over) = (dice.within(1..101), number(dice, 1, 60_000, HALF));
        let json = format!(r#""gradual_return":{{"first_percent":{first},"over_ms":{over}}}"#);
        drawn.set(drawn.config.gradual_return(first, ms(over)), &json);
    }
    if dice.percent(60) {
        let (with, json) = growth(dice, drawn.config);
        drawn.set(with, &json);
    }
    drawn.json += "}";
    drawn
}

/// Rules that fit.
pub(crate) fn draw(dice: &mut Dice) -> Drawn {
    loop {
        let drawn = attempt(dice);
        if Rules::<u64>::try_new(drawn.config).is_ok() {
            return drawn;
        }
    }
}

#[test]
#[ignore = "needs Python: tests/shared-file/run"]
fn fingerprints_of_a_thousand_random_sets_of_rules_are_the_same() {
    let mut dice = dice(1);
    let drawn: Vec<_> = (0..1_000).map(|_| draw(&mut dice)).collect();
    let requests: Vec<_> = drawn.iter().map(|it| format!("[{}]", it.json)).collect();
    let answers = ask("fingerprints", &requests);
    let dir = Dir::new();
    let mut distinct = BTreeSet::new();
    for (index, (drawn, answer)) in drawn.iter().zip(&answers).enumerate() {
        let path = dir.file(&index.to_string());
        drop(open(&path, drawn.config).unwrap());
        let found = word(&path, 7);
        assert_eq!(found.to_string(), *answer, "{}", drawn.json);
        distinct.insert(found);
    }
    let mut settings = BTreeMap::<&str, usize>::new();
    for drawn in &drawn {
        for name in drawn.json.split('"').skip(1).step_by(2) {
            *settings.entry(name).or_default() += 1;
        }
    }
    println!("{} fingerprints; settings: {settings:?}", distinct.len());
    assert!(settings.len() >= 22, "a setting was never drawn");
    assert!(settings.values().all(|count| *count >= 20));
    assert!(distinct.len() > 950);
}
