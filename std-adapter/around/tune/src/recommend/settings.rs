// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings as text to paste.

use std::fmt::Write as _;

use atomic_breaker::{Config, Ratio, TripRule};

/// The settings as a Rust expression: only what differs from the defaults.
///
/// ```
/// use atomic_breaker_tune::{Config, builder_line};
/// use std::time::Duration;
///
/// let config = Config::new().consecutive_failures(8).open_for(Duration::from_millis(500));
/// let line = "Config::new().consecutive_failures(8).open_for(Duration::from_millis(500))";
/// assert_eq!(builder_line(&config), line);
/// ```
#[must_use]
pub fn builder_line(config: &Config) -> String {
    let usual = Config::new();
    let mut line = String::from("Config::new()");
    let mut add = |method: &str, arguments: &[String]| {
        let _ = write!(line, ".{method}({})", arguments.join(", "));
    };
    if config.trip != usual.trip {
        match config.trip {
            TripRule::Consecutive { failures } => {
                add("consecutive_failures", &[failures.to_string()]);
            }
            TripRule::Lasting {
                failures,
                lasting_ms,
            } => {
                add("consecutive_failures", &[failures.to_string()]);
                add("lasting", &[time(lasting_ms)]);
            }
            TripRule::Within {
                failures,
                window_ms,
            } => add("failures_within", &[failures.to_string(), time(window_ms)]),
            TripRule::TallyOnly => add("tally_only", &[]),
            // None that is recommended here.
            _ => {}
        }
    }
    if let Some(it) = config.failure_ratio {
        add("failure_ratio", &[ratio(it)]);
    }
    let mut add_time = |method: &str, ms: Option<u32>| {
        if let Some(ms) = ms {
            add(method, &[time(ms)]);
        }
    };
    let changed = |now: u32, usual: u32| (now != usual).then_some(now);
    add_time("slow_call", config.slow_call_ms);
    add_time("open_for", changed(config.open_for_ms, usual.open_for_ms));
    if let Some(growth) = config.growth {
        let max = time(growth.max_ms);
        match (growth.step_ms(), growth.percent()) {
            (Some(step), _) => add("linear", &[time(step), max]),
            (None, Some(percent)) if percent % 100 == 0 => {
                add("exponential", &[(percent / 100).to_string(), max]);
            }
            (None, percent) => {
                let percent = percent.unwrap_or_default();
                add("exponential_percent", &[percent.to_string(), max]);
            }
        }
    }
    if config.jitter_percent != usual.jitter_percent {
        add("jitter_percent", &[config.jitter_percent.to_string()]);
    }
    if let Some(seed) = config.seed {
        add("seed", &[seed.to_string()]);
    }
    if let Some(ms) = config.max_retry_after_ms {
        add("max_retry_after", &[time(ms)]);
    }
    if config.probes != usual.probes {
        add("probes", &[config.probes.to_string()]);
    }
    if let Some(successes) = config.close_after {
        add("close_after", &[successes.to_string()]);
    }
    if let Some(ms) = config.probe_lease_ms {
        add("probe_lease", &[time(ms)]);
    }
    if config.cancel_limit_ms != usual.cancel_limit_ms {
        add("cancel_limit", &[time(config.cancel_limit_ms)]);
    }
    if let Some(it) = config.gradual_return {
        add(
            "gradual_return",
            &[it.first_percent.to_string(), time(it.over_ms)],
        );
    }
    line
}

fn time(ms: u32) -> String {
    if ms.is_multiple_of(1_000) {
        format!("Duration::from_secs({})", ms / 1_000)
    } else {
        format!("Duration::from_millis({ms})")
    }
}

fn ratio(ratio: Ratio) -> String {
    let points = ratio.trips_at_basis_points();
    let (mut text, mut same) = if points.is_multiple_of(100) {
        let percent = points / 100;
        (
            format!("Ratio::percent({percent})"),
            Ratio::percent(percent),
        )
    } else {
        let text = format!("Ratio::basis_points({points})");
        (text, Ratio::basis_points(points))
    };
    if let Some(calls) = ratio.calls() {
        let _ = write!(text, ".of_last({calls})");
        same = same.of_last(calls);
    }
    if let Some(ms) = ratio.within_ms() {
        let _ = write!(text, ".within({})", time(ms));
        same = same.within(std::time::Duration::from_millis(ms.into()));
    }
    if let Some(percent) = ratio.trips_at_slow_percent() {
        let _ = write!(text, ".slow_percent({percent})");
        same = same.slow_percent(percent);
    }
    if same != ratio {
        let _ = write!(text, ".min_calls({})", ratio.needed_calls());
    }
    text
}
