// SPDX-License-Identifier: MIT OR Apache-2.0
//! `serde`: configurations are read from a file.

use atomic_breaker::{Breaker, Config, ManualClock, Ratio};
use serde_json::{Value, json};

use super::support::ms;

fn read(file: Value) -> Result<Config, String> {
    serde_json::from_value(file).map_err(|error| error.to_string())
}

/// The error for a file.
fn fault(file: Value) -> String {
    read(file).unwrap_err()
}

/// Each setting alone, with its form in a file: under the name of the method.
fn settings() -> Vec<(Config, Value)> {
    let config = Config::new;
    let ratio = Ratio::percent(30).of_last(40);
    vec![
        (
            config().consecutive_failures(3),
            json!({"consecutive_failures": 3}),
        ),
        (
            config().failures_within(7, ms(60_000)),
            json!({"failures_within": {"failures": 7, "window_ms": 60_000}}),
        ),
        (
            config().failure_ratio(ratio),
            json!({"failure_ratio": {"percent": 30, "of_last": 40}}),
        ),
        (
            config().tally_only().failure_ratio(ratio.min_calls(5)),
            json!({
                "tally_only": true,
                "failure_ratio": {"percent": 30, "of_last": 40, "min_calls": 5},
            }),
        ),
        (
            config().failure_ratio(Ratio::percent(30).within(ms(10_000))),
            json!({"failure_ratio": {"percent": 30, "within_ms": 10_000}}),
        ),
        (
            config().failure_ratio(Ratio::percent(30).within(ms(10_000)).min_calls(60_000)),
            json!({"failure_ratio": {"percent": 30, "within_ms": 10_000, "min_calls": 60_000}}),
        ),
        (
            config().failure_ratio(Ratio::percent(30).within(ms(10_000)).slow_percent(80)),
            json!({"failure_ratio": {"percent": 30, "within_ms": 10_000, "slow_percent": 80}}),
        ),
        (
            config().failure_ratio(Ratio::basis_points(10).of_last(40)),
            json!({"failure_ratio": {"basis_points": 10, "of_last": 40}}),
        ),
        (config().slow_call(ms(300)), json!({"slow_call_ms": 300})),
        (config().open_for(ms(250)), json!({"open_for_ms": 250})),
        (
            config().exponential(3, ms(50_000)),
            json!({"exponential": {"factor": 3, "max_ms": 50_000}}),
        ),
        (
            config().exponential_percent(150, ms(50_000)),
            json!({"exponential_percent": {"percent": 150, "max_ms": 50_000}}),
        ),
        (
            config().linear(ms(1_000), ms(30_000)),
            json!({"linear": {"step_ms": 1_000, "max_ms": 30_000}}),
        ),
        (config().jitter_percent(10), json!({"jitter_percent": 10})),
        (config().seed(42), json!({"seed": 42})),
        (
            config().max_retry_after(ms(900)),
            json!({"max_retry_after_ms": 900}),
        ),
        (config().probes(2), json!({"probes": 2})),
        (config().close_after(4), json!({"close_after": 4})),
        (
            config().probe_lease(ms(700)),
            json!({"probe_lease_ms": 700}),
        ),
        (config().cancel_limit(ms(0)), json!({"cancel_limit_ms": 0})),
        (
            config().gradual_return(10, ms(30_000)),
            json!({"gradual_return": {"first_percent": 10, "over_ms": 30_000}}),
        ),
    ]
}

#[test]
fn every_setting_stands_under_the_name_of_its_method() {
    for (config, file) in settings() {
        assert_eq!(read(file.clone()), Ok(config), "{file}");
    }
    assert_eq!(read(json!({})), Ok(Config::new()), "the defaults");
}

#[test]
fn every_configuration_survives_a_file() {
    for (config, file) in settings() {
        let written = serde_json::to_value(config).unwrap();
        for (name, value) in file.as_object().unwrap() {
            assert_eq!(&written[name], value, "{written}");
        }
        assert_eq!(written.get("tally_only"), file.get("tally_only"));
        assert_eq!(read(written.clone()), Ok(config), "{written}");
    }
    let all = Config::new()
        .failures_within(7, ms(60_000))
        .failure_ratio(Ratio::percent(50).of_last(20).min_calls(3))
        .open_for(ms(2_000))
        .exponential_percent(133, ms(50_000))
        .jitter_percent(10)
        .seed(42)
        .max_retry_after(ms(9_000))
        .probes(2)
        .close_after(4)
        .probe_lease(ms(5_000))
        .cancel_limit(ms(100))
        .gradual_return(5, ms(10_000))
        .slow_call(ms(300));
    let json = serde_json::to_string(&all).unwrap();
    assert_eq!(serde_json::from_str::<Config>(&json).unwrap(), all);
}

#[test]
fn any_percentage_of_growth_survives_a_file() {
    for percent in 101..1_000 {
        let config = Config::new().exponential_percent(percent, ms(60_000));
        let written = serde_json::to_value(config).unwrap();
        assert_eq!(read(written), Ok(config), "{percent}");
        assert_eq!(config.growth.unwrap().percent(), Some(percent));
    }
}

/// Percentages beyond 1,677,721,599 are kept as that one, which is the largest that fits.
#[test]
fn growth_beyond_what_is_kept_survives_a_file() {
    for percent in [1_677_721_598, 1_677_721_599, 1_677_721_600, u32::MAX] {
        let config = Config::new().exponential_percent(percent, ms(60_000));
        let written = serde_json::to_value(config).unwrap();
        assert_eq!(read(written), Ok(config), "{percent}");
        let kept = percent.min(1_677_721_599);
        assert_eq!(config.growth.unwrap().percent(), Some(kept));
    }
}

