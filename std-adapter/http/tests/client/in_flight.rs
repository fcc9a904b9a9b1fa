// SPDX-License-Identifier: MIT OR Apache-2.0
//! A host that hangs is noticed by its calls in flight.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use atomic_breaker_http::{
    ClientBody, ClientConfig, ClientGuard, ClientService, Origin, RequestError, State, TokioClock,
};
use http::{Request, Response};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tower::{ServiceBuilder, ServiceExt, service_fn};

use crate::{five_in_a_row, is_served};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

type Guard = &'static ClientGuard<TokioClock>;

fn guard(config: ClientConfig) -> Guard {
    ClientGuard::with(config, TokioClock, ()).unwrap().leak()
}

/// All hosts take that many milliseconds.
fn client(
    guard: Guard,
    takes_ms: &Arc<AtomicU64>,
) -> ClientService<(), Response<ClientBody<String, Guard>>, io::Error> {
    let takes_ms = Arc::clone(takes_ms);
    ServiceBuilder::new()
        .layer(guard.layer())
        .service(service_fn(move |_: Request<()>| {
            let takes = Duration::from_millis(takes_ms.load(Relaxed));
            async move {
                sleep(takes).await;
                Ok(Response::new(String::new()))
            }
        }))
}

fn get(host: u32) -> Request<()> {
    Request::get(format!("http://{host}.example/"))
        .body(())
        .unwrap()
}

fn origin(host: u32) -> Origin {
    Origin::from_uri(&format!("http://{host}.example/").parse().unwrap()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn one_call_too_many_opens_the_breaker_of_its_host_and_of_no_other() {
    let guard = guard(five_in_a_row().in_flight_limit(10).trip_in_flight(true));
    let takes_ms = Arc::new(AtomicU64::new(3_600_000));
    let client = client(guard, &takes_ms);
    let mut hanging = JoinSet::new();
    for _ in 0..10 {
        hanging.spawn(client.clone().oneshot(get(1)));
    }
    sleep(MS).await;
    assert_eq!(guard.in_flight(&origin(1)), Some(10));
    assert_eq!(guard.hosts().state(&origin(1)), State::Closed);
    let error = client.clone().oneshot(get(1)).await.unwrap_err();
    let text = error.to_string();
    assert!(
        text.ends_with("(last failure: 10 calls in flight)"),
        "{text}"
    );
    assert_eq!(guard.hosts().state(&origin(1)), State::Open);
    takes_ms.store(10, Relaxed);
    assert!(client.clone().oneshot(get(2)).await.is_ok());
    // Those that hang are still in flight; a probe is not limited.
    sleep(SECOND * 3 / 2).await;
    assert_eq!(guard.in_flight(&origin(1)), Some(10));
    assert!(client.clone().oneshot(get(1)).await.is_ok(), "the probe");
    assert!(is_served(guard.hosts().state(&origin(1))));
}

/// Eleven callers of a host that is well, and a limit of ten.
#[tokio::test(start_paused = true)]
async fn a_limit_that_is_too_small_opens_no_breaker() {
    let guard = guard(five_in_a_row().in_flight_limit(10));
    let client = client(guard, &Arc::new(AtomicU64::new(100)));
    let mut callers = JoinSet::new();
    for _ in 0..11 {
        let client = client.clone();
        callers.spawn(async move {
            let mut served = 0;
            while served < 100 {
                match client.clone().oneshot(get(1)).await {
                    Ok(_) => served += 1,
                    Err(RequestError::Rejected(it)) => {
                        assert!(it.is_over_limit(), "{it}");
                        sleep(MS).await;
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            served
        });
    }
    let served: u32 = callers.join_all().await.into_iter().sum();
    assert_eq!(served, 1_100);
    assert_eq!(guard.hosts().state(&origin(1)), State::Closed);
}

#[tokio::test(start_paused = true)]
async fn calls_that_end_or_are_left_are_counted_no_more() {
    let guard = guard(five_in_a_row().in_flight_limit(50));
    let client = client(guard, &Arc::new(AtomicU64::new(300)));
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    fastrand::seed(seed);
    let mut callers = JoinSet::new();
    for _ in 0..3_000 {
        // Thousands are in flight in all, about three for each host.
        let request = client.clone().oneshot(get(fastrand::u32(0..1_000)));
        callers.spawn(timeout(fastrand::u32(0..600) * MS, request));
        if fastrand::u8(..) < 8 {
            sleep(fastrand::u32(0..10) * MS).await;
        }
    }
    callers.join_all().await;
    sleep(SECOND).await;
    for host in 0..1_000 {
        assert_eq!(guard.in_flight(&origin(host)), Some(0), "{host}");
        assert_eq!(guard.hosts().state(&origin(host)), State::Closed, "{host}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_try_is_counted_until_its_head_also_where_it_is_reported_at_the_end_of_its_body() {
    let config = five_in_a_row().in_flight_limit(1).at_end_of_body();
    let guard = ClientGuard::with(config, TokioClock, ()).unwrap().leak();
    let client = ServiceBuilder::new()
        .layer(guard.layer())
        .service(service_fn(|_: Request<()>| async {
            Ok::<_, io::Error>(Response::new("hello".to_owned()))
        }));
    let held = client.clone().oneshot(get(1)).await.unwrap();
    assert!(!held.body().is_reported());
    assert_eq!(guard.in_flight(&origin(1)), Some(0));
    assert!(client.oneshot(get(1)).await.is_ok());
    assert_eq!(guard.hosts().state(&origin(1)), State::Closed);
}

#[test]
fn a_limit_of_none_is_an_error_and_without_a_limit_nothing_is_counted() {
    let config = five_in_a_row();
    let error = config.in_flight_limit(0).check().unwrap_err();
    assert!(error.to_string().contains("set at least 1"), "{error}");
    assert_eq!(guard(config).in_flight(&origin(1)), None);
    let plan = config.in_flight_limit(7);
    assert!(plan.to_string().contains("; at most 7 in flight"), "{plan}");
    let plan = plan.trip_in_flight(true).to_string();
    assert!(
        plan.contains("; opens with more than 7 in flight"),
        "{plan}"
    );
    let error = config.trip_in_flight(true).check().unwrap_err();
    assert!(error.to_string().contains("set in_flight_limit"), "{error}");
}
