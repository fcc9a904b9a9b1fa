// SPDX-License-Identifier: MIT OR Apache-2.0
//! Guards for other keys than hosts: everything goes by the key.

use std::future::pending;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use atomic_breaker_http::{
    ClientBody, ClientConfig, ClientGuard, ClientService, Config, Deadline, RequestError, State,
    TokioClock,
};
use atomic_breaker_server::{KeyedObserver, RetryEvent, Transition};
use http::{Request, Response, StatusCode};
use tokio::time::{sleep, timeout};
use tower::{ServiceBuilder, ServiceExt, service_fn};

use crate::five_in_a_row;

const SECOND: Duration = Duration::from_secs(1);

/// A tenant of one host, which knows that some of them are broken.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Tenant(&'static str);

type Guard = &'static ClientGuard<TokioClock, Tenant>;
type Client = ClientService<(), Response<ClientBody<String, Guard>>, io::Error>;

fn guard(config: ClientConfig) -> Guard {
    ClientGuard::by_key(config, TokioClock, ()).unwrap().leak()
}

fn client(guard: Guard, calls: &Arc<AtomicU32>) -> Client {
    let calls = Arc::clone(calls);
    ServiceBuilder::new()
        .layer(guard.layer().keyed(tenant_of))
        .service(service_fn(move |request: Request<()>| {
            calls.fetch_add(1, Relaxed);
            async move {
                let mut response = Response::new(String::new());
                match tenant_of(&request).0 {
                    "broken" => *response.status_mut() = StatusCode::BAD_GATEWAY,
                    "hangs" => return pending().await,
                    _ => {}
                }
                Ok(response)
            }
        }))
}

fn tenant_of(request: &Request<()>) -> Tenant {
    request
        .extensions()
        .get()
        .cloned()
        .unwrap_or(Tenant("none"))
}