/// The example in the documentation of `Config`.
#[test]
fn the_documented_file_is_the_documented_configuration() {
    let file = json!({
        "consecutive_failures": 5,
        "failure_ratio": { "percent": 50, "of_last": 20, "min_calls": 10 },
        "open_for_ms": 1000,
        "exponential": { "factor": 2, "max_ms": 60000 },
        "gradual_return": { "first_percent": 10, "over_ms": 30000 }
    });
    let expected = Config::new()
        .consecutive_failures(5)
        .failure_ratio(Ratio::percent(50).of_last(20).min_calls(10))
        .open_for(ms(1_000))
        .exponential(2, ms(60_000))
        .gradual_return(10, ms(30_000));
    assert_eq!(read(file), Ok(expected));
}

#[test]
fn a_misspelt_setting_is_rejected_with_the_valid_names() {
    let error = fault(json!({"open_for": 250}));
    assert!(error.contains("unknown field `open_for`"), "{error}");
    assert!(error.contains("`open_for_ms`"), "{error}");
    let nested = [
        json!({"failures_within": {"failures": 3, "window": 1}}),
        json!({"failure_ratio": {"percent": 3, "calls": 1}}),
        json!({"exponential": {"percent": 150, "max_ms": 1}}),
        json!({"exponential_percent": {"factor": 2, "max_ms": 1}}),
        json!({"linear": {"step": 2, "max_ms": 1}}),
        json!({"gradual_return": {"percent": 2, "over_ms": 1}}),
    ];
    for file in nested {
        let error = fault(file);
        assert!(error.contains("unknown field"), "{error}");
    }
}

/// The editor of a file may not know Rust: the messages name settings, not types or methods.
#[test]
fn rules_that_exclude_each_other_are_named_as_they_stand_in_the_file() {
    let row = json!({"consecutive_failures": 5});
    let within = json!({"failures_within": {"failures": 5, "window_ms": 1_000}});
    let tally = json!({"tally_only": true});
    for (one, other) in [(&row, &within), (&row, &tally), (&within, &tally)] {
        let mut file = one.clone();
        file.as_object_mut()
            .unwrap()
            .extend(other.as_object().unwrap().clone());
        assert_eq!(
            fault(file),
            "consecutive_failures, failures_within and tally_only exclude each other: keep one \
             (failure_ratio goes with any of them)"
        );
    }
    for ratio in [
        json!({"of_last": 20}),
        json!({"percent": 50, "basis_points": 5_000, "of_last": 20}),
    ] {
        assert_eq!(
            fault(json!({"failure_ratio": ratio})),
            "a failure_ratio has either percent or basis_points: set one of them"
        );
    }
    for ratio in [
        json!({"percent": 50}),
        json!({"percent": 50, "of_last": 20, "within_ms": 10_000}),
    ] {
        assert_eq!(
            fault(json!({"failure_ratio": ratio})),
            "a failure_ratio has either of_last or within_ms: set one of them"
        );
    }
    let exponential = json!({"factor": 2, "max_ms": 60_000});
    let linear = json!({"step_ms": 2, "max_ms": 60_000});
    assert_eq!(
        fault(json!({"exponential": exponential, "linear": linear})),
        "exponential, exponential_percent and linear exclude each other: keep one of them"
    );
}

#[test]
fn a_missing_or_mistyped_value_is_named() {
    let missing = fault(json!({"failures_within": {"failures": 5}}));
    assert!(missing.contains("missing field `window_ms`"), "{missing}");
    let kind = fault(json!({"open_for_ms": "5s"}));
    assert!(kind.contains("expected u32"), "{kind}");
    assert!(read(json!({"probes": -1})).is_err());
}

/// A file can hold settings that do not fit the word; the error names them by their names in the file.
#[test]
fn a_file_that_does_not_fit_is_rejected_when_the_breaker_is_made() {
    let clock = ManualClock::new();
    for (file, said) in [
        (json!({"probes": 0}), "with 0 probes"),
        (
            json!({"linear": {"step_ms": 0, "max_ms": 60_000}}),
            "needs a factor",
        ),
        (
            json!({"exponential": {"factor": 1, "max_ms": 60_000}}),
            "needs a factor",
        ),
        (
            json!({"tally_only": true}),
            "tally_only without a failure_ratio",
        ),
        (
            json!({"gradual_return": {"first_percent": 0, "over_ms": 9}}),
            "gradual_return",
        ),
    ] {
        let config = read(file.clone()).unwrap();
        let error = Breaker::try_new(config, &clock).unwrap_err().to_string();
        assert!(error.contains(said), "{file}: {error}");
    }
}

/// An empty list `[]` hardly means the defaults.
#[test]
fn a_list_is_not_a_configuration() {
    for file in [
        json!([]),
        json!([5]),
        json!(7),
        json!("defaults"),
        json!(null),
    ] {
        let said = fault(file.clone());
        assert!(
            said.contains("expected a table of settings by name"),
            "{file}: {said}"
        );
    }
}

/// The order of the numbers could only be guessed.
#[test]
fn a_list_is_not_a_setting_of_several_numbers() {
    for name in [
        "failures_within",
        "failure_ratio",
        "exponential",
        "exponential_percent",
        "linear",
        "gradual_return",
    ] {
        for list in [json!([]), json!([2, 60_000]), json!([50, null, 100])] {
            let said = fault(json!({ name: list }));
            assert!(
                said.contains("expected a table of settings by name"),
                "{name}: {said}"
            );
        }
    }
}
