// SPDX-License-Identifier: MIT OR Apache-2.0
//! The requests that are tried again, and the times: with a host that asks for one, and with one that uses up its
//! budget.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use atomic_breaker_http::{
    ClientBody, ClientConfig, ClientGuard, ClientService, Config, Deadline, Origin, RequestError,
    ResendCount, TokioClock,
};
use http::{Request, Response, StatusCode};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tower::{ServiceBuilder, ServiceExt, service_fn};

use crate::five_in_a_row;

const SECOND: Duration = Duration::from_secs(1);

type Guard = &'static ClientGuard<TokioClock>;

fn guard(config: ClientConfig) -> Guard {
    ClientGuard::with(config, TokioClock, ()).unwrap().leak()
}

/// A client of hosts that answer 503 a number of times, with a `Retry-After` in seconds, and then 200, each after some
/// milliseconds. The name of the host is what they do: `503-2-4.example` asks twice for four seconds.
fn client(guard: Guard) -> ClientService<(), Response<ClientBody<String, Guard>>, io::Error> {
    let calls = Arc::new(AtomicU32::new(0));
    ServiceBuilder::new()
        .layer(guard.layer())
        .service(service_fn(move |request: Request<()>| {
            let call = calls.fetch_add(1, Relaxed);
            let host = request.uri().host().unwrap_or_default();
            let mut words = host.split(['-', '.']).skip(1);
            let down: u32 = words.next().unwrap().parse().unwrap();
            let mut response = Response::new(String::new());
            if call < down {
                *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
                if let Some(Ok(seconds)) = words.next().map(str::parse::<u32>) {
                    response.headers_mut().insert("retry-after", seconds.into());
                }
            }
            let ms = host.split(['-', '.']).nth(3).map(str::parse);
            async move {
                if let Some(Ok(ms)) = ms {
                    sleep(Duration::from_millis(ms)).await;
                }
                Ok::<_, io::Error>(response)
            }
        }))
}

fn get(host: &str) -> Request<()> {
    Request::get(format!("http://{host}/")).body(()).unwrap()
}

