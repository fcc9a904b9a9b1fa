// SPDX-License-Identifier: MIT OR Apache-2.0
//! The layers that may stand between the retries and the breaker: an `async` service, a task, a buffer, a layer that
//! asks another breaker first.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;

use atomic_breaker_server::RetryEvent::{self, Cancelled, Rejected, Sent};
use atomic_breaker_tower::{
    BreakerLayer, Config, Failure, GateLayer, Outcome, RetryBudget, RetryConfig, RetryLayer,
    ServiceError, State, TryLayer,
};
use tokio::task::yield_now;
use tokio::time::{sleep, timeout};
use tower::buffer::Buffer;
use tower::util::BoxCloneService;
use tower::{Service, ServiceBuilder, ServiceExt, service_fn};

use crate::server::Request::{self, Read};
use crate::server::{Error, LENIENT, Server, always, judged};
use crate::{MS, SECOND, budget};

const RULES: Config = Config::new()
    .consecutive_failures(1)
    .open_for(Duration::from_secs(60));

type Inner = BoxCloneService<Request, u16, Error>;

/// The service of a server behind its breaker.
fn guarded(server: &'static Server) -> Inner {
    ServiceBuilder::new()
        .layer(BreakerLayer::new(&server.breaker))
        .service_fn(|_: Request| server.answer())
        .boxed_clone()
}

/// An `async` service, in which something else is awaited first.
fn awaits(inner: Inner) -> Inner {
    let service = service_fn(move |request| {
        let inner = inner.clone();
        async move {
            sleep(MS).await;
            inner.oneshot(request).await
        }
    });
    service.boxed_clone()
}

/// A task of its own for each request.
fn spawns(inner: Inner) -> Inner {
    let service = service_fn(move |request| {
        let call = inner.clone().oneshot(request);
        async move { tokio::spawn(call).await.unwrap() }
    });
    service.boxed_clone()
}

/// One task for all requests, behind a queue.
fn buffers(inner: Inner) -> Inner {
    Buffer::new(inner, 8)
        .map_err(|error| *error.downcast::<Error>().unwrap())
        .boxed_clone()
}

/// Asks another service first, which has a breaker of its own, within `call`.
fn asks_another(inner: Inner) -> Inner {
    let other: &'static _ = Box::leak(Box::new(atomic_breaker_tower::breaker(LENIENT)));
    let other = ServiceBuilder::new()
        .layer(BreakerLayer::new(other))
        .service_fn(|_: Request| async { Ok::<u16, io::Error>(200) });
    let service = service_fn(move |request| {
        let allowed = other.clone().call(request);
        let inner = inner.clone();
        async move {
            yield_now().await;
            allowed.await?;
            inner.oneshot(request).await
        }
    });
    service.boxed_clone()
}

type Between = fn(Inner) -> Inner;

const BETWEEN: [(&str, Between); 5] = [
    ("nothing", |inner| inner),
    ("async", awaits),
    ("task", spawns),
    ("buffer", buffers),
    ("another", asks_another),
];

fn events(budget: &RetryBudget) -> Vec<(RetryEvent, u64)> {
    let counts = budget.counts();
    let all = RetryEvent::ALL.map(|event| (event, counts.of(event)));
    all.into_iter().filter(|(_, count)| *count > 0).collect()
}

