// SPDX-License-Identifier: MIT OR Apache-2.0
//! HTTP bodies that report when they end, fail or are dropped.

use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use atomic_breaker_http::{
    AtEnd, Breaker, Config, ErrorRule, Failure, Head, HttpClassifier, HttpRules, Outcome,
    ReportingBody, ResponseHead, Scope, State,
};
use atomic_breaker_server::{ManualClock, Permit, Report};
use http::{HeaderMap, Response};
use http_body::Body;

use crate::support::Step::{Data, End, Error, Panic, Pending, Trailers};
use crate::support::{
    CountedPermit, Fate, Log, ONE, Random, Script, Step, poll, response, script, sized,
};

const HTTP: AtEnd<HttpClassifier> = HttpClassifier::new().at_end_of_body();
const SUCCESS: Fate = Fate::Reported(Outcome::Success);
const FAILURE: Fate = Fate::Reported(ONE);
const CANCELLED: Fate = Fate::Cancelled;

type Reporting<B> = ReportingBody<B, CountedPermit, HttpClassifier>;

fn body_of<B: Body>(log: &Log, is_probe: bool, status: u16, body: B) -> Reporting<B> {
    let answer = Ok::<_, Infallible>(response(status, &[], body));
    let Ok(answer) = HTTP.report(log.permit(is_probe), answer);
    assert_eq!(answer.status().as_u16(), status);
    answer.into_body()
}

/// Reads up to the first `None` or error.
fn read<B: Body + Unpin>(body: &mut B) -> usize {
    let mut frames = 0;
    loop {
        match poll(body) {
            Poll::Ready(Some(Ok(_))) => frames += 1,
            Poll::Ready(None | Some(Err(_))) => return frames,
            Poll::Pending => {}
        }
    }
}

#[test]
fn the_end_of_the_body_is_the_success() {
    for steps in [
        vec![End],
        vec![Data("a"), End],
        vec![Pending, Data("a"), Pending, Data("b"), Pending, End],
        vec![Data("a"), Trailers(HeaderMap::new()), End],
        vec![Data(""), End],
    ] {
        let log = Log::default();
        let frames = steps
            .iter()
            .filter(|step| matches!(step, Data(_) | Trailers(_)))
            .count();
        let mut body = body_of(&log, false, 200, script(steps));
        assert_eq!(log.end(), Fate::Open);
        assert_eq!(read(&mut body), frames, "the reader gets every frame");
        assert_eq!(log.end(), SUCCESS);
        assert!(body.is_end_stream() && body.size_hint().exact() == Some(0));
        assert!(matches!(poll(&mut body), Poll::Ready(None)), "safe");
        drop(body);
        assert_eq!(log.end(), SUCCESS, "once");
    }
}

#[test]
fn trailers_are_the_end_even_without_another_poll() {
    let log = Log::default();
    let mut body = body_of(&log, false, 200, script([Trailers(HeaderMap::new())]));
    assert!(poll(&mut body).is_ready());
    assert_eq!(log.end(), SUCCESS);
}

#[test]
fn the_last_byte_of_a_known_length_is_the_end_even_without_another_poll() {
    let log = Log::default();
    let mut body = body_of(&log, false, 200, sized([Data("ab"), Data("c"), End]));
    assert_eq!(body.size_hint().exact(), Some(3));
    assert!(poll(&mut body).is_ready());
    assert_eq!((log.end(), body.is_end_stream()), (Fate::Open, false));
    assert!(poll(&mut body).is_ready());
    assert_eq!((log.end(), body.is_end_stream()), (SUCCESS, true));
}

#[test]
fn an_empty_body_reports_with_the_head() {
    // HEAD, 204, 304, `Content-Length: 0`.
    for status in [200, 204, 304, 404] {
        let log = Log::default();
        let body = body_of(&log, true, status, sized([End]));
        assert_eq!(log.end(), SUCCESS);
        assert!(body.is_reported() && body.is_end_stream());
    }
}

#[test]
fn a_truncated_body_is_a_failure() {
    for steps in [
        vec![Error("reset"), End],
        vec![Data("a"), Error("reset"), End],
        vec![Data("a"), Pending, Error("reset"), End],
    ] {
        let log = Log::default();
        let mut body = body_of(&log, false, 200, script(steps));
        read(&mut body);
        assert_eq!(log.end(), FAILURE);
        assert!(matches!(poll(&mut body), Poll::Ready(None)), "safe");
        drop(body);
        assert_eq!(log.end(), FAILURE, "once");
    }
}

