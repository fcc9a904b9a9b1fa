// SPDX-License-Identifier: MIT OR Apache-2.0
//! `serde`: a file that changes some of the settings that a program has by default.

use atomic_breaker::config::SETTING_NAMES;
use atomic_breaker::{Config, ConfigOver, Ratio};
use serde::de::DeserializeSeed;
use serde_json::{Value, json};

use super::support::ms;

/// A program has defaults of its own, and a file changes some of them.
#[test]
fn what_a_ratio_leaves_out_is_as_in_the_defaults_of_the_program() {
    let calls = Ratio::percent(30).of_last(40).min_calls(25);
    let time = Ratio::percent(30).within(ms(5_000));
    let over = |ratio: Ratio, file: Value| {
        let file = json!({ "failure_ratio": file });
        let read = ConfigOver(Config::new().failure_ratio(ratio)).deserialize(file);
        read.unwrap().failure_ratio.unwrap()
    };
    assert_eq!(over(calls, json!({})), calls);
    assert_eq!(
        over(calls, json!({"percent": 50})),
        Ratio::percent(50).of_last(40).min_calls(25)
    );
    assert_eq!(
        over(calls, json!({"of_last": 30})),
        Ratio::percent(30).of_last(30)
    );
    // As many calls mean something else within a time, and of other calls.
    assert_eq!(
        over(calls, json!({"within_ms": 900})),
        Ratio::percent(30).within(ms(900))
    );
    assert_eq!(
        over(time, json!({"of_last": 30})),
        Ratio::percent(30).of_last(30)
    );
    assert_eq!(over(time, json!({"min_calls": 7})), time.min_calls(7));
    // Not every memory counts slow calls.
    let slow = time.slow_percent(80);
    assert_eq!(over(slow, json!({"within_ms": 900})), slow.within(ms(900)));
    assert_eq!(
        over(slow, json!({"slow_percent": 90})),
        time.slow_percent(90)
    );
    assert_eq!(
        over(time, json!({"slow_percent": 90})),
        time.slow_percent(90)
    );
    assert_eq!(
        over(slow, json!({"of_last": 30})),
        Ratio::percent(30).of_last(30)
    );
    assert_eq!(
        over(time.min_calls(9), json!({"within_ms": 900})),
        Ratio::percent(30).within(ms(900)).min_calls(9)
    );
}

#[test]
fn the_names_of_settings_are_all_that_a_file_may_have() {
    let unknown = serde_json::from_value::<Config>(json!({"unknown": 1})).unwrap_err();
    let words = unknown.to_string();
    let (_, expected) = words.split_once("expected one of ").unwrap();
    let known: Vec<_> = expected.split('`').skip(1).step_by(2).collect();
    assert_eq!(known, SETTING_NAMES);
}