#[tokio::test(start_paused = true)]
async fn the_last_word_of_the_server_is_not_lost_whatever_is_between() {
    for (name, between) in BETWEEN {
        let (server, budget) = (Server::failing(RULES, usize::MAX), budget());
        let client = ServiceBuilder::new()
            .layer(RetryLayer::new(RetryConfig::new(), budget, always))
            .service(between(guarded(server)));
        let made = client.clone().oneshot(Read).await.unwrap_err();
        let failed = made.failed().unwrap_or_else(|| panic!("{name}: rejected"));
        assert_eq!(failed.to_string(), "no answer", "{name}");
        // The retry was not made, and costs nothing.
        assert_eq!(events(budget), [(Rejected, 1)], "{name}");
        assert_eq!(budget.millitokens(), 100_000, "{name}");
        let never_made = client.oneshot(Read).await.unwrap_err();
        assert!(never_made.rejected().is_some(), "{name}");
        assert_eq!(server.calls().len(), 1, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn so_with_a_response_that_counts_as_a_failure() {
    let by_code = |result: &Result<u16, io::Error>| match result {
        Ok(503) => Failure::new().into(),
        _ => Outcome::Success,
    };
    for (name, between) in BETWEEN {
        let server = Server::new(RULES, |_| Ok(503));
        let inner = ServiceBuilder::new()
            .layer(BreakerLayer::new(&server.breaker).classify(by_code))
            .service_fn(|_: Request| server.answer());
        let client = ServiceBuilder::new()
            .layer(RetryLayer::new(
                RetryConfig::new(),
                budget(),
                judged(by_code),
            ))
            .service(between(inner.boxed_clone()));
        assert_eq!(client.oneshot(Read).await.ok(), Some(503), "{name}");
        assert_eq!(server.breaker.state(), State::Open);
    }
}

/// Otherwise callers with little patience would retry a host that hangs without an end.
#[tokio::test(start_paused = true)]
async fn a_retry_that_was_sent_costs_its_token_even_if_its_caller_leaves() {
    for (name, between) in BETWEEN {
        let server = Server::that_takes(SECOND, LENIENT, |_| super::server::fail());
        let budget = budget();
        let client = ServiceBuilder::new()
            .layer(RetryLayer::new(RetryConfig::new(), budget, always))
            .service(between(guarded(server)));
        // Dropped during its second try.
        let call = timeout(1_500 * MS, client.oneshot(Read));
        assert!(call.await.is_err(), "{name}");
        assert_eq!(server.calls().len(), 2, "{name}");
        assert_eq!(budget.millitokens(), 99_000, "{name}");
        assert_eq!(events(budget), [(Sent, 1)], "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_retry_that_waits_for_the_breaker_gives_its_token_back_when_its_caller_leaves() {
    for (name, between) in BETWEEN {
        let (server, budget) = (Server::failing(RULES, usize::MAX), budget());
        let config = RetryConfig::new().rejection_waits(1);
        let config = config.within(600 * SECOND);
        let client = ServiceBuilder::new()
            .layer(RetryLayer::new(config, budget, always))
            .service(between(guarded(server)));
        assert!(timeout(SECOND, client.oneshot(Read)).await.is_err());
        assert_eq!(budget.millitokens(), 100_000, "{name}");
        assert_eq!(events(budget), [(Cancelled, 1)], "{name}");
    }
}

/// A response, counted while it lives.
struct Body(Arc<AtomicUsize>);

impl Drop for Body {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// Fails each request after a moment, and notes how many responses were alive then.
#[derive(Clone, Default)]
struct Counting {
    alive: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    calls: Arc<AtomicUsize>,
}

impl Service<u32> for Counting {
    type Response = Body;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Body>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: u32) -> Self::Future {
        let this = self.clone();
        Box::pin(async move {
            sleep(MS).await;
            this.most.fetch_max(this.alive.load(Relaxed), Relaxed);
            this.calls.fetch_add(1, Relaxed);
            this.alive.fetch_add(1, Relaxed);
            Ok(Body(this.alive))
        })
    }
}

/// The largest number of responses of earlier tries that were alive while the server worked on another one.
async fn kept<S, E>(service: impl FnOnce(Counting) -> S) -> usize
where
    S: Service<u32, Response = Body, Error = ServiceError<E>> + Clone,
    E: std::fmt::Debug,
{
    #[derive(Clone, Copy)]
    struct Again;
    impl<E> atomic_breaker_tower::RetryPolicy<u32, Body, E> for Again {
        fn may_repeat(&self, _: &u32) -> bool {
            true
        }
        fn classify(&self, _: &Result<Body, E>) -> Outcome {
            Failure::new().into()
        }
    }
    let counting = Counting::default();
    let client = ServiceBuilder::new()
        .layer(RetryLayer::new(RetryConfig::new(), budget(), Again))
        .service(service(counting.clone()));
    let last = client.oneshot(7).await.unwrap();
    assert_eq!(counting.calls.load(Relaxed), 3);
    assert_eq!(counting.alive.load(Relaxed), 1, "the one that is returned");
    drop(last);
    counting.most.load(Relaxed)
}

/// The response may hold a thing that the next try needs, such as a connection.
#[tokio::test(start_paused = true)]
async fn a_response_is_let_go_as_soon_as_the_breaker_below_admits_the_next_try() {
    let server = Server::failing(LENIENT, 0);
    let breaker = &server.breaker;
    let by_breaker = kept(|inner| {
        ServiceBuilder::new()
            .layer(BreakerLayer::new(breaker))
            .service(inner)
    });
    assert_eq!(by_breaker.await, 0);
    let by_try = kept(|inner| {
        ServiceBuilder::new()
            .layer(TryLayer::new(breaker, SECOND))
            .service(inner)
    });
    assert_eq!(by_try.await, 0);
    let by_gate = kept(|inner| {
        ServiceBuilder::new()
            .layer(GateLayer::new(breaker))
            .service(inner)
    });
    assert_eq!(by_gate.await, 0);
}

/// Only its end tells whether it was made.
#[tokio::test(start_paused = true)]
async fn with_a_service_between_it_is_kept_until_the_next_try_has_ended() {
    let server = Server::failing(LENIENT, 0);
    let one = kept(|inner| {
        let guarded = ServiceBuilder::new()
            .layer(BreakerLayer::new(&server.breaker))
            .service(inner);
        service_fn(move |request| {
            let guarded = guarded.clone();
            async move { guarded.oneshot(request).await }
        })
    });
    assert_eq!(one.await, 1);
}
