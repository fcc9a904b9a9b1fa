// SPDX-License-Identifier: MIT OR Apache-2.0
//! Guards in an `Arc`: in the field of a struct, replaced while requests are in flight, and outlived by a body.

use std::error::Error;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use atomic_breaker_http::{
    ClientBody, ClientGuard, ClientLayer, ClientService, Origin, TokioClock,
};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use tokio::time::{sleep, timeout};
use tower::{Layer, ServiceExt, service_fn};

use super::SECOND;
use super::stacks::{client, get};
use test_support::week::{Host, protects, week};

pub(super) type Guard = ClientGuard<TokioClock>;

pub(super) fn guard() -> Arc<Guard> {
    let guard = ClientGuard::with(servers::five_in_a_row(), TokioClock, ());
    Arc::new(guard.unwrap())
}

#[derive(Clone)]
struct Shop {
    client: ClientService<String, Response<ClientBody<String, Arc<Guard>>>, io::Error>,
}

impl Shop {
    fn new(guard: &Arc<Guard>, host: &Host) -> Self {
        Self {
            client: ClientLayer::new(Arc::clone(guard)).layer(client(host)),
        }
    }

    async fn get(&self) -> Result<String, Box<dyn Error + Send + Sync>> {
        Ok(self
            .client
            .clone()
            .oneshot(get())
            .await?
            .into_body()
            .get_ref()
            .get_ref()
            .cloned()
            .unwrap_or_default())
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_in_a_field_whose_callers_leave_at_once() {
    let host = Host::hanging();
    let shop = Shop::new(&guard(), &host);
    let ask = || async {
        let answer = timeout(SECOND / 10, shop.get()).await;
        answer.is_ok_and(|answer| answer.is_ok())
    };
    protects(&week(&host, ask).await, 260);
}

/// Each request has a client of its own, which is dropped with it. Settings are reloaded every 600 requests, so that
/// what was learned is lost; the guard before is freed when its last try has ended.
#[tokio::test(start_paused = true)]
async fn a_guard_that_is_replaced_while_requests_are_in_flight() {
    let host = Host::hanging();
    let (current, old) = (Mutex::new(guard()), Mutex::new(Vec::new()));
    let number = AtomicU32::new(0);
    let ask = || {
        let mut current = current.lock().unwrap();
        if number.fetch_add(1, Relaxed) % 600 == 599 {
            let previous = std::mem::replace(&mut *current, guard());
            old.lock().unwrap().push(Arc::downgrade(&previous));
        }
        let shop = Shop::new(&current, &host);
        async move {
            let answer = timeout(2 * SECOND, shop.get()).await;
            answer.is_ok_and(|answer| answer.is_ok())
        }
    };
    protects(&week(&host, ask).await, 500);
    sleep(10 * SECOND).await;
    let old = old.into_inner().unwrap();
    assert!(old.len() > 60, "{}", old.len());
    assert!(old.iter().all(|guard| guard.upgrade().is_none()));
}

/// Rules that differ from those before are set before each request: for all hosts, and for one.
#[tokio::test(start_paused = true)]
async fn rules_that_are_set_before_each_request() {
    let (host, guard) = (Host::default(), guard());
    let shop = Shop::new(&guard, &host);
    let origin = Origin::from_uri(get().uri()).unwrap();
    let number = AtomicU32::new(0);
    let ask = || async {
        let number = number.fetch_add(1, Relaxed);
        let rules = guard.config().breaker_config().close_after(1 + number % 2);
        guard.set_breaker_config(rules).unwrap();
        if number.is_multiple_of(3) {
            let rules = rules.gradual_return(10, 10 * SECOND);
            guard.set_breaker_config_of(&origin, rules).unwrap();
        }
        shop.get().await.is_ok()
    };
    protects(&week(&host, ask).await, 130);
}

/// The client and its layer are gone while the body is read.
#[tokio::test(start_paused = true)]
async fn a_body_that_outlives_its_client() {
    let host = Host::default();
    let config = servers::five_in_a_row().at_end_of_body();
    let guard = Arc::new(ClientGuard::with(config, TokioClock, ()).unwrap());
    let ask = || {
        let host = host.clone();
        let client = service_fn(move |_: Request<String>| {
            let host = host.clone();
            let part = Box::pin(async move {
                sleep(SECOND / 10).await;
                host.answer().await.map(|_| Frame::data(&b"hello"[..]))
            });
            let body = StreamBody::new(futures_util::stream::once(part));
            async { Ok::<_, io::Error>(Response::new(body)) }
        });
        let client = ClientLayer::new(Arc::clone(&guard)).layer(client);
        async move {
            let Ok(response) = client.oneshot(get()).await else {
                return false;
            };
            response.into_body().collect().await.is_ok()
        }
    };
    protects(&week(&host, ask).await, 140);
    assert_eq!(Arc::strong_count(&guard), 1);
}