/// All to the same host, or to none.
fn get(tenant: &'static str) -> Request<()> {
    let request = Request::get("/items").extension(Tenant(tenant));
    request.body(()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn one_key_is_shut_out_and_the_others_of_the_same_host_are_not() {
    let (guard, calls) = (guard(five_in_a_row()), Arc::default());
    let client = client(guard, &calls);
    for _ in 0..3 {
        let _ = client.clone().oneshot(get("broken")).await;
    }
    let error = client.clone().oneshot(get("broken")).await.unwrap_err();
    assert!(matches!(error, RequestError::Rejected(_)));
    assert_eq!(guard.hosts().state(&Tenant("broken")), State::Open);
    assert!(client.clone().oneshot(get("well")).await.is_ok());
    // Their retries are their own.
    let sent = |tenant| {
        guard
            .budget_of(&Tenant(tenant))
            .counts()
            .of(RetryEvent::Sent)
    };
    assert_eq!((sent("broken"), sent("well")), (3, 0));
}

#[tokio::test(start_paused = true)]
async fn rules_of_one_key_do_not_apply_to_another() {
    let (guard, calls) = (guard(five_in_a_row().tries(1)), Arc::default());
    let client = client(guard, &calls);
    let strict = Config::new().consecutive_failures(1);
    guard
        .set_breaker_config_of(&Tenant("broken"), strict)
        .unwrap();
    let _ = client.clone().oneshot(get("broken")).await;
    let _ = client.oneshot(get("hangs")).await;
    let states = ["broken", "hangs"].map(|tenant| guard.hosts().state(&Tenant(tenant)));
    assert_eq!(states, [State::Open, State::Closed]);
}

/// Probes and callers that leave are told apart by key, too.
#[tokio::test(start_paused = true)]
async fn a_key_that_hangs_trips_although_its_callers_leave_and_is_served_again() {
    let (guard, calls) = (guard(five_in_a_row().tries(1)), Arc::default());
    let client = client(guard, &calls);
    for _ in 0..5 {
        let call = client.clone().oneshot(get("hangs"));
        assert!(timeout(SECOND / 10, call).await.is_err());
    }
    sleep(4 * SECOND).await;
    let hangs = guard.hosts().entry(&Tenant("hangs")).unwrap().snapshot;
    assert_eq!(hangs.entered(), State::Open);
    assert_eq!(guard.hosts().state(&Tenant("well")), State::Closed);
    assert!(client.oneshot(get("well")).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn the_health_check_of_a_key_asks_where_it_is_told() {
    let rules = Config::new()
        .consecutive_failures(1)
        .open_for(3_600 * SECOND);
    let config = five_in_a_row().tries(1).breaker(rules);
    let (guard, calls) = (guard(config), Arc::default());
    let client = client(guard, &calls);
    for tenant in ["broken", "hangs"] {
        let mut request = get(tenant);
        request.extensions_mut().insert(Deadline(5 * SECOND));
        let _ = client.clone().oneshot(request).await;
    }
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let inner = service_fn(move |request: Request<()>| {
        seen.lock().unwrap().push(request.uri().to_string());
        async { Ok::<_, io::Error>(Response::new(String::new())) }
    });
    let check = guard.health_check_at(|Tenant(tenant)| match *tenant {
        "hangs" => None,
        tenant => format!("http://{tenant}.example/health").parse().ok(),
    });
    tokio::spawn(check.every(SECOND).run(inner));
    sleep(3 * SECOND).await;
    assert_eq!(*asked.lock().unwrap(), ["http://broken.example/health"]);
    let states = ["broken", "hangs"].map(|tenant| guard.hosts().state(&Tenant(tenant)));
    assert_eq!(states, [State::Closed, State::Open]);
}

/// A key by which hosts are still told apart: method or route of a host.
#[tokio::test(start_paused = true)]
async fn a_key_that_is_not_asked_is_not_repaired() {
    let guard = guard(five_in_a_row());
    let (asked, repaired) = (Arc::new(AtomicU32::new(0)), AtomicU32::new(0));
    for tenant in ["asked", "without a URI"] {
        let trip = guard.hosts().command(&Tenant(tenant), |it| it.trip());
        trip.unwrap();
    }
    let of_host = Arc::clone(&asked);
    let host = service_fn(move |_: Request<()>| {
        of_host.fetch_add(1, Relaxed);
        async {
            let mut response = Response::new(String::new());
            *response.status_mut() = StatusCode::BAD_GATEWAY;
            Ok::<_, io::Error>(response)
        }
    });
    let uri = |tenant: &Tenant| (tenant.0 == "asked").then(|| "http://a.example/".parse().unwrap());
    let check = guard.health_check_at(uri).every(SECOND / 10);
    let repair = |tenant: Arc<Tenant>, _| {
        assert_eq!(tenant.0, "asked");
        repaired.fetch_add(1, Relaxed);
        async { Ok::<(), io::Error>(()) }
    };
    let checks = timeout(10 * SECOND, check.run_repairing(host, repair));
    assert!(checks.await.is_err());
    assert!(asked.load(Relaxed) > 0);
    assert_eq!(asked.load(Relaxed), repaired.load(Relaxed));
}

#[tokio::test(start_paused = true)]
async fn an_observer_gets_the_key() {
    #[derive(Clone, Default)]
    struct Opened(Arc<Mutex<Vec<(String, String)>>>);

    impl KeyedObserver<(String, String)> for Opened {
        fn transition(&self, key: &(String, String), _: &Transition) {
            self.0.lock().unwrap().push(key.clone());
        }
    }

    type ByRoute = ClientGuard<TokioClock, (String, String)>;
    let opened = Opened::default();
    let config = five_in_a_row().tries(1);
    let guard: &'static ByRoute = ClientGuard::by_key(config, TokioClock, opened.clone())
        .unwrap()
        .leak();
    let client = ServiceBuilder::new()
        .layer(guard.layer().keyed(|request: &Request<()>| {
            let uri = request.uri();
            let host = uri.host().unwrap_or_default().to_owned();
            (host, uri.path().to_owned())
        }))
        .service(service_fn(async |request: Request<()>| {
            let mut response = Response::new(String::new());
            if request.uri().path() == "/slow" {
                *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            }
            Ok::<_, io::Error>(response)
        }));
    for path in ["/slow", "/fast"] {
        for _ in 0..5 {
            let request = Request::get(format!("http://a.example{path}"))
                .body(())
                .unwrap();
            let _ = client.clone().oneshot(request).await;
        }
    }
    let seen = opened.0.lock().unwrap().clone();
    assert_eq!(seen, [("a.example".to_owned(), "/slow".to_owned())]);
}
