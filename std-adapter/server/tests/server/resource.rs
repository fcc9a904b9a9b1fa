// SPDX-License-Identifier: MIT OR Apache-2.0
//! A resource's failures: their description, and the time for which it is kept.

use std::sync::Mutex;
use std::time::Duration;

use atomic_breaker_server::{
    AnyPermit, Breaker, Config, FailedCall, Failure, Guard, ManualClock, Observer, Outcome,
    Resource, State, word::NativeWord,
};

const SECOND: Duration = Duration::from_secs(1);
const RULES: Config = Config::new()
    .consecutive_failures(2)
    .open_for(Duration::from_secs(10));

fn failure() -> Outcome {
    Failure::new().into()
}

/// The descriptions of calls that failed: whether it was a probe, how long it took, and why.
#[derive(Debug, Default)]
struct Failed(Mutex<Vec<(bool, Option<Duration>, String)>>);

impl Observer for &Failed {
    fn failed(&self, failed: &FailedCall<'_>) {
        let why = failed.why().to_string();
        let seen = (failed.is_probe(), failed.took(), why);
        self.0.lock().unwrap().push(seen);
    }
}

#[test]
fn an_observer_of_a_resource_may_ask_whether_it_was_a_probe_how_long_it_took_and_why() {
    for rules in [RULES, RULES.slow_call(60 * SECOND)] {
        let (clock, seen) = (ManualClock::starting_at(5_000), Failed::default());
        let breaker = Breaker::<_, NativeWord>::builder(rules, &clock).observer(&seen);
        let server = Resource::new(breaker.build());
        let fail = |after: i32, why: &str| {
            let permit = server.acquire().unwrap();
            let began_ms = atomic_breaker_server::Clock::now_ms(&clock);
            clock.set_ms(began_ms.wrapping_add_signed(after));
            permit.report_because(failure(), || why.to_owned());
        };
        fail(700, "503");
        fail(-1_000, "504");
        clock.advance(10 * SECOND);
        fail(1, "");
        let took = |ms| rules.slow_call_ms.map(|_| Duration::from_millis(ms));
        let expected = [
            (false, took(700), "503".to_owned()),
            // The clock stepped back.
            (false, None, "504".to_owned()),
            (true, took(1), String::new()),
        ];
        assert_eq!(*seen.0.lock().unwrap(), expected);
    }
}

#[test]
fn a_resource_keeps_why_a_slow_call_opened_it_until_that_is_cleared() {
    let clock = ManualClock::starting_at(5);
    let rules = RULES.consecutive_failures(1).slow_call(SECOND);
    let server = Resource::new(Breaker::new(rules, &clock));
    let slow = || {
        let permit = server.acquire().unwrap();
        clock.advance(2 * SECOND);
        permit
    };
    let text = || Some(server.last_failure().get()?.text.to_string());
    slow().report(Outcome::Success);
    let rejection = server.acquire().unwrap_err();
    let says = "too slow: took 2s, limit 1s";
    assert_eq!(&*rejection.last_failure.unwrap().text, says);
    server.breaker().reset();
    drop(slow());
    let says = "a call hung until it was cancelled";
    assert_eq!(text().as_deref(), Some(says));
    server.last_failure().clear();
    assert_eq!(text(), None);
    assert_eq!(server.acquire().unwrap_err().last_failure, None);
}

#[test]
fn while_traffic_returns_a_rejection_names_the_failure_that_opened_the_breaker() {
    let clock = ManualClock::new();
    let rules = RULES.gradual_return(1, 1_000 * SECOND);
    let server = Resource::new(Breaker::new(rules, &clock));
    let permit = server.acquire().unwrap();
    permit.report_because(Failure::tripping().into(), || "503".to_owned());
    clock.advance(10 * SECOND);
    server.acquire().unwrap().report(Outcome::Success);
    assert_eq!(server.breaker().state(), State::Returning);
    let rejection = (0..100).find_map(|_| server.acquire().err()).unwrap();
    assert_eq!(rejection.state(), State::Returning);
    assert_eq!(&*rejection.last_failure.unwrap().text, "503");
    // Opened by command since then.
    server.breaker().trip();
    clock.advance(20 * SECOND);
    server.acquire().unwrap().report(Outcome::Success);
    let rejection = (0..100).find_map(|_| server.acquire().err()).unwrap();
    assert_eq!(rejection.state(), State::Returning);
    assert_eq!(rejection.last_failure, None);
}

/// A call that passes in shadow mode is not reported: not to the breaker, nor to those who listen to
/// failures.
#[test]
fn an_observer_hears_nothing_of_a_call_that_would_have_been_rejected() {
    #[derive(Default)]
    struct Heard(Mutex<Vec<&'static str>>);
    impl Observer for &Heard {
        fn outcome(&self, _: Outcome) {
            self.0.lock().unwrap().push("outcome");
        }
        fn cancelled(&self) {
            self.0.lock().unwrap().push("cancelled");
        }
        fn failed(&self, _: &FailedCall<'_>) {
            self.0.lock().unwrap().push("failed");
        }
    }
    let (clock, heard) = (ManualClock::new(), Heard::default());
    let breaker = Breaker::<_, NativeWord>::builder(RULES, &clock).observer(&heard);
    let server = Resource::new(breaker.build());
    server.enforcement().set_percent(0).unwrap();
    let _ = server.breaker().trip();
    let state = server.breaker().snapshot();
    let permits = [(); 3].map(|()| server.acquire().unwrap());
    let [failed, succeeded, dropped] = permits;
    failed.report_because(failure(), || "503".to_owned());
    succeeded.report(Outcome::Success);
    drop(dropped);
    assert_eq!(*heard.0.lock().unwrap(), [""; 0]);
    assert_eq!(server.breaker().snapshot(), state);
}