#[test]
fn errors_of_bodies_have_a_rule_of_their_own() {
    let http = HTTP.body_errors(|error: &&str| match *error {
        "too large" => Outcome::Ignored,
        _ => Failure::with_weight(3).into(),
    });
    for (error, expected) in [
        ("too large", Outcome::Ignored),
        ("reset", Failure::with_weight(3).into()),
    ] {
        let log = Log::default();
        let answer = Ok::<_, Infallible>(Response::new(script([Error(error)])));
        let Ok(answer) = http.report(log.permit(false), answer);
        read(&mut answer.into_body());
        assert_eq!(log.end(), Fate::Reported(expected));
    }
}

#[test]
fn a_head_that_failed_is_reported_at_once_and_its_body_is_still_there() {
    for (status, expected) in [(500, ONE), (429, Outcome::Success), (408, ONE)] {
        let log = Log::default();
        let mut body = body_of(&log, true, status, script([Data("sorry"), Error("reset")]));
        assert_eq!(log.end(), Fate::Reported(expected));
        assert_eq!(read(&mut body), 1);
        assert_eq!(log.end(), Fate::Reported(expected), "once");
    }
    let log = Log::default();
    let Err(error) = HTTP.report(log.permit(true), Err::<Response<Script>, _>("refused")) else {
        panic!("the error is handed on");
    };
    assert_eq!((error, log.end()), ("refused", FAILURE));
}

#[test]
fn a_body_dropped_while_it_waits_is_cancelled_and_otherwise_the_head_counts() {
    let steps = || [Pending, Data("a"), Pending, Pending, Data("b"), Data("c")];
    for polls in 0..=steps().len() {
        let log = Log::default();
        let mut body = body_of(&log, false, 200, script(steps()));
        let mut waiting = false;
        for _ in 0..polls {
            waiting = poll(&mut body).is_pending();
        }
        assert_eq!(log.end(), Fate::Open);
        drop(body);
        let expected = if waiting { CANCELLED } else { SUCCESS };
        assert_eq!(log.end(), expected, "after {polls} polls");
    }
}

#[test]
fn a_body_that_panics_is_cancelled() {
    let log = Log::default();
    let mut body = body_of(&log, true, 200, sized([Data("a"), Panic]));
    assert!(poll(&mut body).is_ready());
    assert!(catch_unwind(AssertUnwindSafe(|| poll(&mut body))).is_err());
    drop(body);
    assert_eq!(log.end(), CANCELLED);
}

#[test]
fn a_probe_needs_the_end_of_a_known_length_and_the_first_data_of_an_unknown_one() {
    let log = Log::default();
    let mut body = body_of(
        &log,
        true,
        200,
        script([Pending, Data("a"), Error("reset")]),
    );
    assert!(poll(&mut body).is_pending());
    assert_eq!(log.end(), Fate::Open);
    assert!(poll(&mut body).is_ready());
    assert_eq!(log.end(), SUCCESS);
    read(&mut body);
    assert_eq!(log.end(), SUCCESS, "once");

    let log = Log::default();
    let mut body = body_of(&log, true, 200, sized([Data("a"), Error("reset")]));
    assert!(poll(&mut body).is_ready());
    assert_eq!(log.end(), Fate::Open);
    read(&mut body);
    assert_eq!(log.end(), FAILURE);

    let log = Log::default();
    let answer = Ok::<_, Infallible>(Response::new(script([Data("a"), Error("reset")])));
    let Ok(answer) = HTTP.probes_at_end().report(log.permit(true), answer);
    let mut body = answer.into_body();
    assert!(poll(&mut body).is_ready());
    assert_eq!(log.end(), Fate::Open);
    read(&mut body);
    assert_eq!(log.end(), FAILURE);
}

/// A body that comes to its end is a success, whatever its head says.
#[derive(Clone, Copy)]
struct Ends;

impl HttpRules for Ends {
    fn head(&self, _: &(impl ResponseHead + ?Sized)) -> Head {
        Head::Open {
            without: Outcome::Success,
            dropped: None,
        }
    }
}

