// SPDX-License-Identifier: MIT OR Apache-2.0
//! A clock of the caller's own.

use std::sync::LazyLock;
use std::time::Duration;

use atomic_breaker_http::{
    ClientConfig, ClientGuard, Clock, Config, Guard, Origin, Ratio, Registry, State,
};
use atomic_breaker_server::{ManualClock, SlidingRatio};
use http::Uri;

const HOUR: Duration = Duration::from_secs(3_600);

/// Shared, and moved by hand. A clone is the same clock; `default` makes a new one.
#[derive(Clone)]
struct Shared(&'static ManualClock);

impl Clock for Shared {
    fn now_ms(&self) -> u32 {
        self.0.now_ms()
    }
}

fn origin() -> Origin {
    Origin::from_uri(&Uri::from_static("http://a.example/")).unwrap()
}

fn ratio() -> Ratio {
    Ratio::percent(50)
        .within(Duration::from_secs(10))
        .min_calls(20)
}

#[test]
fn calls_an_hour_apart_by_the_clock_of_a_guard_are_not_within_ten_seconds() {
    static CLOCK: ManualClock = ManualClock::new();
    let rules = Config::new()
        .consecutive_failures(1_000)
        .failure_ratio(ratio());
    let config = ClientConfig::new().breaker(rules);
    let guard = ClientGuard::with(config, Shared(&CLOCK), ()).unwrap();
    let fail = || {
        let failed = guard
            .hosts()
            .of(origin())
            .call(|| Err::<(), _>("no answer"));
        assert!(failed.is_err());
    };
    for _ in 0..100 {
        fail();
        CLOCK.advance(HOUR);
    }
    assert_eq!(guard.hosts().state(&origin()), State::Closed);
    for _ in 0..20 {
        fail();
    }
    assert_eq!(guard.hosts().state(&origin()), State::Open);
}

#[test]
fn memories_of_a_registry_may_have_its_clock() {
    static CLOCK: ManualClock = ManualClock::new();
    static HOSTS: LazyLock<Registry<u32, Shared, SlidingRatio<Shared, 1>>> = LazyLock::new(|| {
        Registry::builder(Config::new().tally_only().failure_ratio(ratio()))
            .clock(Shared(&CLOCK))
            .tally(|| SlidingRatio::by(Shared(&CLOCK)))
            .build()
            .unwrap()
    });
    for _ in 0..100 {
        assert!(HOSTS.of(7).call(|| Err::<(), _>("no answer")).is_err());
        CLOCK.advance(HOUR);
    }
    assert_eq!(HOSTS.state(&7), State::Closed);
}
