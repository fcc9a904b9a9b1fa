// SPDX-License-Identifier: MIT OR Apache-2.0
//! reqwest-middleware. The host is a middleware as well, beneath that of the breaker: it stands for the network.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use atomic_breaker_http::{
    Breaker, BreakerMiddleware, ClientGuard, Config, Origin, PerHost, Registry, TokioClock,
};
use http::Extensions;
use reqwest::{Request, Response};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, Error, Middleware, Next, Result};
use tokio::time::timeout;

use super::SECOND;
use test_support::week::{Host, config, protects, week};

/// The report of a host that is down.
#[derive(Clone, Copy)]
enum Down {
    By503,
    ByNoConnection,
}

struct Network(Host, Down);

impl Middleware for Network {
    fn handle<'a, 'b, 'c, 'd>(
        &'a self,
        _: Request,
        _: &'b mut Extensions,
        _: Next<'c>,
    ) -> Pin<Box<dyn Future<Output = Result<Response>> + Send + 'd>>
    where
        'a: 'd,
        'b: 'd,
        'c: 'd,
    {
        Box::pin(async move {
            let status = match (self.0.answer().await, self.1) {
                (Ok(_), _) => 200,
                (Err(_), Down::By503) => 503,
                (Err(error), Down::ByNoConnection) => return Err(Error::middleware(error)),
            };
            let response = http::Response::builder().status(status).body("7");
            Ok(response.unwrap().into())
        })
    }
}

fn client(guard: impl Middleware) -> ClientWithMiddleware {
    ClientBuilder::new(reqwest::Client::new())
        .with(guard)
        .build()
}

fn network(host: &Host, down: Down) -> ClientWithMiddleware {
    ClientBuilder::new(reqwest::Client::new())
        .with(Network(host.clone(), down))
        .build()
}

fn hosts(config: Config) -> Arc<Registry<Origin, TokioClock>> {
    let hosts = Registry::builder(config).clock(TokioClock).build();
    Arc::new(hosts.unwrap())
}

const URL: &str = "http://a.example/";

async fn get(client: ClientWithMiddleware) -> Result<String> {
    let response = client.get(URL).send().await?.error_for_status()?;
    Ok(response.text().await?)
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_left_by_the_question_mark() {
    for down in [Down::By503, Down::ByNoConnection] {
        let host = Host::default();
        let network = network(&host, down);
        let client = client(BreakerMiddleware::new(
            PerHost::new(hosts(config())),
            network,
        ));
        let ask = || async { get(client.clone()).await.is_ok() };
        protects(&week(&host, ask).await, 70);
    }
}

#[tokio::test(start_paused = true)]
async fn a_timeout_around_the_requests_of_a_guard() {
    let host = Host::hanging();
    let guard = ClientGuard::with(servers::five_in_a_row(), TokioClock, ())
        .unwrap()
        .leak();
    let client = client(guard.middleware(network(&host, Down::By503)));
    let ask = || async {
        let answer = timeout(2 * SECOND, get(client.clone())).await;
        answer.is_ok_and(|answer| answer.is_ok())
    };
    // The breaker is open for half a minute at most, so twice as many calls are wasted as in the other tests.
    protects(&week(&host, ask).await, 200);
}

/// The time limit is longer than the timeout that cuts calls short: such a call counts as a slow one would.
#[tokio::test(start_paused = true)]
async fn a_timeout_that_is_shorter_than_the_limit() {
    let host = Host::hanging();
    let hosts = PerHost::new(hosts(config().slow_call(SECOND)));
    let guard = BreakerMiddleware::new(hosts, network(&host, Down::By503));
    let client = client(guard.time_limit(3 * SECOND));
    let ask = || async {
        let answer = timeout(2 * SECOND, get(client.clone())).await;
        answer.is_ok_and(|answer| answer.is_ok())
    };
    protects(&week(&host, ask).await, 130);
}

#[tokio::test(start_paused = true)]
async fn clones_of_a_client_in_tasks() {
    let host = Host::default();
    let network = network(&host, Down::By503);
    let client = client(BreakerMiddleware::new(
        PerHost::new(hosts(config())),
        network,
    ));
    let ask = || {
        let answer = tokio::spawn(get(client.clone()));
        async { answer.await.unwrap().is_ok() }
    };
    protects(&week(&host, ask).await, 70);
}

#[tokio::test(start_paused = true)]
async fn one_breaker_in_two_clients() {
    let host = Host::default();
    let breaker = Arc::new(Breaker::new(config(), TokioClock));
    let clients = [(); 2].map(|()| {
        let network = network(&host, Down::ByNoConnection);
        client(BreakerMiddleware::new(Arc::clone(&breaker), network))
    });
    let number = AtomicU32::new(0);
    let ask = || {
        let client = &clients[number.fetch_add(1, Relaxed) as usize % 2];
        async { get(client.clone()).await.is_ok() }
    };
    protects(&week(&host, ask).await, 70);
}

/// A time limit, and callers that drop every third request in the middle.
#[tokio::test(start_paused = true)]
async fn requests_that_are_dropped_in_the_middle() {
    let host = Host::hanging();
    let network = network(&host, Down::By503);
    let guard = BreakerMiddleware::new(PerHost::new(hosts(config())), network);
    let client = client(guard.time_limit(SECOND / 2));
    let number = AtomicU32::new(0);
    let ask = || {
        let leaves = number.fetch_add(1, Relaxed).is_multiple_of(3);
        let patience = if leaves { SECOND / 10 } else { SECOND };
        let answer = timeout(patience, get(client.clone()));
        async { answer.await.is_ok_and(|answer| answer.is_ok()) }
    };
    // A young probe that is dropped is not counted, and another one follows a second later.
    protects(&week(&host, ask).await, 160);
}

/// The same below retries, as the documentation of reqwest-retry recommends.
#[tokio::test(start_paused = true)]
async fn below_retries() {
    use reqwest_retry::{RetryTransientMiddleware, policies::ExponentialBackoff};

    let host = Host::default();
    let retries = ExponentialBackoff::builder().build_with_max_retries(3);
    let client = ClientBuilder::new(reqwest::Client::new())
        .with(RetryTransientMiddleware::new_with_policy(retries))
        .with(BreakerMiddleware::new(
            PerHost::new(hosts(config())),
            network(&host, Down::By503),
        ))
        .build();
    let ask = || async { get(client.clone()).await.is_ok() };
    protects(&week(&host, ask).await, 70);
    assert!(get(client).await.is_ok_and(|text| text == "7"));
}
