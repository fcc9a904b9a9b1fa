// SPDX-License-Identifier: MIT OR Apache-2.0
//! The last failure of a resource is that of its last outage.

use std::time::Duration;

use atomic_breaker::word::AtomicU32;
use atomic_breaker::{Breaker, Config, ManualClock};
use atomic_breaker_http::{Failure, Guard, Outcome};
use atomic_breaker_server::{AnyPermit, Resource};

use super::{DAY, SECOND};

type Observed<'a> = Resource<Breaker<&'a ManualClock, &'a AtomicU32>>;

fn resource<'a>(clock: &'a ManualClock, word: &'a AtomicU32) -> Observed<'a> {
    let config = Config::new().consecutive_failures(1);
    Resource::new(Breaker::over(word, config, clock))
}

fn fail(resource: &Observed<'_>, words: impl FnOnce() -> Option<String>) {
    let outcome = Outcome::Failure(Failure::new());
    let permit = resource.acquire().unwrap();
    match words() {
        Some(words) => permit.report_because(outcome, || words),
        None => permit.report(outcome),
    };
}

fn words_of(resource: &Observed<'_>) -> Option<String> {
    let last = resource.last_failure().get();
    last.map(|last| last.text.to_string())
}

#[test]
fn the_last_failure_is_that_of_the_last_outage_whatever_the_time_between() {
    let (clock, word) = (ManualClock::starting_at(100_000), AtomicU32::new(0));
    let resource = resource(&clock, &word);
    for days in [20, 25, 30, 40, 49, 50, 70] {
        fail(&resource, || Some(format!("{days}")));
        assert_eq!(words_of(&resource), Some(format!("{days}")));
        resource.breaker().reset();
        clock.advance(DAY * days);
    }
    for number in ["first", "second"] {
        fail(&resource, || Some(number.to_owned()));
        assert_eq!(words_of(&resource).as_deref(), Some(number));
        resource.breaker().reset();
        clock.step_back(SECOND * 2);
    }
}

#[test]
fn the_last_failure_is_that_of_the_last_outage_whichever_thread_is_delayed() {
    for later in [Some("later"), None] {
        for held_up in [Duration::ZERO, SECOND * 2, DAY * 30] {
            let (clock, word) = (ManualClock::new(), AtomicU32::new(0));
            let resource = resource(&clock, &word);
            let permit = resource.acquire().unwrap();
            // Delayed while it formats its text.
            let _ = permit.report_because(Outcome::Failure(Failure::new()), || {
                clock.advance(held_up);
                resource.breaker().reset();
                fail(&resource, || later.map(str::to_owned));
                "earlier".to_owned()
            });
            assert_eq!(words_of(&resource).as_deref(), later);
        }
    }
}

#[test]
fn the_last_failure_is_that_of_the_last_outage_whatever_happens_elsewhere() {
    for elsewhere in 0..40 {
        let (clock, word) = (ManualClock::new(), AtomicU32::new(0));
        let resource = resource(&clock, &word);
        let of_others = Breaker::over(&word, Config::new(), &clock);
        fail(&resource, || Some("earlier".to_owned()));
        for _ in 0..elsewhere {
            of_others.reset();
        }
        resource.breaker().reset();
        fail(&resource, || Some("later".to_owned()));
        assert_eq!(words_of(&resource).as_deref(), Some("later"), "{elsewhere}");
    }
}
