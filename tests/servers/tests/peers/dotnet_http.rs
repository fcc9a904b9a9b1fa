// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cases of Microsoft.Extensions.Http.Resilience, the standard pipeline around an `HttpClient` of .NET, built on Polly.

use std::future::pending;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use atomic_breaker_http::{
    Backoff, Breaker, ClientBody, ClientConfig, ClientGuard, ClientService, Config, Failure,
    HttpClassifier, MayRepeat, Origin, Outcome, Ratio, RequestError, RetryAfter, State, TokioClock,
};
use atomic_breaker_server::ManualClock;
use atomic_breaker_tower::RetryPolicy;
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use tokio::time::Instant;
use tower::{ServiceBuilder, ServiceExt, service_fn};

use crate::support::{RULES, SECOND, just_before};

/// Http.Resilience: 5xx, 408 and 429 are transient failures, other statuses are not; errors of the client are failures.
/// Here a 429 is retried, too, but is of no concern to the breaker, and 501, 505, 507 and 511 answer one request.
#[test]
fn transient_statuses_are_failures_and_all_others_are_not() {
    let http = HttpClassifier::new();
    for status in 100..600 {
        let outcome = http.status(StatusCode::from_u16(status).unwrap());
        let expected = match status {
            429 | 511 => Outcome::Ignored,
            501 | 505 | 507 => Outcome::Success,
            408 | 500..=599 => Failure::new().into(),
            _ => Outcome::Success,
        };
        assert_eq!(outcome, expected, "{status}");
    }
    let breaker = Breaker::new(RULES, ManualClock::new());
    for _ in 0..2 {
        let _ = breaker.call_with(http, || Err::<Response<String>, _>("connection refused"));
    }
    assert_eq!(breaker.state(), State::Open);
}

/// Http.Resilience: `Retry-After` in seconds and as a date. There, a past date means a delay of zero; here it gives no
/// hint, so the usual pause with jitter applies. An unreadable value gives no hint.
#[test]
fn retry_after_is_read_in_seconds_and_as_a_date() {
    let read = |value: &str| {
        let headers = HeaderMap::from_iter([(http::header::RETRY_AFTER, value.parse().unwrap())]);
        RetryAfter::new().read_at(&headers, SystemTime::UNIX_EPOCH + 60 * SECOND)
    };
    for (value, hint) in [
        ("10", Some(10 * SECOND)),
        ("0", None),
        ("Thu, 01 Jan 1970 00:01:30 GMT", Some(30 * SECOND)),
        ("Thu, 01 Jan 1970 00:00:30 GMT", None),
        ("soon", None),
        ("-1", None),
        ("", None),
    ] {
        assert_eq!(read(value), hint, "{value}");
    }
    assert_eq!(RetryAfter::new().read(&HeaderMap::new()), None);
}

/// Http.Resilience: retries can be disabled for unsafe methods. Here they are disabled unless the request allows them;
/// PUT and DELETE may be sent twice, following RFC 9110, while they are unsafe there.
#[test]
fn unsafe_methods_are_not_tried_again_unless_allowed() {
    let may = |method: &Method, allowed: Option<bool>| {
        let mut request = Request::new(());
        *request.method_mut() = method.clone();
        if let Some(allowed) = allowed {
            request.extensions_mut().insert(MayRepeat(allowed));
        }
        RetryPolicy::<_, Response<String>, io::Error>::may_repeat(&HttpClassifier::new(), &request)
    };
    for method in [Method::POST, Method::PATCH, Method::CONNECT] {
        assert!(!may(&method, None) && may(&method, Some(true)), "{method}");
    }
    for method in [Method::GET, Method::HEAD, Method::PUT, Method::DELETE] {
        assert!(may(&method, None) && !may(&method, Some(false)), "{method}");
    }
}

