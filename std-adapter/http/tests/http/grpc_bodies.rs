// SPDX-License-Identifier: MIT OR Apache-2.0
//! gRPC bodies, whose trailers say how the call went.

use std::convert::Infallible;

use atomic_breaker_http::{AtEnd, Failure, GrpcClassifier, Outcome, ReportingBody};
use atomic_breaker_server::Report;
use http::Response;
use http_body::Body;

use crate::support::Step::{Data, End, Error, Pending, Trailers};
use crate::support::{CountedPermit, Fate, Log, ONE, headers, poll, response, script, sized};

const GRPC: AtEnd<GrpcClassifier> = GrpcClassifier::new().at_end_of_body();
const KIND: (&str, &str) = ("content-type", "application/grpc");
const SUCCESS: Fate = Fate::Reported(Outcome::Success);
const FAILURE: Fate = Fate::Reported(ONE);
const IGNORED: Fate = Fate::Reported(Outcome::Ignored);
const CANCELLED: Fate = Fate::Cancelled;

type Reporting<B> = ReportingBody<B, CountedPermit, GrpcClassifier>;

fn call<B: Body>(log: &Log, is_probe: bool, answer: Response<B>) -> Reporting<B> {
    let answer = Ok::<_, Infallible>(answer);
    let Ok(answer) = GRPC.report(log.permit(is_probe), answer);
    answer.into_body()
}

fn status(code: &str) -> crate::support::Step {
    Trailers(headers(&[("grpc-status", code)]))
}

fn read<B: Body + Unpin>(body: &mut B) {
    while let std::task::Poll::Pending | std::task::Poll::Ready(Some(Ok(_))) = poll(body) {}
}

#[test]
fn the_trailers_decide() {
    for (code, expected) in [
        ("0", SUCCESS),
        ("1", IGNORED),
        ("5", SUCCESS),
        ("14", FAILURE),
        ("17", FAILURE),
        ("", FAILURE),
    ] {
        let log = Log::default();
        let steps = [Data("a"), Pending, Data("b"), status(code), End];
        let mut body = call(&log, false, response(200, &[KIND], script(steps)));
        assert_eq!(log.end(), Fate::Open);
        read(&mut body);
        assert_eq!(log.end(), expected, "{code:?}");
        drop(body);
        assert_eq!(log.end(), expected, "once");
    }
}

#[test]
fn trailers_carry_push_back() {
    let log = Log::default();
    let trailers = headers(&[("grpc-status", "14"), ("grpc-retry-pushback-ms", "250")]);
    let answer = response(200, &[KIND], script([Trailers(trailers), End]));
    read(&mut call(&log, true, answer));
    let pushed = Failure::retry_after(std::time::Duration::from_millis(250));
    assert_eq!(log.end(), Fate::Reported(pushed.into()));
}

#[test]
fn a_used_up_quota_in_trailers_is_neutral_and_as_a_probe_a_success() {
    let pushes_back = || {
        Trailers(headers(&[
            ("grpc-status", "8"),
            ("grpc-retry-pushback-ms", "9000"),
        ]))
    };
    for (is_probe, expected) in [(false, IGNORED), (true, SUCCESS)] {
        for trailers in [status("8"), pushes_back()] {
            let log = Log::default();
            let steps = script([trailers, End]);
            read(&mut call(&log, is_probe, response(200, &[KIND], steps)));
            assert_eq!(log.end(), expected);
        }
    }
}

#[test]
fn a_body_that_ends_without_a_status_is_a_failure() {
    for steps in [
        vec![Data("a"), End],
        vec![Data("a"), Trailers(headers(&[("other", "1")])), End],
        vec![End],
        vec![Data("a"), Error("reset")],
    ] {
        let log = Log::default();
        read(&mut call(
            &log,
            false,
            response(200, &[KIND], script(steps)),
        ));
        assert_eq!(log.end(), FAILURE);
    }
    // The headers already say that it is empty.
    let log = Log::default();
    let body = call(&log, false, response(200, &[KIND], sized([End])));
    assert_eq!(log.end(), FAILURE);
    assert!(body.is_reported());
}

#[test]
fn a_response_of_headers_alone_is_reported_at_once() {
    for (list, expected) in [
        (&[KIND, ("grpc-status", "14")][..], FAILURE),
        (&[KIND, ("grpc-status", "5")], SUCCESS),
        (&[("grpc-status", "1")], IGNORED),
        (&[("content-type", "text/html")], FAILURE),
    ] {
        for is_probe in [false, true] {
            let log = Log::default();
            let body = call(
                &log,
                is_probe,
                response(200, list, script([Data("a"), End])),
            );
            assert_eq!(log.end(), expected);
            assert!(body.is_reported());
        }
    }
    let log = Log::default();
    let _ = call(
        &log,
        false,
        response(502, &[], script([Data("<html>"), End])),
    );
    assert_eq!(log.end(), FAILURE);
}

#[test]
fn a_probe_succeeds_at_its_first_data() {
    let log = Log::default();
    let steps = [Pending, Data("a"), status("14"), End];
    let mut body = call(&log, true, response(200, &[KIND], script(steps)));
    assert!(poll(&mut body).is_pending());
    assert_eq!(log.end(), Fate::Open, "nothing came yet");
    assert!(poll(&mut body).is_ready());
    assert_eq!(log.end(), SUCCESS);
    read(&mut body);
    assert_eq!(log.end(), SUCCESS, "once");

    let log = Log::default();
    read(&mut call(
        &log,
        true,
        response(200, &[KIND], script([status("14"), End])),
    ));
    assert_eq!(log.end(), FAILURE, "no data: the status counts");
}

#[test]
fn a_stream_that_is_dropped_says_nothing() {
    let steps = || [Data("a"), Pending, Data("b"), Data("c")];
    for polls in 0..=steps().len() {
        let log = Log::default();
        let mut body = call(&log, false, response(200, &[KIND], script(steps())));
        for _ in 0..polls {
            let _ = poll(&mut body);
        }
        assert_eq!(log.end(), Fate::Open);
        drop(body);
        assert_eq!(log.end(), CANCELLED, "after {polls} polls");
    }
}

#[test]
fn web_calls_without_trailers_are_ignored_and_with_them_counted() {
    let web = ("content-type", "application/grpc-web+proto");
    let log = Log::default();
    read(&mut call(
        &log,
        false,
        response(200, &[web], script([Data("a"), End])),
    ));
    assert_eq!(log.end(), IGNORED, "below the layer that translates");
    let log = Log::default();
    read(&mut call(
        &log,
        false,
        response(200, &[web], script([Data("a"), status("14"), End])),
    ));
    assert_eq!(log.end(), FAILURE, "above it");
}

#[test]
fn errors_of_bodies_have_a_rule_of_their_own() {
    let log = Log::default();
    let grpc = GRPC.body_errors(|_: &&str| Outcome::Ignored);
    let answer = response(200, &[KIND], script([Data("a"), Error("cancel")]));
    let Ok(answer) = grpc.report(log.permit(false), Ok::<_, Infallible>(answer));
    read(&mut answer.into_body());
    assert_eq!(log.end(), IGNORED);
}
