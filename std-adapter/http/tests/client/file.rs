// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings in a file.

use std::time::Duration;

use atomic_breaker_http::{Backoff, BodyLimits, BudgetConfig, ClientConfig, Ratio};
use atomic_breaker_server::TripRule;

const SECOND: Duration = Duration::from_secs(1);

fn read(file: &str) -> ClientConfig {
    toml::from_str(file).unwrap()
}

fn fault(file: &str) -> String {
    let error = toml::from_str::<ClientConfig>(file).unwrap_err();
    error.message().to_owned()
}

#[test]
fn what_a_file_leaves_out_is_as_in_the_preset() {
    let preset = ClientConfig::new();
    assert_eq!(read(""), preset);
    assert_eq!(read("[breaker]\n[backoff]\n[budget]\n"), preset);
    let rules = read("[breaker]\nconsecutive_failures = 3").breaker_config();
    assert_eq!(rules, preset.breaker_config().consecutive_failures(3));
    let rules = read("[breaker]\nlinear = { step_ms = 1_000, max_ms = 9_000 }").breaker_config();
    let linear = preset.breaker_config().linear(SECOND, 9 * SECOND);
    assert_eq!(rules, linear);
    let (failures, lasting_ms) = (10, 100);
    assert_eq!(
        rules.trip,
        TripRule::Lasting {
            failures,
            lasting_ms
        }
    );
    let ratio = |file: &str| read(&format!("[breaker]\nfailure_ratio = {file}")).breaker_config();
    let within = |percent, seconds| {
        Ratio::percent(percent)
            .within(seconds * SECOND)
            .min_calls(20)
    };
    let preset = |ratio| preset.breaker_config().failure_ratio(ratio);
    assert_eq!(ratio("{ percent = 30 }"), preset(within(30, 10)));
    assert_eq!(ratio("{ within_ms = 20_000 }"), preset(within(90, 20)));
    assert_eq!(
        ratio("{ min_calls = 5 }"),
        preset(within(90, 10).min_calls(5))
    );
    assert_eq!(ratio("{}"), preset(within(90, 10)));
}

#[test]
fn every_setting_has_the_name_of_its_method() {
    let file = r"
        deadline_ms = 30_000
        try_limit_ms = 4_000
        probe_limit_ms = 500
        tries = 4
        backoff = { first_ms = 50, longest_ms = 1_000, factor = 3 }
        rejection_waits = 1
        shared_budget = { max_tokens = 20, deposit_percent = 10, tokens_per_second = 2 }
        without_slow_limit = true
        capacity = 128
        outliving = 8
        in_flight_limit = 64
        max_retry_after_ms = 5_000
        trip_in_flight = true
        trip_on_429 = true
        body_limits = { first_byte_ms = 60_000, idle_ms = 10_000, whole_ms = 600_000 }
        [breaker]
        failure_ratio = { percent = 30, within_ms = 60_000, min_calls = 50 }
        open_for_ms = 2_000
    ";
    let backoff = Backoff::new().first(SECOND / 20).longest(SECOND).factor(3);
    let budget = BudgetConfig::new()
        .max_tokens(20)
        .deposit_percent(10)
        .tokens_per_second(2);
    let limits = BodyLimits::new()
        .first_byte(60 * SECOND)
        .idle(10 * SECOND)
        .whole(600 * SECOND);
    let ratio = Ratio::percent(30).within(60 * SECOND).min_calls(50);
    let rules = ClientConfig::new()
        .breaker_config()
        .failure_ratio(ratio)
        .open_for(2 * SECOND);
    let built = ClientConfig::new()
        .deadline(30 * SECOND)
        .try_limit(4 * SECOND)
        .probe_limit(SECOND / 2)
        .tries(4)
        .backoff(backoff)
        .rejection_waits(1)
        .shared_budget(budget)
        .without_slow_limit()
        .capacity(128)
        .outliving(8)
        .in_flight_limit(64)
        .max_retry_after(5 * SECOND)
        .trip_in_flight(true)
        .trip_on_429(true)
        .body_limits(limits)
        .breaker(rules);
    assert_eq!(read(file), built);
    for (file, config) in [
        (
            "at_end_of_body = true",
            ClientConfig::new().at_end_of_body(),
        ),
        ("probes_at_end = true", ClientConfig::new().probes_at_end()),
        (
            "body_limits = { idle_ms = 10_000 }",
            ClientConfig::new().body_limits(BodyLimits::new().idle(10 * SECOND)),
        ),
    ] {
        assert_eq!(read(file), config, "{file} alone");
    }
    let json = r#"{ "tries": 2, "breaker": { "probes": 2 } }"#;
    let rules = ClientConfig::new().breaker_config().probes(2);
    let built = ClientConfig::new().tries(2).breaker(rules);
    assert_eq!(serde_json::from_str::<ClientConfig>(json).unwrap(), built);
}

/// Its numbers would change their meaning with the order of the settings.
#[test]
fn a_list_in_place_of_settings_by_name_is_an_error() {
    let deadline = "deadline_ms = 9_000\ntries = 2\n";
    for list in [
        "backoff = [50, 1_000, 2]",
        "budget = [50, 10, 2]",
        "shared_budget = [50, 10, 2]",
        "body_limits = [5, 3, 9]",
        "breaker = [3]",
    ] {
        let said = fault(&format!("{deadline}{list}"));
        assert!(said.contains("a table of settings by name"), "{said}");
    }
    let all = serde_json::from_str::<ClientConfig>("[9000, 3000, 1]").unwrap_err();
    assert!(all.to_string().contains("a table of settings"), "{all}");
}

#[test]
fn mistakes_are_errors_that_say_what_to_do() {
    assert!(fault("trys = 2").starts_with("unknown field `trys`, expected one of `deadline_ms`"));
    let typo = fault("[breaker]\nopen_for = 2");
    assert!(
        typo.starts_with("unknown field `open_for`, expected one of"),
        "{typo}"
    );
    assert!(fault("tries = 0").contains("set at least 1"));
    assert!(fault("try_limit_ms = 10_000").contains("must be shorter than the deadline"));
    assert!(fault("[budget]\n[shared_budget]").contains("keep one of them"));
    assert!(fault("[breaker]\nprobes = 0").contains("set at least 1"));
    let of_last = "[breaker]\nfailure_ratio = { percent = 50, of_last = 20 }";
    assert!(fault(of_last).contains("set within instead of of_last"));
    assert!(!fault(of_last).contains("last_calls"), "there is none here");
    assert!(
        fault("[breaker]\nof_last = 20").starts_with("unknown field `of_last`, expected one of")
    );
    assert!(fault("tries = \"two\"").contains("string \"two\", expected u32"));
    assert!(fault("tries = -1").contains("`-1`, expected u32"));
    assert!(fault("capacity = 0").contains("set at least 1"));
    assert!(fault("try_limit_ms = 0").contains("lengthen the limit of a try"));
    assert!(fault("backoff = { first_ms = 0 }").contains("lengthen it"));
    let both = "[breaker]\nfailure_ratio = { percent = 50, basis_points = 5_000 }";
    assert!(fault(both).contains("percent or basis_points: set one"));
    assert!(
        fault("[breaker]\nfailure_ratio = 50").contains("expected a table of settings by name")
    );
}
