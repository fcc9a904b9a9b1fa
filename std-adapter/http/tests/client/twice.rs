// SPDX-License-Identifier: MIT OR Apache-2.0
//! The same guard twice in one stack.

use std::future::{pending, ready};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use atomic_breaker_http::{
    Breaker, ClientBody, ClientGuard, ClientService, Config, Deadline, HttpClassifier, Origin,
    RequestError, State, TokioClock, UsualErrors,
};
use atomic_breaker_tower::BreakerLayer;
use http::{Request, Response, Uri};
use tokio::time::{Instant, sleep};
use tower::timeout::TimeoutLayer;
use tower::util::MapErrLayer;
use tower::{ServiceBuilder, ServiceExt, service_fn};

use crate::{five_in_a_row, is_served};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);

type Guard = &'static ClientGuard<TokioClock>;
type Once = ClientService<(), Response<Body>, io::Error>;
type Twice<E> = ClientService<(), Response<ClientBody<Body, Guard>>, E>;
type Body = ClientBody<String, Guard>;

#[derive(Clone, Default)]
struct Host {
    is_down: Arc<AtomicBool>,
    calls: Arc<AtomicU32>,
}

impl Host {
    fn answer(&self) -> io::Result<Response<String>> {
        self.calls.fetch_add(1, Relaxed);
        if self.is_down.load(Relaxed) {
            return Err(io::Error::other("refused"));
        }
        Ok(Response::new(String::new()))
    }
}

fn guard() -> Guard {
    // No retries: two layers of three tries are nine.
    let config = five_in_a_row().tries(1);
    ClientGuard::with(config, TokioClock, ()).unwrap().leak()
}

fn request(host: &str) -> Request<()> {
    Request::get(format!("http://{host}/")).body(()).unwrap()
}

