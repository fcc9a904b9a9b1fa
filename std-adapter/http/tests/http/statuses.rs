// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every status, and what it does to a breaker.

use std::convert::Infallible;
use std::io::{self, ErrorKind};
use std::time::Duration;

use atomic_breaker_http::{
    Config, Failure, GrpcClassifier, HttpClassifier, HttpRules, Outcome, ResponseHead, State,
};
use atomic_breaker_server::{Cause, Classify, ManualClock, Report};
use http::{Response, StatusCode};

use crate::support::{Fate, Log, ONE, Script, response, script};

type Breaker<'a> = atomic_breaker_http::Breaker<&'a ManualClock>;

const HTTP: HttpClassifier = HttpClassifier::new();

fn classify<B>(response: Response<B>) -> Outcome {
    HTTP.classify(&Ok::<_, Infallible>(response))
}

#[test]
fn every_status_from_100_to_999_counts_as_documented() {
    for code in 100..=999 {
        let expected = match code {
            429 | 511 => Outcome::Ignored,
            501 | 505 | 507 => Outcome::Success,
            408 | 500..=599 => ONE,
            _ => Outcome::Success,
        };
        assert_eq!(classify(response(code, &[], ())), expected, "{code}");
        let status = StatusCode::from_u16(code).unwrap();
        assert_eq!(HTTP.status(status), expected, "{code}");
    }
}

#[test]
fn a_hint_counts_for_503_alone_and_429_alone_by_option() {
    let retry = [("retry-after", "7")];
    let hinted = Outcome::Failure(Failure::retry_after(Duration::from_secs(7)));
    let tripping = Outcome::Failure(Failure::tripping_for(Duration::from_secs(7)));
    for code in 100..=999 {
        let response = response(code, &retry, ());
        let status = response.status();
        let plain = HTTP.status(status);
        let expected = if code == 503 { hinted } else { plain };
        assert_eq!(HTTP.response(&response), expected, "{code}");
        let expected = match code {
            429 => tripping,
            503 => hinted,
            _ => plain,
        };
        assert_eq!(
            HTTP.trip_on_429(true).response(&response),
            expected,
            "{code}"
        );
        let expected = if code == 429 { ONE } else { plain };
        assert_eq!(HTTP.trip_on_429(true).status(status), expected, "{code}");
        let deaf = HTTP.max_retry_after(Duration::ZERO);
        assert_eq!(deaf.response(&response), plain, "{code}");
        let hint = matches!(code, 429 | 503).then_some(Duration::from_secs(7));
        assert_eq!(HTTP.retry_hint(&response), hint, "{code}");
    }
}

#[test]
fn a_hint_of_a_status_that_is_no_failure_by_rule_is_for_the_caller_alone() {
    let http = HTTP.statuses(|status| match status {
        StatusCode::BAD_GATEWAY => ONE,
        _ => Outcome::Success,
    });
    let busy = response(503, &[("retry-after", "7")], ());
    assert_eq!(http.response(&busy), Outcome::Success);
    assert_eq!(http.retry_hint(&busy), Some(Duration::from_secs(7)));
}

#[test]
fn a_hint_changes_nothing_else_of_what_a_failure_is_by_rule() {
    let seven = Duration::from_secs(7);
    let busy = response(503, &[("retry-after", "7")], ());
    for (rule, expected) in [
        (
            HTTP.statuses(|_| Failure::with_weight(3).into()),
            Failure::with_weight(3).asking_for(seven),
        ),
        (
            HTTP.statuses(|_| Failure::tripping().into()),
            Failure::tripping_for(seven),
        ),
    ] {
        assert_eq!(rule.response(&busy), expected.into());
    }
}

#[test]
fn hints_are_clamped_to_300_seconds_or_what_is_set() {
    let busy = response(503, &[("retry-after", "99999999999999999999")], ());
    let secs = |secs| Outcome::Failure(Failure::retry_after(Duration::from_secs(secs)));
    assert_eq!(HTTP.response(&busy), secs(300));
    let minute = HTTP.max_retry_after(Duration::from_secs(60));
    assert_eq!(minute.response(&busy), secs(60));
    assert_eq!(HTTP.max_retry_after(Duration::ZERO).response(&busy), ONE);
    assert_eq!(HTTP.max_retry_after(Duration::MAX).response(&busy), {
        Outcome::Failure(Failure::retry_after(Duration::MAX))
    });
}

