// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings as text to paste.

use atomic_breaker_tune::{Config, Ratio, builder_line};
use std::time::Duration;

/// The value of each expression, and its text without spaces and line ends.
macro_rules! lines {
    ($($config:expr;)*) => {
        [$(($config, stringify!($config))),*]
    };
}

#[test]
fn the_builder_line_makes_the_same_settings() {
    let lines = lines! {
        Config::new();
        Config::new().consecutive_failures(8);
        Config::new().consecutive_failures(8).lasting(Duration::from_millis(250));
        Config::new().failures_within(8, Duration::from_secs(60));
        Config::new().tally_only().failure_ratio(Ratio::percent(50).of_last(20));
        Config::new().failure_ratio(Ratio::percent(50).of_last(20).min_calls(5));
        Config::new().failure_ratio(Ratio::basis_points(1234).within(Duration::from_millis(1500)).min_calls(7));
        Config::new().slow_call(Duration::from_millis(250));
        Config::new().open_for(Duration::from_secs(1)).exponential(2, Duration::from_secs(60));
        Config::new().exponential_percent(150, Duration::from_secs(60));
        Config::new().linear(Duration::from_millis(500), Duration::from_secs(30));
        Config::new().jitter_percent(20).seed(7);
        Config::new().max_retry_after(Duration::from_secs(60));
        Config::new().probes(3).close_after(5);
        Config::new().probe_lease(Duration::from_secs(10)).cancel_limit(Duration::from_millis(100));
        Config::new().gradual_return(10, Duration::from_secs(30));
    };
    let bare = |text: &str| text.replace(char::is_whitespace, "");
    for (config, text) in lines {
        assert_eq!(bare(&builder_line(&config)), bare(text));
    }
}
