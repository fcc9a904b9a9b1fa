// SPDX-License-Identifier: MIT OR Apache-2.0
//! Layers, registries, and a guarded client.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use atomic_breaker_http::{Breaker, ClientGuard, Guard, Registry, ServiceError, State, TokioClock};
use atomic_breaker_server::Resource;
use atomic_breaker_tower::{BreakerLayer, TimeLimitLayer};
use http::{Request, Response};
use tokio::time::timeout;
use tower::{Layer, ServiceBuilder, ServiceExt, service_fn};

use super::SECOND;
use test_support::week::{Host, config, protects, week};

#[tokio::test(start_paused = true)]
async fn a_call_of_a_registry_that_is_left_by_the_question_mark() {
    let host = Host::default();
    let hosts = Registry::<&str>::builder(config())
        .clock(TokioClock)
        .build()
        .unwrap();
    let ask = async || -> Result<u32, Box<dyn std::error::Error>> {
        let value = hosts.of("a.example").call_async(|| host.answer()).await?;
        Ok(value + 1)
    };
    protects(&week(&host, || async { ask().await.is_ok() }).await, 70);
}

#[tokio::test(start_paused = true)]
async fn clones_of_a_layered_service_in_tasks() {
    static HOST: Resource<Breaker<TokioClock>> = Resource::new(Breaker::new(config(), TokioClock));
    let host = Host::default();
    let service = ServiceBuilder::new()
        .layer(BreakerLayer::new(&HOST))
        .service(service_fn(|host: Host| async move { host.answer().await }));
    let ask = || {
        let request = tokio::spawn(service.oneshot(host.clone()));
        async { request.await.unwrap().is_ok() }
    };
    protects(&week(&host, ask).await, 70);
}

/// The caller's deadline is shorter than the limit of a try: calls that are cut short count as slow.
#[tokio::test(start_paused = true)]
async fn a_timeout_around_a_guarded_client() {
    let host = Host::hanging();
    let guard = ClientGuard::with(servers::five_in_a_row(), TokioClock, ())
        .unwrap()
        .leak();
    let client = {
        let host = host.clone();
        guard.layer().layer(service_fn(move |_: Request<()>| {
            let host = host.clone();
            async move { host.answer().await.map(|_| Response::new(String::new())) }
        }))
    };
    let ask = || async {
        let request = Request::get("http://a.example/").body(()).unwrap();
        timeout(2 * SECOND, client.clone().oneshot(request))
            .await
            .is_ok_and(|answer| answer.is_ok())
    };
    // The breaker is open for half a minute at most, so twice as many calls are wasted as in the other tests.
    protects(&week(&host, ask).await, 200);
}

/// A time limit below the breaker, and callers that drop every third request in the middle.
#[tokio::test(start_paused = true)]
async fn requests_that_are_dropped_in_the_middle() {
    let host = Host::hanging();
    let breaker = Arc::new(Breaker::new(config(), TokioClock));
    let service = ServiceBuilder::new()
        .layer(BreakerLayer::new(Arc::clone(&breaker)))
        .layer(TimeLimitLayer::new(SECOND / 2))
        .service(service_fn(|host: Host| async move { host.answer().await }));
    let number = AtomicU32::new(0);
    let ask = || {
        let patience = if number.fetch_add(1, Relaxed).is_multiple_of(3) {
            SECOND / 10
        } else {
            SECOND
        };
        let request = service.clone().oneshot(host.clone());
        async move {
            timeout(patience, request)
                .await
                .is_ok_and(|answer| answer.is_ok())
        }
    };
    // A young probe that is dropped is not counted, and another one follows a second later.
    protects(&week(&host, ask).await, 160);
}

/// Two clients of one host, each with its own layer over the same breaker.
#[tokio::test(start_paused = true)]
async fn one_breaker_in_two_clients() {
    let host = Host::default();
    let breaker = Arc::new(Breaker::new(config(), TokioClock));
    let client = || {
        BreakerLayer::new(Arc::clone(&breaker))
            .layer(service_fn(|host: Host| async move { host.answer().await }))
    };
    let (one, other) = (client(), client());
    let number = AtomicU32::new(0);
    let ask = || {
        let is_even = number.fetch_add(1, Relaxed).is_multiple_of(2);
        let client = if is_even { one.clone() } else { other.clone() };
        let request = client.oneshot(host.clone());
        async { request.await.is_ok() }
    };
    protects(&week(&host, ask).await, 70);
}

/// The same breaker twice in one stack, which the documentation calls wrong. It still protects the host, and an
/// operator can close it.
#[tokio::test(start_paused = true)]
async fn a_breaker_around_itself_never_closes_by_itself() {
    let breaker = Arc::new(Breaker::new(config(), TokioClock));
    let service = ServiceBuilder::new()
        .layer(BreakerLayer::new(Arc::clone(&breaker)))
        .map_err(|error: ServiceError<io::Error>| error)
        .layer(BreakerLayer::new(Arc::clone(&breaker)))
        .service(service_fn(|host: Host| async move { host.answer().await }));
    let host = Host::default();
    breaker.trip();
    for _ in 0..7 * 24 * 60 {
        tokio::time::sleep(60 * SECOND).await;
        assert!(service.clone().oneshot(host.clone()).await.is_err());
    }
    assert_ne!(breaker.state(), State::Closed);
    breaker.reset();
    assert!(service.oneshot(host).await.is_ok());
}