/// Http.Resilience, validation: timeouts and sampling durations that contradict each other. There the timeout of an
/// attempt may equal that of the request; here it must be shorter, and all tries with their pauses must fit as well.
#[test]
fn time_limits_that_contradict_each_other_are_errors() {
    let config = servers::five_in_a_row();
    let window = |time| Config::new().failure_ratio(Ratio::percent(10).within(time));
    for (bad, why) in [
        (
            config.deadline(2 * SECOND),
            "must be shorter than the deadline",
        ),
        (
            config.try_limit(10 * SECOND),
            "must be shorter than the deadline",
        ),
        (config.breaker(window(3 * SECOND / 2)), "shorter than twice"),
        (
            config.breaker(window(just_before(6 * SECOND))),
            "shorter than twice",
        ),
        (config.tries(4), "longer than the deadline"),
        (
            config.backoff(Backoff::new().first(2 * SECOND)),
            "longer than the deadline",
        ),
        (config.try_limit(Duration::ZERO), "lengthen"),
    ] {
        let error = bad.check().unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    for good in [
        config,
        config.breaker(window(6 * SECOND)),
        config
            .deadline(30 * SECOND)
            .try_limit(10 * SECOND)
            .tries(2)
            .breaker(window(20 * SECOND)),
    ] {
        assert_eq!(good.check(), Ok(()));
    }
}

type Guard = &'static ClientGuard<TokioClock>;

fn guard(config: ClientConfig) -> Guard {
    ClientGuard::with(config, TokioClock, ()).unwrap().leak()
}

/// Responds with the status that the path names, and hangs on any other path.
#[derive(Clone, Default)]
struct Hosts(Arc<Mutex<Vec<Instant>>>);

impl Hosts {
    fn behind(
        &self,
        guard: Guard,
    ) -> ClientService<(), Response<ClientBody<String, Guard>>, io::Error> {
        let seen = Arc::clone(&self.0);
        let answer = move |mut request: Request<()>| {
            seen.lock().unwrap().push(Instant::now());
            let mut response = Response::new(String::new());
            let status = request.uri().path()[1..].parse().ok();
            if let Some(status) = status {
                *response.status_mut() = status;
            }
            // As sent by a client that sets its own header.
            assert!(
                request
                    .headers_mut()
                    .insert("host", "set".parse().unwrap())
                    .is_none()
            );
            if let Some(seconds) = request.uri().query() {
                let seconds = seconds.parse().unwrap();
                response.headers_mut().insert("retry-after", seconds);
            }
            async move {
                match status {
                    Some(_) => Ok(response),
                    None => pending().await,
                }
            }
        };
        ServiceBuilder::new()
            .layer(guard.layer())
            .service(service_fn(answer))
    }

    fn calls(&self) -> Vec<Instant> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

fn get(uri: &str) -> Request<()> {
    Request::get(uri).body(()).unwrap()
}

/// Http.Resilience, the standard pipeline: timeout of the whole request, retries, breaker, timeout of an attempt.
#[tokio::test(start_paused = true)]
async fn the_standard_order_is_deadline_retries_breaker_try() {
    let (guard, hosts) = (guard(servers::five_in_a_row()), Hosts::default());
    let begin = Instant::now();
    let request = hosts.behind(guard).oneshot(get("http://a.example/hangs"));
    let error = request.await.unwrap_err();
    assert!(matches!(error, RequestError::TryTimedOut), "{error}");
    let calls = hosts.calls();
    assert_eq!(calls.len(), 3, "each try has its own limit");
    assert!(calls[1] - calls[0] >= 3 * SECOND);
    assert!(begin.elapsed() >= 9 * SECOND && begin.elapsed() <= 10 * SECOND);
    let host = Origin::from_uri(&Uri::from_static("http://a.example")).unwrap();
    let failures = guard.hosts().entry(&host).unwrap().snapshot.failures();
    assert_eq!(failures, 3, "the breaker sees each try");
}

/// Http.Resilience: pipelines by authority. A failing host does not affect the others.
#[tokio::test(start_paused = true)]
async fn each_authority_has_its_own_breaker() {
    let config = servers::five_in_a_row();
    let (guard, hosts) = (guard(config), Hosts::default());
    let client = hosts.behind(guard);
    for _ in 0..2 {
        let _ = client.clone().oneshot(get("http://a.example/500")).await;
    }
    for (uri, passes) in [
        ("http://a.example/200", false),
        ("http://A.EXAMPLE:80/200", false),
        ("http://a.example:81/200", true),
        ("https://a.example/200", true),
        ("http://b.example/200", true),
    ] {
        let answer = client.clone().oneshot(get(uri)).await;
        assert_eq!(answer.is_ok(), passes, "{uri}");
    }
}

/// Http.Resilience: a retry waits for `Retry-After`, whatever the status. Here it is honoured for a 429, which delays
/// only its own caller, and for a 503, where it also says for how long the breaker of its host opens once the rules trip;
/// other statuses have none.
#[tokio::test(start_paused = true)]
async fn retry_after_delays_its_caller_and_of_503_lengthens_an_open_time() {
    for (uri, state, is_waited_for, is_demanded) in [
        ("http://a.example/429?2", State::Closed, true, false),
        ("http://a.example/503?2", State::Open, true, true),
        ("http://a.example/502?2", State::Open, false, false),
    ] {
        let rules = Config::new().consecutive_failures(3).open_for(SECOND);
        let config = servers::five_in_a_row().breaker(rules).rejection_waits(1);
        let (guard, hosts) = (guard(config), Hosts::default());
        let begin = Instant::now();
        let _ = hosts.behind(guard).oneshot(get(uri)).await;
        let calls = hosts.calls();
        assert!(calls.len() >= 2, "{uri}");
        assert_eq!(calls[1] - begin >= 2 * SECOND, is_waited_for, "{uri}");
        let host = Origin::from_uri(&Uri::from_static("http://a.example")).unwrap();
        assert_eq!(guard.hosts().state(&host), state, "{uri}");
        let entry = guard.hosts().entry(&host);
        let asks = entry.is_some_and(|entry| entry.snapshot.is_demanded());
        assert_eq!(asks, is_demanded, "{uri}");
    }
}

/// Http.Resilience: a broken circuit is not a transient failure, so it is not retried. Here it is not retried either,
/// or waited for as often as configured, never before its time, and only within the deadline.
#[tokio::test(start_paused = true)]
async fn a_rejection_is_never_retried_before_its_time() {
    for (waits, open_for, answers) in [
        (1, SECOND, true),
        (1, 60 * SECOND, false),
        (0, SECOND, false),
    ] {
        let config = servers::five_in_a_row()
            .rejection_waits(waits)
            .breaker(Config::new().open_for(open_for));
        let (guard, hosts) = (guard(config), Hosts::default());
        let host = Origin::from_uri(&Uri::from_static("http://a.example")).unwrap();
        guard
            .hosts()
            .command(&host, |breaker| breaker.trip())
            .unwrap();
        let begin = Instant::now();
        let answer = hosts
            .behind(guard)
            .oneshot(get("http://a.example/200"))
            .await;
        assert_eq!(answer.is_ok(), answers);
        let waited = begin.elapsed();
        assert!(
            if answers {
                waited >= open_for
            } else {
                waited.is_zero()
            },
            "{waited:?}"
        );
    }
}

/// Http.Resilience, dynamic reloads: options that change at run time apply to the next request.
#[tokio::test(start_paused = true)]
async fn settings_are_replaced_while_running() {
    let config = servers::five_in_a_row().tries(1);
    let (guard, hosts) = (guard(config), Hosts::default());
    let client = hosts.behind(guard);
    guard
        .set_breaker_config(Config::new().consecutive_failures(1))
        .unwrap();
    let _ = client.clone().oneshot(get("http://a.example/500")).await;
    let rejected = client.oneshot(get("http://a.example/500")).await;
    assert!(matches!(rejected, Err(RequestError::Rejected(_))));
}

/// Http.Resilience, request snapshots: changes that one attempt makes to its request do not reach the next one.
#[tokio::test(start_paused = true)]
async fn each_try_gets_the_request_as_it_was() {
    let (guard, hosts) = (guard(servers::five_in_a_row()), Hosts::default());
    let answer = hosts
        .behind(guard)
        .oneshot(get("http://a.example/502"))
        .await;
    assert_eq!(answer.unwrap().status(), StatusCode::BAD_GATEWAY);
    assert_eq!(hosts.calls().len(), 3, "the server asserts the rest");
}
