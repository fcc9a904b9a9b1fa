//! Rules that panic: the call has failed, wherever they run.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use atomic_breaker_http::{
    Breaker, Config, GrpcClassifier, HttpClassifier, Outcome, State, breaker,
};
use atomic_breaker_server::{GuardPermit, Report, Resource};
use http::{Response, StatusCode};
use http_body::Body;

use super::support::{Step, script};

type Server = Arc<Resource<Breaker>>;
type Permit = GuardPermit<Server>;

/// Opens by a single failure.
#[track_caller]
fn fails(ask: impl FnOnce(Permit)) {
    let server: Server = Arc::new(Resource::new(breaker(
        Config::new().consecutive_failures(1),
    )));
    let permit = GuardPermit::acquire(Arc::clone(&server)).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| ask(permit))).is_err());
    assert_eq!(server.breaker().state(), State::Open);
    assert_eq!(&*server.last_failure().get().unwrap().text, "panicked");
}

fn refused() -> io::Result<Response<String>> {
    Err(io::ErrorKind::ConnectionRefused.into())
}

#[expect(clippy::unnecessary_wraps, reason = "what a call returns")]
fn answered() -> io::Result<Response<String>> {
    Ok(Response::new("hello".to_owned()))
}

#[test]
fn a_rule_of_statuses_or_errors_that_panics() {
    let errors = || HttpClassifier::new().errors(|_: &io::Error| -> Outcome { panic!("no idea") });
    let statuses = || HttpClassifier::new().statuses(|_: StatusCode| panic!("no idea"));
    fails(|permit| drop(errors().report(permit, refused())));
    fails(|permit| drop(statuses().report(permit, answered())));
    fails(|permit| drop(errors().at_end_of_body().report(permit, refused())));
    fails(|permit| drop(statuses().at_end_of_body().report(permit, answered())));
}

#[test]
fn a_rule_of_bodies_that_panics() {
    let http = HttpClassifier::new()
        .at_end_of_body()
        .body_errors(|_: &&str| -> Outcome { panic!("no idea") });
    fails(|permit| {
        let answer = Ok::<_, io::Error>(Response::new(script([Step::Error("broken")])));
        let mut body = pin!(http.report(permit, answer).unwrap().into_body());
        let mut context = Context::from_waker(Waker::noop());
        let _ = body.as_mut().poll_frame(&mut context);
    });
}

#[test]
fn a_rule_of_grpc_that_panics() {
    let errors = || GrpcClassifier::new().errors(|_: &io::Error| -> Outcome { panic!("no idea") });
    let codes = || GrpcClassifier::new().codes(|_| panic!("no idea"));
    let unavailable = || {
        let response = Response::builder().header("grpc-status", "14");
        Ok::<_, io::Error>(response.body(String::new()).unwrap())
    };
    fails(|permit| drop(errors().at_end_of_body().report(permit, refused())));
    fails(|permit| drop(errors().at_head().report(permit, refused())));
    fails(|permit| drop(codes().at_end_of_body().report(permit, unavailable())));
    fails(|permit| drop(codes().at_head().report(permit, unavailable())));
}
