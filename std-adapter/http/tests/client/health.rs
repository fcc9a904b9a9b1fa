// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hosts that are shut out are asked whether they are back.

use std::future::pending;
use std::io;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use atomic_breaker_http::{
    ClientConfig, ClientGuard, Config, Guard as _, KeyedObserver, Origin, Outcome, State,
    TokioClock,
};
use atomic_breaker_server::{Rejected, RetryEvent, Transition};
use http::{Request, Response, Uri};
use tokio::time::{Instant, sleep};
use tower::{Layer, Service, ServiceExt, service_fn};

pub(super) const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);

pub(super) type Guard = ClientGuard<TokioClock>;

/// Without retries; a breaker stays open for an hour.
pub(super) fn guard() -> Guard {
    let rules = Config::new().consecutive_failures(2).open_for(HOUR);
    let config = ClientConfig::new().tries(1).breaker(rules);
    ClientGuard::with(config, TokioClock, ()).unwrap()
}

/// The answers to requests (0 hangs) and to health checks; and the health checks that it saw.
#[derive(Clone, Default)]
pub(super) struct Hosts {
    requests: Arc<AtomicU16>,
    checks: Arc<AtomicU16>,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Hosts {
    pub(super) fn set(&self, requests: u16, checks: u16) {
        self.requests.store(requests, Relaxed);
        self.checks.store(checks, Relaxed);
    }

    pub(super) fn seen(&self) -> Vec<String> {
        std::mem::take(&mut self.seen.lock().unwrap())
    }

    pub(super) fn client(
        &self,
    ) -> impl Service<Request<String>, Response = Response<String>, Error = io::Error, Future: Send>
    + Clone
    + Send
    + Sync
    + 'static {
        let hosts = self.clone();
        service_fn(move |request: Request<String>| {
            let hosts = hosts.clone();
            async move {
                let is_check = request.uri().path() == "/health";
                let status = if is_check {
                    let uri = request.uri().to_string();
                    hosts.seen.lock().unwrap().push(uri);
                    hosts.checks.load(Relaxed)
                } else {
                    hosts.requests.load(Relaxed)
                };
                if status == 0 {
                    return pending().await;
                }
                let mut response = Response::new(String::new());
                *response.status_mut() = status.try_into().unwrap();
                Ok(response)
            }
        })
    }
}

pub(super) fn host(uri: &str) -> Origin {
    Origin::from_uri(&uri.parse::<Uri>().unwrap()).unwrap()
}

