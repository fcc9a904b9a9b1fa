// SPDX-License-Identifier: MIT OR Apache-2.0
//! Clients of three kinds, behind a guard with the default rules: its layer, and for reqwest its middleware as well.

use std::pin::Pin;
use std::time::Duration;

use atomic_breaker_http::{ClientConfig, ClientGuard, HttpClient, Ratio, State};
use http::Request;
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy;
use hyper_util::rt::TokioExecutor;
use reqwest::Certificate;
use tower::{ServiceBuilder, ServiceExt};

use super::authority;
use super::host::Host;

const HOUR: Duration = Duration::from_secs(3_600);
const LIMIT: Duration = Duration::from_secs(30);

/// A call; `true` if it was answered to its end.
type Answered = Pin<Box<dyn Future<Output = bool> + Send>>;

pub(crate) struct Client {
    pub(crate) name: &'static str,
    guard: &'static ClientGuard,
    post: Box<dyn Fn(String) -> Answered + Send + Sync>,
}

impl Client {
    pub(crate) async fn call(&self, host: &Host) -> bool {
        (self.post)(host.url()).await
    }

    pub(crate) fn state(&self, host: &Host) -> State {
        self.guard.hosts().state(&host.origin())
    }

    /// Ends the open time.
    pub(crate) fn probe_now(&self, host: &Host) {
        let hosts = self.guard.hosts();
        let made = hosts.command(&host.origin(), |breaker| breaker.probe_now());
        assert!(made.unwrap().is_some());
    }

    /// Each with connections and breakers of its own.
    pub(crate) fn all() -> [Self; 5] {
        [
            hyper(),
            of_reqwest("reqwest with rustls", with_rustls()),
            of_reqwest("reqwest with native-tls", with_native_tls()),
            of_middleware("reqwest-middleware with rustls", with_rustls()),
            of_middleware("reqwest-middleware with native-tls", with_native_tls()),
        ]
    }
}

/// Open for so long that it stays so, and with limits that a busy machine does not exceed. A call that waits for the connection
/// of another one, which then dies, meets them.
fn guard() -> &'static ClientGuard {
    let plan = ClientConfig::new();
    let rules = plan
        .breaker_config()
        .open_for(HOUR)
        .exponential(2, 2 * HOUR);
    let ratio = Ratio::percent(90).within(2 * LIMIT).min_calls(20);
    let rules = rules.failure_ratio(ratio).probe_lease(HOUR);
    let plan = plan.breaker(rules).deadline(2 * LIMIT);
    let plan = plan.tries(1).try_limit(LIMIT).at_end_of_body();
    ClientGuard::new(plan).unwrap().leak()
}

fn hyper() -> Client {
    let guard = guard();
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(authority::client())
        .https_only()
        .enable_all_versions()
        .build();
    let client = legacy::Client::builder(TokioExecutor::new()).build(connector);
    let client = ServiceBuilder::new().layer(guard.layer()).service(client);
    Client {
        name: "hyper-util with rustls",
        guard,
        post: Box::new(move |url| {
            let client = client.clone();
            let request = Request::post(url).body(Empty::<Bytes>::new()).unwrap();
            Box::pin(async move {
                let Ok(response) = client.oneshot(request).await else {
                    return false;
                };
                response.into_body().collect().await.is_ok()
            })
        }),
    }
}

fn with_rustls() -> reqwest::Client {
    let mut tls = authority::client();
    tls.alpn_protocols = vec!["h2".into(), "http/1.1".into()];
    let client = reqwest::Client::builder().tls_backend_preconfigured(tls);
    client.no_proxy().build().unwrap()
}

fn with_native_tls() -> reqwest::Client {
    let root = Certificate::from_der(authority::root()).unwrap();
    let client = reqwest::Client::builder().tls_backend_native();
    let client = client.tls_certs_only([root]);
    client.no_proxy().build().unwrap()
}

fn of_reqwest(name: &'static str, client: reqwest::Client) -> Client {
    let guard = guard();
    let client = HttpClient::new(client);
    let client = ServiceBuilder::new().layer(guard.layer()).service(client);
    Client {
        name,
        guard,
        post: Box::new(move |url| {
            let client = client.clone();
            let request = Request::post(url).body(Bytes::new()).unwrap();
            Box::pin(async move {
                match client.oneshot(request).await {
                    Ok(response) => response.bytes().await.is_ok(),
                    Err(_) => false,
                }
            })
        }),
    }
}

fn of_middleware(name: &'static str, client: reqwest::Client) -> Client {
    let guard = guard();
    let client = reqwest_middleware::ClientBuilder::new(client.clone())
        .with(guard.middleware(client))
        .build();
    Client {
        name,
        guard,
        post: Box::new(move |url| {
            let request = client.post(url).body(Bytes::new());
            Box::pin(async move {
                match request.send().await {
                    Ok(response) => response.bytes().await.is_ok(),
                    Err(_) => false,
                }
            })
        }),
    }
}
