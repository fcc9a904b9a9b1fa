// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rules of the HTTP preset before simulated outages.

use atomic_breaker_http::ClientConfig;
use atomic_breaker_simulate::{Scenario, simulate};
use std::time::Duration;

#[test]
fn the_rules_of_the_preset_open_in_every_outage_and_close_after_it() {
    let rules = ClientConfig::new().breaker_rules();
    let limit = Duration::from_secs(3);
    let outages = [
        Scenario::dead(),
        Scenario::hangs(limit),
        Scenario::errors(80),
        // Half of a try's limit is slow.
        Scenario::slow(Duration::from_millis(1_600)),
        Scenario::rate_limited(Duration::from_secs(10)),
    ];
    for outage in outages {
        let report = simulate(&rules, outage);
        assert!(
            report.time_until_open() <= Duration::from_secs(4),
            "{report}"
        );
        // The open time grows to 30 s, and jitter makes it 20 % longer.
        assert!(
            report.time_until_closed() <= Duration::from_secs(37),
            "{report}"
        );
    }
    let report = simulate(&rules, Scenario::errors(10));
    assert_eq!(report.trips(), 0, "{report}");
}
