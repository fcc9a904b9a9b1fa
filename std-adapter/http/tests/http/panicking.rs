// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules that panic: the call has failed, wherever they run.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};

use atomic_breaker_http::{
    AtEnd, AtHead, Breaker, Config, ErrorRule, Failure, GrpcClassifier, Head, HttpClassifier,
    HttpRules, KeyedObserver, Outcome, Registry, ResponseHead, Scope, State, breaker,
};
use atomic_breaker_server::{Guard, GuardPermit, Present, Report, Resource, Transition};
use http::{HeaderMap, Response, StatusCode};
use http_body::Body;

use super::support::{Step, headers, script};

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

/// Rules of one's own, of which one panics.
#[derive(Clone, Copy)]
enum Own {
    Head,
    Trailers,
    Words,
}

impl HttpRules for Own {
    fn head(&self, _: &(impl ResponseHead + ?Sized)) -> Head {
        match self {
            Self::Head => panic!("no idea"),
            Self::Trailers => Head::Open {
                without: Outcome::Success,
                dropped: None,
            },
            Self::Words => Head::Over(Failure::new().into(), Scope::Call),
        }
    }

    fn trailers(&self, _: &HeaderMap) -> Option<(Outcome, Scope)> {
        panic!("no idea")
    }

    fn words(&self, _: &(impl ResponseHead + ?Sized)) -> String {
        panic!("no words")
    }
}

impl<E> ErrorRule<E> for Own {
    fn judge(&self, _: &E) -> (Outcome, Scope) {
        (Failure::new().into(), Scope::Call)
    }
}

#[test]
fn rules_of_ones_own_that_panic() {
    fails(|permit| drop(AtHead(Own::Head).report(permit, answered())));
    fails(|permit| drop(AtEnd::new(Own::Head).report(permit, answered())));
    fails(|permit| {
        let verdict = Step::Trailers(headers(&[("verdict", "fine")]));
        let answer = Ok::<_, io::Error>(Response::new(script([verdict])));
        let body = AtEnd::new(Own::Trailers).report(permit, answer).unwrap();
        let mut context = Context::from_waker(Waker::noop());
        let _ = pin!(body.into_body()).poll_frame(&mut context);
    });
}

/// The events of a registry's observer.
#[derive(Default)]
struct Opened(Mutex<Vec<String>>);

impl KeyedObserver<u32> for &'static Opened {
    fn opened(&self, _: &u32, _: &Transition, _: Present<'_>, why: &str) {
        self.0.lock().unwrap().push(why.to_owned());
    }
}

const NO_WORDS: &str = "failed, and the words about it panicked";

#[test]
fn words_that_panic_keep_a_transition_from_nobody() {
    let rules = Config::new().consecutive_failures(1);
    let server = Resource::new(breaker(rules));
    AtHead(Own::Words)
        .report(server.acquire().unwrap(), answered())
        .unwrap();
    let rejection = server.acquire().unwrap_err();
    assert_eq!(&*rejection.last_failure.unwrap().text, NO_WORDS);

    let told: &Opened = Box::leak(Box::default());
    let hosts = Registry::builder(rules).observer(told).build().unwrap();
    AtHead(Own::Words)
        .report(hosts.of(7).acquire().unwrap(), answered())
        .unwrap();
    assert_eq!(hosts.state(&7), State::Open);
    assert_eq!(*told.0.lock().unwrap(), [NO_WORDS]);
}