#[test]
fn every_error_is_a_failure_unless_a_rule_says_otherwise() {
    let refused = || Err::<Response<()>, _>(io::Error::from(ErrorKind::ConnectionRefused));
    assert_eq!(HTTP.classify(&refused()), ONE);
    let http = HTTP.errors(|error: &io::Error| match error.kind() {
        ErrorKind::ConnectionRefused => Failure::with_weight(3).into(),
        ErrorKind::Interrupted => Outcome::Ignored,
        _ => Failure::new().into(),
    });
    assert_eq!(http.classify(&refused()), Failure::with_weight(3).into());
    let gone = Err::<Response<()>, _>(io::Error::from(ErrorKind::Interrupted));
    assert_eq!(http.classify(&gone), Outcome::Ignored);
    assert!(http.reason(&gone).is_none(), "no failure, no reason");
}

#[test]
fn a_503_with_a_hint_is_weighed_and_a_429_counts_nowhere() {
    let clock = ManualClock::new();
    let breaker = Breaker::new(Config::new().consecutive_failures(3), &clock);
    let call = |code, retry| {
        let answer = || Ok::<_, Infallible>(response(code, &[("retry-after", retry)], ()));
        breaker.call_with(HTTP, answer).is_ok()
    };
    assert!(call(429, "60"));
    assert_eq!(breaker.snapshot().failures(), 0);
    assert!(call(500, "60"));
    assert!(call(429, "60"));
    assert_eq!(breaker.snapshot().failures(), 1, "nor does it hide others");
    assert!(call(503, "60"));
    assert_eq!(breaker.state(), State::Closed, "a failure like others");

    assert!(call(503, "60"));
    assert_eq!(breaker.state(), State::Open);
    let wait = breaker.acquire().unwrap_err().retry_in();
    assert_eq!(wait, Some(Duration::from_secs(60)));
    clock.advance(Duration::from_millis(59_999));
    assert!(!call(200, ""), "not before");
    clock.advance(Duration::from_millis(1));
    assert!(call(503, "20"), "a probe");
    let wait = breaker.acquire().unwrap_err().retry_in();
    assert_eq!(wait, Some(Duration::from_secs(20)));
    clock.advance(Duration::from_secs(20));
    assert!(call(200, ""));
    assert_eq!(breaker.state(), State::Closed);
}