/// Makes requests until the host is shut out.
pub(super) async fn shut_out(guard: &'static Guard, hosts: &Hosts, uri: &str) {
    let client = guard.layer().layer(hosts.client());
    while guard.hosts().state(&host(uri)) != State::Open {
        let request = Request::get(uri).body(String::new()).unwrap();
        let _ = client.clone().oneshot(request).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_that_answers_is_served_again_and_the_others_stay_shut_out() {
    let (guard, hosts) = (guard().leak(), Hosts::default());
    hosts.set(503, 503);
    let uri = "https://a.example:8443/items?b=c";
    shut_out(guard, &hosts, uri).await;
    guard
        .hosts()
        .command(&host("http://held.example"), |it| it.force_open())
        .unwrap();
    tokio::spawn(guard.health_check("/health").unwrap().run(hosts.client()));
    sleep(12 * SECOND).await;
    let seen = hosts.seen();
    assert_eq!(seen, ["https://a.example:8443/health"; 2], "each 5 s");
    assert_eq!(guard.hosts().state(&host(uri)), State::Open);
    hosts.set(200, 204);
    sleep(5 * SECOND).await;
    assert_eq!(guard.hosts().state(&host(uri)), State::Closed);
    hosts.seen();
    sleep(60 * SECOND).await;
    assert!(hosts.seen().is_empty(), "nothing is open");
}

/// A client behind the guard would otherwise be rejected, and the host never asked.
#[tokio::test(start_paused = true)]
async fn the_guarded_client_asks_as_well() {
    let (guard, hosts) = (guard().leak(), Hosts::default());
    hosts.set(503, 200);
    shut_out(guard, &hosts, "http://a.example/").await;
    let client = guard.layer().layer(hosts.client());
    tokio::spawn(guard.health_check("/health").unwrap().run(client.clone()));
    sleep(6 * SECOND).await;
    assert_eq!(
        guard.hosts().state(&host("http://a.example")),
        State::Closed
    );
    // Other requests for that path are rejected as before.
    hosts.set(503, 503);
    shut_out(guard, &hosts, "http://a.example/").await;
    hosts.seen();
    let request = Request::get("http://a.example/health").body(String::new());
    assert!(client.oneshot(request.unwrap()).await.is_err());
    assert!(hosts.seen().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_wrong_path_a_redirect_and_an_answer_that_does_not_come_end_no_outage() {
    for answer in [404, 301, 401, 500, 0] {
        let (guard, hosts) = (guard().leak(), Hosts::default());
        hosts.set(503, answer);
        shut_out(guard, &hosts, "http://a.example/").await;
        let check = guard.health_check("/health").unwrap();
        let task = tokio::spawn(check.run(hosts.client()));
        sleep(60 * SECOND).await;
        assert_eq!(guard.hosts().state(&host("http://a.example")), State::Open);
        assert!((6..=12).contains(&hosts.seen().len()), "{answer}");
        task.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn a_repair_comes_first_and_goes_further_each_time() {
    let (guard, hosts) = (guard().leak(), Hosts::default());
    hosts.set(503, 503);
    shut_out(guard, &hosts, "http://a.example/").await;
    let repairs = Arc::new(Mutex::new(Vec::new()));
    let (noted, mended) = (Arc::clone(&repairs), hosts.clone());
    let repair = move |host: Arc<Origin>, trips| {
        noted.lock().unwrap().push((host.to_string(), trips));
        match trips {
            // Hangs, panics and fails first.
            1 | 4 => mended.set(503, 503),
            2 => return futures(pending()),
            3 => panic!("on purpose"),
            5 => return futures(async { Err(io::Error::other("no")) }),
            _ => mended.set(200, 200),
        }
        futures(async { Ok(()) })
    };
    let check = guard.health_check("/health").unwrap().every(SECOND);
    tokio::spawn(check.run_repairing(hosts.client(), repair));
    let begin = Instant::now();
    while guard.hosts().state(&host("http://a.example")) != State::Closed {
        sleep(SECOND / 10).await;
    }
    assert!(begin.elapsed() < 20 * SECOND);
    let seen: Vec<_> = repairs
        .lock()
        .unwrap()
        .iter()
        .map(|(_, trips)| *trips)
        .collect();
    assert_eq!(seen, [1, 2, 3, 4, 5, 6]);
    assert_eq!(hosts.seen().len(), 3, "not asked where the repair failed");
}

type Repaired = std::pin::Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

fn futures(future: impl Future<Output = io::Result<()>> + Send + 'static) -> Repaired {
    Box::pin(future)
}

#[test]
fn a_path_that_is_none_is_an_error() {
    let guard = guard();
    for path in [
        "",
        "health",
        "http://a.example/health",
        "/a b",
        "/\n",
        "*",
        "?a=/",
    ] {
        let error = guard.health_check(path).unwrap_err();
        assert!(error.to_string().contains("/health"), "{path:?}");
    }
    assert!(guard.health_check("/health?deep=1").is_ok());
}

/// Every text that is taken for a path can be sent, or the host would never be asked.
#[tokio::test(start_paused = true)]
async fn each_path_that_is_accepted_is_asked_for() {
    for path in [
        "/", "//health", "/ä", "/?a=b", "/a#b", "/a%20b", "/{a}", "/\"a\"", "/:8/@x",
    ] {
        for uri in [
            "http://a.example/",
            "https://[::1]:8443/",
            "http://u:p@a.example:8/",
        ] {
            let (guard, hosts) = (guard().leak(), Hosts::default());
            let Ok(check) = guard.health_check(path) else {
                continue;
            };
            hosts.set(503, 503);
            shut_out(guard, &hosts, uri).await;
            let answers =
                service_fn(|_: Request<String>| async { Ok::<_, io::Error>(Response::new(())) });
            let task = tokio::spawn(check.run(answers));
            sleep(6 * SECOND).await;
            assert_eq!(guard.hosts().state(&host(uri)), State::Closed, "{path}");
            task.abort();
        }
    }
}

/// The calls that a guard's observer was notified of.
#[derive(Debug, Default)]
struct Told {
    rejected: AtomicU32,
    outcomes: AtomicU32,
    transitions: AtomicU32,
}

impl KeyedObserver<Origin> for Told {
    fn transition(&self, _: &Origin, _: &Transition) {
        self.transitions.fetch_add(1, Relaxed);
    }

    fn rejected(&self, _: &Origin, _: Rejected) {
        self.rejected.fetch_add(1, Relaxed);
    }

    fn outcome(&self, _: &Origin, _: Outcome) {
        self.outcomes.fetch_add(1, Relaxed);
    }
}

impl Told {
    fn numbers(&self) -> [u32; 3] {
        [&self.transitions, &self.rejected, &self.outcomes].map(|it| it.load(Relaxed))
    }
}

/// A health check is no request: it is not tried again, costs and deposits no token, and neither calls in flight nor
/// observers count it.
#[tokio::test(start_paused = true)]
async fn a_health_check_through_the_guard_leaves_no_trace_in_its_counts() {
    for answer in [503, 404, 0] {
        let told = Arc::new(Told::default());
        let rules = Config::new().consecutive_failures(2).open_for(HOUR);
        let config = ClientConfig::new().breaker(rules).in_flight_limit(1);
        let guard = ClientGuard::with(config, TokioClock, Arc::clone(&told)).unwrap();
        let (guard, hosts): (&'static Guard, _) = (guard.leak(), Hosts::default());
        hosts.set(503, answer);
        shut_out(guard, &hosts, "http://a.example/").await;
        let before = (told.numbers(), guard.retries());
        let client = guard.layer().layer(hosts.client());
        let check = guard.health_check("/health").unwrap().every(10 * SECOND);
        let task = tokio::spawn(check.run(client));
        for _ in 0..200 {
            sleep(SECOND / 2).await;
            assert_eq!(guard.in_flight(&host("http://a.example")), Some(0));
        }
        let checks = hosts.seen().len();
        assert!((9..=10).contains(&checks), "{checks} by {answer}");
        let retries = guard.retries();
        for event in RetryEvent::ALL {
            assert_eq!(retries.of(event), before.1.of(event), "{event} by {answer}");
        }
        assert_eq!(told.numbers(), before.0, "by {answer}");
        task.abort();
    }
}

/// Even where the open time is over, so that a request would be a probe.
#[tokio::test(start_paused = true)]
async fn a_wrong_path_asked_through_the_guard_ends_no_outage_and_prolongs_none() {
    for answer in [404, 301, 401, 500, 0] {
        let told = Arc::new(Told::default());
        let rules = Config::new().consecutive_failures(2);
        let config = ClientConfig::new().tries(1).breaker(rules);
        let guard = ClientGuard::with(config, TokioClock, Arc::clone(&told)).unwrap();
        let (guard, hosts): (&'static Guard, _) = (guard.leak(), Hosts::default());
        hosts.set(503, answer);
        shut_out(guard, &hosts, "http://a.example/").await;
        let before = told.numbers();
        let client = guard.layer().layer(hosts.client());
        let check = guard.health_check("/health").unwrap().every(SECOND);
        tokio::spawn(check.run(client));
        sleep(120 * SECOND).await;
        assert_eq!(told.numbers(), before, "{answer}");
        // The slot of the probe is free.
        assert!(guard.hosts().of(host("http://a.example")).acquire().is_ok());
    }
}
