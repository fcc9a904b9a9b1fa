// SPDX-License-Identifier: MIT OR Apache-2.0
//! The whole service as a process, with a host that fails: what its users, Prometheus and operators see.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use axum::http::StatusCode;
use axum::{Router, routing::get};
use reqwest::Client;
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};

/// The behaviour of the host.
struct Host {
    works: AtomicBool,
    takes_ms: AtomicU64,
}

/// A host at a free port, with how it answers.
async fn host() -> (String, Arc<Host>) {
    let host = Arc::new(Host {
        works: AtomicBool::new(true),
        takes_ms: AtomicU64::new(0),
    });
    let asked = Arc::clone(&host);
    let answer = async move || {
        sleep(Duration::from_millis(asked.takes_ms.load(Relaxed))).await;
        match asked.works.load(Relaxed) {
            true => (StatusCode::OK, "7.50"),
            false => (StatusCode::INTERNAL_SERVER_ERROR, "broken"),
        }
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async {
        axum::serve(
            listener,
            Router::new()
                .route("/", get(answer.clone()))
                .route("/health", get(answer)),
        )
        .await
    });
    (url, host)
}

/// The settings of the example, at a free port.
fn settings(host: &str) -> String {
    include_str!("../settings.toml")
        .replace("127.0.0.1:8080", "127.0.0.1:0")
        .replace("http://127.0.0.1:9000/", host)
        .replace("drain_ms = 10_000", "drain_ms = 1_500")
}

/// Ends with the test.
struct Service(Child);

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Service {
    /// The process, its address, and its log.
    fn start(path: &str) -> (Self, String, Log) {
        let mut service = Command::new(env!("CARGO_BIN_EXE_production"))
            .arg(path)
            .env("ADMIN_PASSWORD", "secret")
            .env("NO_COLOR", "1")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(service.stderr.take().unwrap()).lines();
        let (sends, log) = channel();
        thread::spawn(move || lines.for_each(|line| sends.send(line.unwrap()).unwrap_or(())));
        let log = Log(log);
        let line = log.find("listens on ");
        let address = line.split("listens on ").last().unwrap();
        (Self(service), format!("http://{address}"), log)
    }

    fn signal(&self, name: &str) {
        let kill = ["-s", name, &self.0.id().to_string()];
        assert!(Command::new("kill").args(kill).status().unwrap().success());
    }
}

struct Log(Receiver<String>);

impl Log {
    /// The next line with that text, within ten seconds.
    fn find(&self, text: &str) -> String {
        loop {
            let line = self.0.recv_timeout(Duration::from_secs(10));
            let line = line.unwrap_or_else(|_| panic!("no line with {text:?}"));
            if line.contains(text) {
                return line;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn serves_from_its_cache_while_the_host_fails_reloads_and_stops() {
    let (url, host) = host().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("settings.toml");
    let path = path.to_str().unwrap();
    let write = |failures: u32| {
        let text = settings(&url).replace(
            "consecutive_failures = 5",
            &format!("consecutive_failures = {failures}"),
        );
        std::fs::write(path, text).unwrap();
    };
    write(5);
    let (mut service, url, log) = Service::start(path);
    let user = Client::builder().no_proxy().build().unwrap();
    let ask = async |path: &str| {
        let answer = user.get(format!("{url}{path}")).send().await.unwrap();
        (answer.status(), answer.text().await.unwrap())
    };

    assert_eq!(ask("/price/tea").await, (StatusCode::OK, "7.50".into()));
    host.works.store(false, Relaxed);
    for _ in 0..5 {
        let known = ask("/price/tea").await;
        assert_eq!(known, (StatusCode::OK, "7.50".into()), "from the cache");
    }
    let (status, text) = ask("/price/coffee").await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(
        text.starts_with("unavailable at the moment, retry in "),
        "{text}"
    );

    let opened = log.find("closed -> open");
    assert!(opened.contains("127.0.0.1"), "{opened}");
    let (_, metrics) = ask("/metrics").await;
    assert!(metrics.contains("circuit_breaker_key_open{"), "{metrics}");
    let sent =
        "circuit_breaker_retries{circuit_breaker_name=\"hosts\",circuit_breaker_outcome=\"sent\"}";
    let sent = metrics.lines().find_map(|line| line.strip_prefix(sent));
    assert!(sent.is_some_and(|sent| sent.trim() != "0"), "{metrics}");
    let (ready, text) = ask("/ready").await;
    assert_eq!(
        ready,
        StatusCode::OK,
        "a host that is down is no reason to take the service away"
    );
    assert!(text.contains("\"status\":\"warn\""), "{text}");
    assert_eq!(ask("/breakers/").await.0, StatusCode::UNAUTHORIZED);
    let page = user
        .get(format!("{url}/breakers/status"))
        .basic_auth("ann", Some("secret"));
    let page = page.send().await.unwrap();
    assert_eq!(page.status(), StatusCode::OK);
    assert!(page.text().await.unwrap().contains("\"open\""));

    host.works.store(true, Relaxed);
    // Nobody asks for a price until then.
    let is_back = async {
        while ask("/ready").await.1.contains("\"warn\"") {
            sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(Duration::from_secs(10), is_back).await.unwrap();
    assert_eq!(ask("/price/coffee").await, (StatusCode::OK, "7.50".into()));

    write(0);
    service.signal("HUP");
    log.find("the rules stay as they were");
    log.find("consecutive_failures of at least 1");
    write(2);
    service.signal("HUP");
    log.find("are in force");

    service.signal("TERM");
    assert!(
        service.0.wait().unwrap().success(),
        "a graceful stop is no failure"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_sent_while_load_balancers_have_not_noticed_that_it_stops_is_served() {
    let (url, host) = host().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("settings.toml");
    let text = settings(&url)
        .replace("try_limit_ms = 500", "try_limit_ms = 3_000")
        .replace("deadline_ms = 2_000", "deadline_ms = 12_000");
    std::fs::write(&path, text).unwrap();
    let (mut service, url, log) = Service::start(path.to_str().unwrap());
    let user = Client::builder().no_proxy().build().unwrap();
    let ask = async |path: &str| user.get(format!("{url}{path}")).send().await.unwrap();
    assert_eq!(ask("/ready").await.status(), StatusCode::OK);

    service.signal("TERM");
    log.find("drains for 1.5s");
    let ready = ask("/ready").await;
    assert_eq!(ready.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(ready.headers()["connection"], "close");
    assert_eq!(
        ask("/live").await.status(),
        StatusCode::OK,
        "it is not restarted"
    );
    assert_eq!(ask("/price/tea").await.text().await.unwrap(), "7.50");

    host.takes_ms.store(2_000, Relaxed);
    let under_way = tokio::spawn(user.get(format!("{url}/price/coffee")).send());
    log.find("stops");
    while user.get(format!("{url}/live")).send().await.is_ok() {
        sleep(Duration::from_millis(10)).await;
    }
    assert!(!under_way.is_finished(), "the listener is closed");
    let answer = under_way.await.unwrap().unwrap();
    assert_eq!(answer.text().await.unwrap(), "7.50");
    assert!(service.0.wait().unwrap().success());
}