#[test]
fn a_429_trips_for_its_hint_or_the_usual_time_by_option() {
    let clock = ManualClock::new();
    let rules = Config::new()
        .consecutive_failures(3)
        .open_for(Duration::from_secs(5));
    let last = |hints: &[(&'static str, &str)]| {
        let breaker = Breaker::new(rules, &clock);
        let mut calls = 0;
        let tripped = loop {
            calls += 1;
            let permit = breaker.acquire().unwrap();
            let answer = response(429, hints, ());
            if let Some(tripped) = permit.report(HTTP.trip_on_429(true).response(&answer)) {
                break tripped;
            }
        };
        (calls, tripped.cause, tripped.open_for().unwrap().as_secs())
    };
    assert_eq!(last(&[("retry-after", "300")]), (1, Cause::RetryAfter, 300));
    assert_eq!(last(&[]), (3, Cause::FailureLimit, 5));
}

/// A classifier is not told which calls are probes.
#[test]
fn a_probe_of_call_with_that_gets_a_429_leaves_it_to_the_next_one() {
    let clock = ManualClock::new();
    let breaker = Breaker::new(Config::new(), &clock);
    let call = |code| {
        let answer = || Ok::<_, Infallible>(response(code, &[], ()));
        breaker.call_with(HTTP, answer).is_ok()
    };
    breaker.trip();
    clock.advance(Duration::from_secs(5));
    for _ in 0..3 {
        assert!(call(429));
        assert_eq!(breaker.state(), State::HalfOpen);
    }
    assert!(call(404), "an answer that says no");
    assert_eq!(breaker.state(), State::Closed);
}

/// A probe asks whether the host responds, and it does. If it decided nothing, a tenant over its quota that takes each
/// probe would keep the others out.
#[test]
fn a_429_is_neutral_and_as_a_probe_a_success() {
    type Answer = Result<Response<Script>, &'static str>;
    fn report(is_probe: bool, http: &impl Report<Response<Script>, &'static str>) -> Fate {
        let log = Log::default();
        let answer: Answer = Ok(response(429, &[("retry-after", "9")], script([])));
        drop(http.report(log.permit(is_probe), answer));
        log.end()
    }
    let by_rule = HTTP.statuses(|_| Outcome::Ignored);
    let hinted = Outcome::Failure(Failure::tripping_for(Duration::from_secs(9)));
    let grpc = GrpcClassifier::new();
    for (is_probe, expected) in [(false, Outcome::Ignored), (true, Outcome::Success)] {
        assert_eq!(report(is_probe, &HTTP), Fate::Reported(expected));
        assert_eq!(report(is_probe, &by_rule), Fate::Reported(expected));
        assert_eq!(
            report(is_probe, &HTTP.at_end_of_body()),
            Fate::Reported(expected)
        );
        assert_eq!(
            report(is_probe, &grpc.at_end_of_body()),
            Fate::Reported(expected)
        );
        assert_eq!(report(is_probe, &grpc.at_head()), Fate::Reported(expected));
        assert_eq!(
            report(is_probe, &HTTP.trip_on_429(true)),
            Fate::Reported(hinted)
        );
        let as_success = HTTP.statuses(|_| Outcome::Success);
        assert_eq!(
            report(is_probe, &as_success),
            Fate::Reported(Outcome::Success)
        );
    }
}

/// The host has not been asked what its breaker wants to know, so the next probe decides.
#[test]
fn another_status_that_is_ignored_by_rule_is_so_as_a_probe_too() {
    let http = HTTP.statuses(|_| Outcome::Ignored);
    for is_probe in [false, true] {
        let log = Log::default();
        let answer = Ok::<_, Infallible>(response(404, &[], ()));
        let Ok(_) = http.report(log.permit(is_probe), answer);
        assert_eq!(log.end(), Fate::Reported(Outcome::Ignored), "{is_probe}");
    }
}

#[test]
fn reports_end_the_permit_with_the_result_untouched() {
    let log = Log::default();
    let answer = Ok::<_, Infallible>(response(502, &[], "text"));
    let Ok(answer) = HTTP.report(log.permit(false), answer);
    assert_eq!((answer.status().as_u16(), *answer.body()), (502, "text"));
    assert_eq!(log.end(), Fate::Reported(ONE));
}

#[test]
fn reasons_are_short() {
    let result = Err::<Response<()>, _>("reset");
    assert_eq!(HTTP.reason(&result).as_deref(), Some("transport: reset"));

    for (code, text) in [
        (503, Some("503 Service Unavailable")),
        (429, None),
        (599, Some("599")),
        (404, None),
        (200, None),
        (999, None),
    ] {
        let result = Ok::<_, Infallible>(response(code, &[], ()));
        assert_eq!(HTTP.reason(&result).as_deref(), text);
    }
}

#[test]
fn classifiers_are_small_copies_for_threads_and_statics() {
    fn promised<C: Copy + Send + Sync + 'static + std::fmt::Debug>(_: C) {}
    static BY_FUNCTION: HttpClassifier = HttpClassifier::new().statuses(|_| ONE);
    promised(HTTP);
    promised(HTTP.at_end_of_body());
    promised(
        HTTP.statuses(|_| ONE)
            .errors(|_: &io::Error| Outcome::Ignored),
    );
    promised(BY_FUNCTION);
    assert!(size_of_val(&HTTP) <= 32, "{}", size_of_val(&HTTP));
}

#[test]
fn parts_and_references_are_heads_too() {
    fn status(head: impl ResponseHead) -> Outcome {
        HTTP.response(&head)
    }
    let response = response(503, &[], "body");
    assert_eq!(status(&response), ONE);
    assert_eq!(status(response.into_parts().0), ONE);
}
