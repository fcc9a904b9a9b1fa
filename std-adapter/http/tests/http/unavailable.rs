// SPDX-License-Identifier: MIT OR Apache-2.0
//! The answer of a service to its own callers when a call was rejected.

use std::error::Error;
use std::io;
use std::time::Duration;

use atomic_breaker_http::{
    Failure, HttpClassifier, RequestError, RetryAfter, ServiceError, State, Unavailable,
};
use atomic_breaker_server::{CallError, LastFailure, Outcome, Rejected, Rejection};
use http::{HeaderMap, Response, StatusCode};

fn rejected(time: Duration) -> Rejection {
    let failure = LastFailure::now("password=hunter2 for 10.0.0.7");
    Rejection::new(Rejected::new(State::Open, time), Some(failure.into()))
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn of(time: Duration) -> Unavailable {
    Unavailable::from(rejected(time))
}

#[test]
fn an_answer_for_one_dependency_shuts_out_nobody() {
    let response: Response<String> = of(ms(5_000)).response();
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(!response.headers().contains_key("retry-after"));
    assert_eq!(of(ms(5_000)).push_back(), None);
    // What a caller's breaker makes of it: a failure like any other, that opens nothing by itself.
    let counted = HttpClassifier::new().response(&response);
    assert_eq!(counted, Failure::new().into());
}

#[test]
fn an_answer_of_the_whole_service_is_read_back_as_a_time_that_is_no_shorter() {
    for time in [
        ms(1),
        ms(999),
        ms(1_000),
        ms(1_001),
        ms(299_999),
        Duration::from_nanos(1),
    ] {
        let response: Response<String> = of(time).of_whole_service().response();
        let read = RetryAfter::new().read(response.headers()).unwrap();
        assert!(
            read >= time && read < time + ms(1_000),
            "{time:?}: {read:?}"
        );
        let mut trailers = HeaderMap::new();
        let value = of(time).of_whole_service().push_back().unwrap();
        trailers.insert("grpc-retry-pushback-ms", value);
        let read = RetryAfter::new().push_back(&trailers).unwrap();
        assert!(read >= time && read <= time + ms(1), "{time:?}: {read:?}");
    }
}

#[test]
fn times_beyond_all_limits_stay_valid() {
    let for_ever = of(Duration::MAX).of_whole_service();
    let response: Response<String> = for_ever.response();
    assert_eq!(
        RetryAfter::new().read(response.headers()),
        Some(RetryAfter::DEFAULT_LIMIT)
    );
    let value = for_ever.push_back().unwrap();
    let ms: i32 = value.to_str().unwrap().parse().unwrap();
    assert!(ms > 0);
}

#[test]
fn nobody_knows_when_a_breaker_that_is_forced_open_is_released() {
    let held = Rejection::from(Rejected::new(State::ForcedOpen, Duration::ZERO));
    let held = Unavailable::from(held).of_whole_service();
    assert_eq!((held.retry_after(), held.push_back()), (None, None));
    let response: Response<String> = held.response();
    assert_eq!(response.status(), 503);
}

#[test]
fn the_text_names_neither_the_dependency_nor_its_failure() {
    let response: Response<String> = of(ms(5_000)).response();
    assert_eq!(response.body(), "unavailable at the moment, retry in 5 s\n");
}

#[test]
fn another_status_can_be_chosen() {
    let response: Response<String> = of(ms(5_000))
        .status(StatusCode::FAILED_DEPENDENCY)
        .response();
    assert_eq!(response.status(), 424);
    let counted = HttpClassifier::new().response(&response);
    assert_eq!(counted, Outcome::Success);
}

#[test]
fn rejections_are_found_in_the_errors_of_all_guards_and_others_are_not() {
    let rejection = || rejected(ms(5_000));
    let wrapped = io::Error::other(ServiceError::<io::Error>::Rejected(rejection()));
    let found: [Box<dyn Error>; 4] = [
        Box::new(rejection()),
        Box::new(RequestError::<io::Error>::Rejected(rejection())),
        Box::new(CallError::<io::Error>::Rejected(rejection().rejected)),
        Box::new(wrapped),
    ];
    for error in found {
        assert_eq!(
            Unavailable::from_error(&*error),
            Some(of(ms(5_000))),
            "{error}"
        );
    }
    let others: [Box<dyn Error>; 3] = [
        Box::new(io::Error::other("circuit breaker is open, retry in 5s")),
        Box::new(RequestError::<io::Error>::DeadlineExceeded),
        Box::new(Rejection::without_key("name a host")),
    ];
    for error in others {
        assert_eq!(Unavailable::from_error(&*error), None, "{error}");
    }
}