/// The breaker below waits up to a fifth longer than the host asks for; the retry waits for the breaker.
#[tokio::test(start_paused = true)]
async fn a_host_that_says_when_it_is_back_is_called_then_and_responds() {
    for seconds in 1..=6 {
        let host = format!("503-1-{seconds}.example");
        for _ in 0..50 {
            let begin = Instant::now();
            let response = client(guard(five_in_a_row())).oneshot(get(&host)).await;
            assert_eq!(response.unwrap().status(), StatusCode::OK);
            let (asked, waited) = (seconds * SECOND, begin.elapsed());
            assert!(
                waited >= asked && waited <= asked * 6 / 5 + SECOND / 4,
                "{waited:?} instead of {asked:?}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_cannot_wait_that_long_gets_the_response_and_not_a_rejection() {
    let begin = Instant::now();
    let client = client(guard(five_in_a_row()));
    let response = client.clone().oneshot(get("503-9-10.example")).await;
    assert_eq!(response.unwrap().status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(begin.elapsed(), Duration::ZERO, "at once");
    for _ in 1..5 {
        sleep(SECOND / 30).await;
        let response = client.clone().oneshot(get("503-9-10.example")).await;
        assert_eq!(response.unwrap().status(), StatusCode::SERVICE_UNAVAILABLE);
    }
    let rejected = client.oneshot(get("503-9-10.example")).await;
    assert!(matches!(rejected, Err(RequestError::Rejected(_))));
}

/// Of the callers that return together one is the probe; others may be too early, and get what the host said.
#[tokio::test(start_paused = true)]
async fn none_of_many_callers_that_the_host_asks_to_wait_gets_a_rejection() {
    let client = client(guard(five_in_a_row()));
    let mut requests = JoinSet::new();
    for _ in 0..200 {
        requests.spawn(client.clone().oneshot(get("503-200-2-20.example")));
    }
    let responses = requests.join_all().await;
    let mut answered = 0;
    for response in responses {
        let status = response.expect("none is rejected").status();
        answered += u32::from(status == StatusCode::OK);
    }
    // Spread over a tenth of a second, of which the probe takes a fifth. A hundred have no token.
    assert!((40..=100).contains(&answered), "{answered}");
}

#[tokio::test(start_paused = true)]
async fn a_rejected_retry_ends_with_the_response_of_the_previous_try() {
    let rules = five_in_a_row().breaker_config().consecutive_failures(2);
    let client = client(guard(five_in_a_row().breaker(rules)));
    let response = client.clone().oneshot(get("503-9.example")).await;
    assert_eq!(response.unwrap().status(), StatusCode::SERVICE_UNAVAILABLE);
    let error = client.oneshot(get("503-9.example")).await.unwrap_err();
    assert!(matches!(error, RequestError::Rejected(_)), "never sent");
}

#[tokio::test(start_paused = true)]
async fn the_failures_of_one_host_leave_the_others_their_retries() {
    // Breakers that never open, so that nothing but the budget holds the retries back.
    let never = Config::new().consecutive_failures(60_000);
    let guard = guard(five_in_a_row().breaker(never));
    let mut requests = JoinSet::new();
    let down = client(guard);
    for _ in 0..1_000 {
        requests.spawn(down.clone().oneshot(get("503-9999.example")));
    }
    requests.join_all().await;
    let mut without = 0;
    for fresh in 0..100 {
        let response = client(guard)
            .oneshot(get(&format!("{fresh}-2.example")))
            .await;
        without += u32::from(response.unwrap().status() != StatusCode::OK);
    }
    // One of 4,096 shares the place of the host that is down: three among a hundred in two of a million runs.
    assert!(without <= 2, "{without} of a hundred have no retry");
}

/// Of a thousand guards seven have two among eight hosts that share one.
#[tokio::test(start_paused = true)]
async fn few_hosts_that_are_remembered_have_budgets_of_their_own() {
    let host = |number: u32| Origin::from_uri(get(&format!("{number}.example")).uri()).unwrap();
    let mut shared = 0;
    for _ in 0..20 {
        let guard = guard(ClientConfig::new().capacity(8));
        while guard.budget_of(&host(0)).withdraw() {}
        let others = (1..8).map(|number| guard.budget_of(&host(number)));
        shared += others.filter(|budget| !budget.withdraw()).count();
    }
    assert!(shared <= 2, "{shared} of 140");
}

#[tokio::test(start_paused = true)]
async fn a_request_may_have_a_shorter_deadline_of_its_own() {
    let hangs = || {
        let guard = guard(five_in_a_row());
        let service =
            service_fn(|_: Request<()>| std::future::pending::<io::Result<Response<String>>>());
        ServiceBuilder::new().layer(guard.layer()).service(service)
    };
    for (own, ends) in [(500, 500), (4_000, 4_000), (60_000, 10_000)] {
        let (own, ends) = (Duration::from_millis(own), Duration::from_millis(ends));
        let begin = Instant::now();
        let mut request = get("hangs");
        request.extensions_mut().insert(Deadline(own));
        let error = hangs().oneshot(request).await.unwrap_err();
        let took = begin.elapsed();
        if own < 10 * SECOND {
            assert!(
                matches!(error, RequestError::OwnDeadlineExceeded),
                "{error}"
            );
            assert!(took >= ends && took < ends + SECOND / 100, "{took:?}");
        } else {
            assert!(matches!(error, RequestError::TryTimedOut), "{error}");
            assert!(took >= 9 * SECOND && took < ends, "{took:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn no_pause_begins_that_would_outlast_the_deadline() {
    let begin = Instant::now();
    let mut request = get("503-1-4.example");
    request.extensions_mut().insert(Deadline(3 * SECOND));
    let response = client(guard(five_in_a_row())).oneshot(request).await;
    assert_eq!(response.unwrap().status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(begin.elapsed(), Duration::ZERO, "at once");
}

#[tokio::test(start_paused = true)]
async fn a_request_with_no_time_left_is_not_sent() {
    let guard = guard(five_in_a_row());
    let client = ServiceBuilder::new()
        .layer(guard.layer())
        .service(service_fn(|_: Request<()>| async {
            panic!("sent") as io::Result<Response<String>>
        }));
    let mut request = get("a.example");
    request.extensions_mut().insert(Deadline(Duration::ZERO));
    let error = client.oneshot(request).await.unwrap_err();
    assert!(
        matches!(error, RequestError::OwnDeadlineExceeded),
        "{error}"
    );
}

/// A request keeps its draw, however often it waits.
#[tokio::test(start_paused = true)]
async fn half_enforced_rejections_let_half_of_the_requests_pass() {
    let guard = guard(five_in_a_row().tries(1).rejection_waits(5));
    let (client, host) = (client(guard), "503-4000000000.example");
    let origin = Origin::from_uri(get(host).uri()).unwrap();
    guard.hosts().enforcement().set_percent(50).unwrap();
    guard
        .hosts()
        .command(&origin, |breaker| breaker.trip())
        .unwrap();
    let mut requests = JoinSet::new();
    for _ in 0..1_000 {
        requests.spawn(client.clone().oneshot(get(host)));
    }
    let results = requests.join_all().await;
    let passed = results.iter().filter(|result| result.is_ok()).count();
    // 500 ± 16, and a few probes.
    assert!((400..620).contains(&passed), "{passed} of 1,000");
}

/// It may hold the only connection to the host.
#[tokio::test(start_paused = true)]
async fn the_response_of_a_try_is_let_go_before_the_next_one_is_made() {
    static KEPT: AtomicU32 = AtomicU32::new(0);
    static CALLS: AtomicU32 = AtomicU32::new(0);
    struct Kept;
    impl Drop for Kept {
        fn drop(&mut self) {
            KEPT.fetch_sub(1, Relaxed);
        }
    }
    let client = ServiceBuilder::new()
        .layer(guard(ClientConfig::new()).layer())
        .service(service_fn(async |_: Request<()>| {
            sleep(Duration::from_millis(1)).await;
            assert_eq!(KEPT.fetch_add(1, Relaxed), 0, "a response before is kept");
            CALLS.fetch_add(1, Relaxed);
            let response = Response::builder().status(500).extension(Arc::new(Kept));
            Ok::<_, io::Error>(response.body(String::new()).unwrap())
        }));
    let response = client.oneshot(get("a.example")).await.unwrap();
    assert_eq!((response.status().as_u16(), CALLS.load(Relaxed)), (500, 3));
}

/// The number that a layer below the guard needs for its spans.
#[tokio::test(start_paused = true)]
async fn each_retry_carries_its_number() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    let client = ServiceBuilder::new()
        .layer(guard(five_in_a_row()).layer())
        .service(service_fn(move |request: Request<()>| {
            noted
                .lock()
                .unwrap()
                .push(request.extensions().get().copied());
            let mut response = Response::new(String::new());
            *response.status_mut() = StatusCode::BAD_GATEWAY;
            async { Ok::<_, io::Error>(response) }
        }));
    let response = client.oneshot(get("a.example")).await;
    assert_eq!(response.unwrap().status(), StatusCode::BAD_GATEWAY);
    let expected = [None, Some(ResendCount(1)), Some(ResendCount(2))];
    assert_eq!(*seen.lock().unwrap(), expected);
}
