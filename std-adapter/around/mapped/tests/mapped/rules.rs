// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rules that are the same for a file, setting by setting.

use std::time::Duration;

use atomic_breaker_mapped as mapped;
use atomic_breaker_mapped::{Config, MappedErrorKind as Kind};

use super::errors::assert_says;
use super::support::Dir;

#[test]
fn other_rules_are_rejected_setting_by_setting() {
    let second = Duration::from_secs(1);
    let base = Config::new();
    let growing = base.exponential(2, second * 60);
    let pairs = [
        (base, base.consecutive_failures(6)),
        (base, base.failures_within(5, second)),
        (
            base.failures_within(5, second),
            base.failures_within(6, second),
        ),
        (
            base.failures_within(5, second),
            base.failures_within(5, second * 2),
        ),
        (base, base.slow_call(second)),
        (base, base.open_for(second)),
        (base, growing),
        (growing, base.exponential(3, second * 60)),
        (growing, base.exponential(2, second * 61)),
        (growing, base.linear(second * 2, second * 60)),
        (
            base.linear(second * 2, second * 60),
            base.linear(second * 3, second * 60),
        ),
        (base, base.jitter_percent(20)),
        (base, base.max_retry_after(second)),
        (base, base.probes(2)),
        (base, base.close_after(2)),
        (base, base.probe_lease(second)),
        (base, base.cancel_limit(second)),
        (base, base.gradual_return(10, second)),
        (
            base.gradual_return(10, second),
            base.gradual_return(11, second),
        ),
        (
            base.gradual_return(10, second),
            base.gradual_return(10, second * 2),
        ),
    ];
    let dir = Dir::new();
    for (index, (one, other)) in pairs.into_iter().enumerate() {
        let path = dir.file(&index.to_string());
        let in_use = mapped::open(&path, one).unwrap();
        assert_says(
            &path,
            other,
            Kind::Disagreement,
            "was made with other rules",
        );
        assert!(mapped::open(&path, one).is_ok());
        drop(in_use);
        assert_says(
            &path,
            other,
            Kind::Disagreement,
            "was made with other rules",
        );
    }
}

#[test]
fn each_process_may_have_its_own_seed() {
    let dir = Dir::new();
    let path = dir.file("database");
    let jitter = Config::new().jitter_percent(20);
    let one = mapped::open(&path, jitter.seed(1)).unwrap();
    let other = mapped::open(&path, jitter.seed(2)).unwrap();
    one.trip();
    assert_eq!(one.to_bits(), other.to_bits());
}