fn state(guard: Guard, host: &str) -> State {
    let uri = Uri::try_from(format!("http://{host}/")).unwrap();
    guard.hosts().state(&Origin::from_uri(&uri).unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_host_behind_the_same_guard_twice_is_shut_out_and_served_again() {
    let (guard, host) = (guard(), Host::default());
    let of_host = host.clone();
    let client: Twice<io::Error> = {
        let inner: Once = ServiceBuilder::new()
            .layer(guard.layer())
            .service(service_fn(move |_: Request<()>| ready(of_host.answer())));
        ServiceBuilder::new()
            .layer(guard.layer())
            // What users put between the two, and what clones requests.
            .layer(MapErrLayer::new(io::Error::other))
            .layer(TimeoutLayer::new(2 * SECOND))
            .service(inner)
    };
    for day in 0..7 {
        host.is_down.store(true, Relaxed);
        for _ in 0..20 {
            client
                .clone()
                .oneshot(request("a.example"))
                .await
                .unwrap_err();
        }
        assert_eq!(state(guard, "a.example"), State::Open, "day {day}");
        assert!(host.calls.swap(0, Relaxed) <= 5);
        sleep(HOUR).await;
        host.is_down.store(false, Relaxed);
        let well_since = Instant::now();
        while client.clone().oneshot(request("a.example")).await.is_err() {
            assert!(well_since.elapsed() < 40 * SECOND, "day {day}");
            sleep(SECOND).await;
        }
        assert!(is_served(state(guard, "a.example")), "day {day}");
        sleep(23 * HOUR).await;
        host.calls.store(0, Relaxed);
    }
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_goes_on_to_another_host_asks_its_breaker() {
    let (guard, host) = (guard(), Host::default());
    let of_host = host.clone();
    let inner: Once = ServiceBuilder::new()
        .layer(guard.layer())
        .service(service_fn(move |_: Request<()>| ready(of_host.answer())));
    let client: Twice<RequestError<io::Error>> = ServiceBuilder::new()
        .layer(guard.layer())
        .map_request(|mut request: Request<()>| {
            *request.uri_mut() = Uri::from_static("http://b.example/");
            request
        })
        .service(inner);
    let [a, b] = ["http://a.example/", "http://b.example/"]
        .map(|name| Origin::from_uri(&Uri::from_static(name)).unwrap());
    guard.hosts().command(&a, |host| host.trip()).unwrap();
    guard.hosts().command(&b, |host| host.force_open()).unwrap();
    sleep(2 * SECOND).await;
    let error = client.oneshot(request("a.example")).await.unwrap_err();
    assert!(matches!(
        error,
        RequestError::Failed(RequestError::Rejected(_))
    ));
    assert_eq!(host.calls.load(Relaxed), 0);
}

/// A copy of a request, such as one that is mirrored or followed up, may be sent when its probe is long over.
#[tokio::test(start_paused = true)]
async fn what_a_probe_leaves_in_its_request_opens_nothing_once_it_is_over() {
    let (guard, host) = (guard(), Host::default());
    host.is_down.store(true, Relaxed);
    let seen = Arc::new(Mutex::new(None));
    let (of_host, of_seen) = (host.clone(), seen.clone());
    let client: Once = ServiceBuilder::new()
        .layer(guard.layer())
        .service(service_fn(move |request: Request<()>| {
            *of_seen.lock().unwrap() = Some(request);
            ready(of_host.answer())
        }));
    let origin = Origin::from_uri(&Uri::from_static("http://a.example/")).unwrap();
    guard.hosts().command(&origin, |host| host.trip()).unwrap();
    sleep(2 * SECOND).await;
    let failed = client.clone().oneshot(request("a.example")).await;
    assert!(matches!(failed, Err(RequestError::Failed(_))));
    assert_eq!(state(guard, "a.example"), State::Open);

    let copy = seen.lock().unwrap().take().unwrap();
    let rejected = client.oneshot(copy).await;
    assert!(matches!(rejected, Err(RequestError::Rejected(_))));
    assert_eq!(host.calls.load(Relaxed), 1);
}

/// A guard for tenants above one for hosts. The limit is the caller's own, so it says nothing about either.
#[tokio::test(start_paused = true)]
async fn a_deadline_of_the_caller_is_no_failure_of_the_guard_above() {
    let hosts = guard();
    let config = five_in_a_row().tries(1);
    let tenants: &ClientGuard<TokioClock, u32> =
        ClientGuard::by_key(config, TokioClock, ()).unwrap().leak();
    let inner: Once = ServiceBuilder::new()
        .layer(hosts.layer())
        .service(service_fn(async |_: Request<()>| {
            sleep(SECOND / 5).await;
            Ok(Response::new(String::new()))
        }));
    let client = ServiceBuilder::new()
        .layer(tenants.layer().keyed(|_: &Request<()>| 7))
        .service(inner);
    for _ in 0..20 {
        let mut request = request("a.example");
        request.extensions_mut().insert(Deadline(SECOND / 20));
        let error = client.clone().oneshot(request).await.map(drop).unwrap_err();
        assert!(
            matches!(error, RequestError::OwnDeadlineExceeded),
            "{error}"
        );
        sleep(SECOND).await;
    }
    assert_eq!(state(hosts, "a.example"), State::Closed);
    assert_eq!(tenants.hosts().state(&7), State::Closed);
}

/// The guard judges its tries, which go on; a breaker around it with the usual rules leaves that to it.
#[tokio::test(start_paused = true)]
async fn a_deadline_of_the_caller_is_no_failure_of_a_breaker_above() {
    let hosts = guard();
    let shop = Arc::new(Breaker::new(Config::new(), TokioClock));
    let by_the_usual_rules = HttpClassifier::new().errors(UsualErrors);
    let client = ServiceBuilder::new()
        .layer(BreakerLayer::new(Arc::clone(&shop)).report(by_the_usual_rules))
        .layer(hosts.layer())
        .service(service_fn(|_: Request<()>| {
            pending::<io::Result<Response<String>>>()
        }));
    for _ in 0..20 {
        let mut request = request("a.example");
        request.extensions_mut().insert(Deadline(SECOND / 20));
        client.clone().oneshot(request).await.map(drop).unwrap_err();
        sleep(SECOND).await;
    }
    assert!(!is_served(state(hosts, "a.example")), "it hangs");
    assert_eq!(shop.state(), State::Closed);
}
