// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rules of the HTTP preset before simulated outages.

use atomic_breaker_http::ClientConfig;
use atomic_breaker_tune::{Scenario, simulate};
use std::time::Duration;

#[test]
fn the_rules_of_the_preset_open_in_every_outage_and_close_after_it() {
    let rules = ClientConfig::new().effective_breaker_config();
    let limit = Duration::from_secs(3);
    let seconds = Duration::from_secs;
    let outages = [
        (Scenario::dead(), 4),
        (Scenario::hangs(limit), 4),
        (Scenario::errors(80), 4),
        // Half of a try's limit is slow; four fifths of the tries within ten seconds must be.
        (Scenario::slow(Duration::from_millis(1_600)), 10),
        (Scenario::rate_limited(seconds(10)), 4),
    ];
    for (outage, most) in outages {
        let report = simulate(&rules, outage);
        assert!(report.time_until_open() <= seconds(most), "{report}");
        // The open time grows to 4 s, and jitter makes it 20 % longer; or they ask for ten seconds. A probe takes up to 3 s.
        assert!(report.time_until_closed() <= seconds(15), "{report}");
    }
    let report = simulate(&rules, Scenario::errors(10));
    assert_eq!(report.trips(), 0, "{report}");
}