impl<E> ErrorRule<E> for Ends {
    fn judge(&self, _: &E) -> (Outcome, Scope) {
        (ONE, Scope::Call)
    }
}

#[test]
fn any_rules_may_look_at_the_head() {
    for at_end in [AtEnd::new(Ends), AtEnd::new(Ends).probes_at_end()] {
        let log = Log::default();
        let answer = Ok::<_, Infallible>(response(500, &[], script([Data("a"), End])));
        let Ok(answer) = at_end.report(log.permit(false), answer);
        assert_eq!(log.end(), Fate::Open, "whatever the status");
        read(&mut answer.into_body());
        assert_eq!(log.end(), SUCCESS);
    }
}

#[test]
fn a_body_without_a_permit_is_the_body() {
    let empty = Reporting::<String>::default();
    assert!(empty.is_reported() && empty.is_end_stream());
    assert_eq!(empty.get_ref(), "");
    assert!(format!("{empty:?}").contains("is_reported: true"));
}

#[test]
fn random_bodies_end_their_permit_exactly_once() {
    let mut random = Random::new();
    for _ in 0..100_000 {
        let log = Log::default();
        let steps: Vec<Step> = (0..random.below(6))
            .map(|_| match random.below(8) {
                0 => Pending,
                1 => Error("reset"),
                2 => Trailers(HeaderMap::new()),
                3 => End,
                _ => Data("x"),
            })
            .chain([End])
            .collect();
        let inner = if random.below(2) == 0 {
            script(steps.clone())
        } else {
            sized(steps.clone())
        };
        let mut body = body_of(&log, random.below(2) == 0, 200, inner);
        for _ in 0..random.below(steps.len() + 1) {
            let _ = poll(&mut body);
        }
        drop(body);
        assert!(log.end() != Fate::Open, "{steps:?}");
    }
}

#[test]
fn a_probes_body_holds_its_slot_until_it_ends_and_no_longer() {
    type Owned = Arc<Breaker<Arc<ManualClock>>>;
    fn half_open() -> (Owned, Response<impl Body<Error = &'static str> + Unpin>) {
        let rules = Config::new().open_for(Duration::from_secs(1));
        let server: Owned = Arc::new(Breaker::new(rules, Arc::new(ManualClock::new())));
        server.trip();
        server.probe_now();
        let permit = Permit::acquire(Arc::clone(&server)).unwrap();
        let answer =
            Ok::<_, Infallible>(Response::new(sized([Data("a"), Pending, Data("b"), End])));
        let Ok(answer) = HTTP.report(permit, answer);
        assert!(server.acquire().is_err(), "one probe at a time");
        (server, answer)
    }

    let (server, answer) = half_open();
    read(&mut answer.into_body());
    assert_eq!(server.state(), State::Closed);

    let (server, answer) = half_open();
    drop(answer);
    assert_eq!(server.state(), State::Closed, "the head was enough");

    let (server, answer) = half_open();
    let mut body = answer.into_body();
    while poll(&mut body).is_ready() {}
    drop(body);
    assert_eq!(server.state(), State::HalfOpen);
    assert!(server.acquire().is_ok(), "the slot is free");
}

#[test]
fn a_hang_within_the_body_counts_as_slow_when_its_call_is_dropped() {
    let clock = Arc::new(ManualClock::new());
    let rules = Config::new()
        .consecutive_failures(1)
        .slow_call(Duration::from_secs(1));
    let server = Arc::new(Breaker::new(rules, Arc::clone(&clock)));
    let answer = |body| Ok::<_, Infallible>(Response::new(body));
    let Ok(hung) = HTTP.report(
        Permit::acquire(Arc::clone(&server)).unwrap(),
        answer(script([Data("a"), Pending])),
    );
    let mut body = hung.into_body();
    while poll(&mut body).is_ready() {}
    clock.advance(Duration::from_secs(2));
    drop(body);
    assert_eq!(server.state(), State::Open);
}

#[test]
fn bodies_are_as_mobile_as_what_they_hold() {
    fn promised<B: Send + Sync + Unpin + 'static>() {}
    promised::<ReportingBody<String, Permit<Arc<Breaker>>, HttpClassifier>>();
}
