// SPDX-License-Identifier: MIT OR Apache-2.0
//! One tenant of a host is over its quota, and gets a 429 each time: what that means for the others.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use atomic_breaker_http::{
    ClientBody, ClientConfig, ClientGuard, ClientService, Origin, RequestError, State, TokioClock,
};
use http::{Request, Response, StatusCode};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tower::{ServiceBuilder, ServiceExt, service_fn};

use crate::five_in_a_row;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

type Guard = &'static ClientGuard<TokioClock>;
type Client = ClientService<(), Response<ClientBody<String, Guard>>, io::Error>;

/// A limiter answers the tenant at `/over` after 60 ms, and what is behind it answers the others after 20 ms, unless it is
/// dead.
#[derive(Default)]
struct Host {
    is_dead: AtomicBool,
    reached_by_others: AtomicU32,
}

impl Host {
    fn client(self: &Arc<Self>, guard: Guard) -> Client {
        let host = Arc::clone(self);
        ServiceBuilder::new()
            .layer(guard.layer())
            .service(service_fn(move |request: Request<()>| {
                Arc::clone(&host).answer(request)
            }))
    }

    async fn answer(self: Arc<Self>, request: Request<()>) -> io::Result<Response<String>> {
        let mut response = Response::new(String::new());
        if request.uri().path() == "/over" {
            sleep(60 * MS).await;
            *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
            response.headers_mut().insert("retry-after", 1.into());
            return Ok(response);
        }
        self.reached_by_others.fetch_add(1, Relaxed);
        sleep(20 * MS).await;
        if self.is_dead.load(Relaxed) {
            *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        }
        Ok(response)
    }
}

fn guard(config: ClientConfig) -> Guard {
    ClientGuard::with(config, TokioClock, ()).unwrap().leak()
}

fn origin() -> Origin {
    Origin::from_uri(&"http://a.example/".parse().unwrap()).unwrap()
}

fn request(path: &str) -> Request<()> {
    Request::get(format!("http://a.example/{path}"))
        .body(())
        .unwrap()
}

/// Counts of the calls of one tenant.
#[derive(Debug, Default, PartialEq)]
struct Calls {
    begun: u32,
    served: u32,
    rejected: u32,
}

/// One tenant calls that often, for that long.
async fn tenant(client: Client, path: &'static str, every: Duration, time: Duration) -> Calls {
    let begin = Instant::now();
    let mut under_way = JoinSet::new();
    while begin.elapsed() < time {
        under_way.spawn(client.clone().oneshot(request(path)));
        sleep(every).await;
    }
    let mut calls = Calls::default();
    for result in under_way.join_all().await {
        calls.begun += 1;
        match result {
            Ok(response) => calls.served += u32::from(response.status() == StatusCode::OK),
            Err(RequestError::Rejected(_)) => calls.rejected += 1,
            Err(_) => {}
        }
    }
    calls
}

/// The intervals at which the tenant over its quota calls, and each of the others.
const PACES: [(Duration, Duration); 3] = [
    (Duration::from_millis(200), Duration::from_millis(200)),
    (Duration::from_millis(20), SECOND),
    (Duration::from_millis(5), SECOND),
];

#[tokio::test(start_paused = true)]
async fn a_tenant_over_its_quota_shuts_nobody_out() {
    for (every, others) in PACES {
        let guard = guard(five_in_a_row());
        let client = Arc::new(Host::default()).client(guard);
        let time = 120 * SECOND;
        let over = tokio::spawn(tenant(client.clone(), "over", every, time));
        let calls = tenant(client, "well", others, time).await;
        println!("{every:?} beside {others:?}: {calls:?}");
        assert_eq!(calls.served, calls.begun, "{calls:?}");
        over.abort();
    }
}

/// The calls of the tenant over its quota come a millisecond before the others, and so would take each probe.
#[tokio::test(start_paused = true)]
async fn a_host_that_is_back_serves_beside_a_tenant_over_its_quota() {
    for (every, others) in PACES {
        let guard = guard(five_in_a_row());
        let host = Arc::new(Host::default());
        let client = host.client(guard);
        host.is_dead.store(true, Relaxed);
        tenant(client.clone(), "well", SECOND / 10, 120 * SECOND).await;
        assert_eq!(guard.hosts().state(&origin()), State::Open);
        host.is_dead.store(false, Relaxed);
        let over = tokio::spawn(tenant(client.clone(), "over", every, 600 * SECOND));
        sleep(MS).await;
        // The longest open time and its jitter, a probe, and the next call.
        let bound = 36 * SECOND + 60 * MS + others;
        tenant(client.clone(), "well", others, bound).await;
        let calls = tenant(client, "well", others, 300 * SECOND).await;
        println!("{every:?} beside {others:?}: {calls:?}");
        assert_eq!(calls.served, calls.begun, "{calls:?}");
        over.abort();
    }
}

/// A limiter still answers in front of a host that is dead.
#[tokio::test(start_paused = true)]
async fn a_tenant_over_its_quota_does_not_hide_that_its_host_is_dead() {
    let guard = guard(five_in_a_row().tries(1));
    let host = Arc::new(Host::default());
    let client = host.client(guard);
    host.is_dead.store(true, Relaxed);
    let over = tokio::spawn(tenant(client.clone(), "over", 20 * MS, 600 * SECOND));
    sleep(MS).await;
    let calls = tenant(client.clone(), "well", SECOND, 4_500 * MS).await;
    assert_eq!(calls.begun, 5);
    assert_eq!(guard.hosts().state(&origin()), State::Open);
    // A probe that meets the limiter closes it, and five failures open it again: that many in each open time.
    host.reached_by_others.store(0, Relaxed);
    let calls = tenant(client, "well", 20 * MS, 60 * SECOND).await;
    let reached = host.reached_by_others.load(Relaxed);
    println!("{calls:?}, {reached} reached it");
    assert!(reached <= 5 * 60, "{reached} in 60 s");
    over.abort();
}

#[tokio::test(start_paused = true)]
async fn a_quota_that_all_calls_share_opens_the_host_by_option() {
    for (config, state) in [
        (five_in_a_row(), State::Closed),
        (five_in_a_row().trip_on_429(true), State::Open),
    ] {
        let guard = guard(config);
        let client = Arc::new(Host::default()).client(guard);
        let begin = Instant::now();
        let response = client.oneshot(request("over")).await.unwrap();
        assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
        assert!(begin.elapsed() >= 2 * SECOND, "it was tried three times");
        assert_eq!(guard.hosts().state(&origin()), state);
    }
}
