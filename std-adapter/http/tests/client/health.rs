//! Hosts that are shut out are asked whether they are back.

use std::future::pending;
use std::io;
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use atomic_breaker_http::{ClientConfig, ClientGuard, Config, Origin, State, TokioClock};
use http::{Request, Response, Uri};
use tokio::time::{Instant, sleep};
use tower::{Layer, Service, ServiceExt, service_fn};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);

type Guard = ClientGuard<TokioClock>;

/// Without retries; a breaker stays open for an hour.
fn guard() -> Guard {
    let rules = Config::new().consecutive_failures(2).open_for(HOUR);
    let config = ClientConfig::new().tries(1).breaker(rules);
    ClientGuard::with(config, TokioClock, ()).unwrap()
}

/// What requests get (0 hangs) and what health checks get; and the health checks that it saw.
#[derive(Clone, Default)]
struct Hosts {
    requests: Arc<AtomicU16>,
    checks: Arc<AtomicU16>,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Hosts {
    fn set(&self, requests: u16, checks: u16) {
        self.requests.store(requests, Relaxed);
        self.checks.store(checks, Relaxed);
    }

    fn seen(&self) -> Vec<String> {
        std::mem::take(&mut self.seen.lock().unwrap())
    }

    fn client(
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

fn host(uri: &str) -> Origin {
    Origin::of(&uri.parse::<Uri>().unwrap()).unwrap()
}

/// Makes requests until the host is shut out.
async fn shut_out(guard: &'static Guard, hosts: &Hosts, uri: &str) {
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
    for path in ["", "health", "http://a.example/health", "/a b", "/\n"] {
        let error = guard.health_check(path).unwrap_err();
        assert!(error.to_string().contains("/health"), "{path:?}");
    }
    assert!(guard.health_check("/health?deep=1").is_ok());
}
