// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stacks that users put together: guards and breakers around each other, tower's own limits below and above a guard,
//! errors that have lost their types, and observers that panic.

use std::error::Error;
use std::io;
use std::sync::Arc;

use atomic_breaker_http::{Breaker, ClientGuard, ClientLayer, Guard, Origin, TokioClock};
use atomic_breaker_server::{OnKeyTransition, OnTransition, Resource, Transition};
use http::{Request, Response};
use tokio::time::timeout;
use tower::util::BoxCloneSyncService;
use tower::{Layer, ServiceBuilder, ServiceExt, service_fn};

use super::SECOND;
use super::handles::guard;
use test_support::week::{Host, config, protects, week};

pub(super) type Client = BoxCloneSyncService<Request<String>, Response<String>, io::Error>;

pub(super) fn client(host: &Host) -> Client {
    let host = host.clone();
    BoxCloneSyncService::new(service_fn(move |_: Request<String>| {
        let host = host.clone();
        async move { host.answer().await.map(|_| Response::new(String::new())) }
    }))
}

pub(super) fn get() -> Request<String> {
    let request = Request::get("http://a.example/");
    request.body(String::new()).unwrap()
}

/// That of a library and that of its user. What the inner one rejects says nothing about the host to the outer one.
#[tokio::test(start_paused = true)]
async fn a_guard_around_another_one() {
    let host = Host::default();
    let inner = ClientLayer::new(guard()).layer(client(&host));
    let outer = ClientLayer::<String, _>::new(guard()).layer(inner);
    let ask = || async { outer.clone().oneshot(get()).await.is_ok() };
    protects(&week(&host, ask).await, 200);
}

#[tokio::test(start_paused = true)]
async fn a_breaker_around_another_one_whose_rejections_come_in_a_box() {
    let host = Host::default();
    let inner = Resource::new(Breaker::new(config(), TokioClock));
    let outer = Breaker::new(config(), TokioClock);
    let fetch = async || -> Result<u32, Box<dyn Error + Send + Sync>> {
        Ok(inner.call_async(|| host.answer()).await?)
    };
    let ask = || async { outer.call_async(&fetch).await.is_ok() };
    protects(&week(&host, ask).await, 70);
}

/// A try that goes on without its caller holds the only place.
#[tokio::test(start_paused = true)]
async fn one_request_at_a_time_below_a_guard() {
    let host = Host::hanging();
    let stack = ServiceBuilder::new()
        .layer(ClientLayer::new(guard()))
        .concurrency_limit(1)
        .service(client(&host));
    let ask = || async {
        let answer = timeout(2 * SECOND, stack.clone().oneshot(get())).await;
        answer.is_ok_and(|answer| answer.is_ok())
    };
    protects(&week(&host, ask).await, 200);
}

#[tokio::test(start_paused = true)]
async fn the_time_limit_of_tower_below_a_guard() {
    let host = Host::hanging();
    let stack = ServiceBuilder::new()
        .layer(ClientLayer::new(guard()))
        .map_err(io::Error::other)
        .timeout(SECOND)
        .service(client(&host));
    let ask = || async { stack.clone().oneshot(get()).await.is_ok() };
    protects(&week(&host, ask).await, 130);
}

/// The call that makes a transition panics; the state has changed all the same.
#[tokio::test(start_paused = true)]
async fn an_observer_that_panics_at_each_transition() {
    let host = Host::default();
    let observer = OnTransition(|transition: &Transition| panic!("{transition}"));
    let breaker = Breaker::builder(config(), TokioClock).observer(observer);
    let breaker = Arc::new(breaker.build());
    let ask = || {
        let (breaker, host) = (breaker.clone(), host.clone());
        let call = tokio::spawn(async move { breaker.call_async(|| host.answer()).await });
        async { call.await.is_ok_and(|answer| answer.is_ok()) }
    };
    protects(&week(&host, ask).await, 140);

    let host = Host::default();
    let observer = OnKeyTransition(|_: &Origin, transition: &Transition| panic!("{transition}"));
    let guard = ClientGuard::with(servers::five_in_a_row(), TokioClock, observer);
    let guarded = ClientLayer::<String, _>::new(Arc::new(guard.unwrap())).layer(client(&host));
    let ask = || {
        let call = tokio::spawn(guarded.clone().oneshot(get()));
        async { call.await.is_ok_and(|answer| answer.is_ok()) }
    };
    protects(&week(&host, ask).await, 300);
}
