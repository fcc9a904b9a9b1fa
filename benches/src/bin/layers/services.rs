//! What is measured: a service, and layers around it.

use std::cell::Cell;
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::hash::BuildHasher;
use std::hint::{black_box, spin_loop};
use std::pin::pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use atomic_breaker_std::registry::{ByKey, Registry};
use atomic_breaker_std::tower::BreakerLayer;
use atomic_breaker_std::{Breaker, Config, Resource, breaker};
use benches::rounds::Case;
use rustc_hash::FxBuildHasher;
use tokio::runtime::{self, Runtime};
use tower::{Layer, Service};
use tower_resilience_circuitbreaker::CircuitBreakerLayer;

/// Answers at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answers;

impl Service<Request> for Answers {
    type Response = usize;
    type Error = Infallible;
    type Future = Ready<Result<usize, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        ready(Ok(black_box(request.host.len())))
    }
}

/// To one of 64 hosts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    /// The key.
    pub(crate) host: &'static str,
}

static HOSTS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let name = |host| format!("shard-{host:02}.search.internal.example:8443");
    (0..64).map(|host| &*name(host).leak()).collect()
});

/// The hosts in turn, each thread beginning somewhere else.
pub(crate) fn next_request() -> Request {
    thread_local!(static NEXT: Cell<usize> = const { Cell::new(0) });
    let next = NEXT.get();
    NEXT.set(next + 1);
    Request {
        host: HOSTS[next % 64],
    }
}

/// What a client does for each request: by its own handle of the service, as tower demands.
pub(crate) fn request<S: Service<Request>>(service: &mut S) {
    let mut context = Context::from_waker(Waker::noop());
    let Poll::Ready(Ok(())) = service.poll_ready(&mut context) else {
        panic!("not ready");
    };
    let mut call = pin!(service.call(next_request()));
    // Only who waits for a lock is not ready at once.
    let answer = loop {
        match call.as_mut().poll(&mut context) {
            Poll::Ready(answer) => break answer,
            Poll::Pending => spin_loop(),
        }
    };
    assert!(answer.is_ok(), "it answers");
}

fn case<S>(name: &str, make: impl Fn() -> S + Send + Sync + 'static) -> Case
where
    S: Service<Request> + Clone + Send + Sync + 'static,
{
    Case::new(name, move || {
        let service = make();
        move |calls| {
            let _runtime = RUNTIME.enter();
            let mut service = service.clone();
            for _ in 0..calls {
                request(&mut service);
            }
        }
    })
}

/// What the peer's lock needs while it sleeps.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut builder = runtime::Builder::new_multi_thread();
    let builder = builder.worker_threads(1).enable_time();
    builder.build().expect("tokio starts a thread")
});

pub(crate) static ONE: Breaker = breaker(Config::new());
static RESOURCE: Resource = Resource::new(breaker(Config::new()));

type Hosts<S> = Registry<&'static str, atomic_breaker_std::StdClock, (), (), S>;

/// A registry in which half of the hosts have a slot, as they failed once, and are clear again.
pub(crate) fn hosts<S: BuildHasher + Default>() -> Hosts<S> {
    let builder = Registry::<&'static str>::builder(Config::new());
    let hosts = builder
        .hasher(S::default())
        .build()
        .expect("constant rules");
    for host in HOSTS.iter().step_by(2) {
        let _ = hosts.call(host, || Err::<(), _>("once"));
        hosts
            .call(host, || Ok::<_, Infallible>(()))
            .expect("closed");
    }
    hosts
}

const fn host_of(request: &Request) -> &'static str {
    request.host
}

pub(crate) const BARE: &str = "no breaker";
pub(crate) const STATIC: &str = "`BreakerLayer`, `&'static Breaker`";
pub(crate) const BY_KEY: &str = "`BreakerLayer` by key, std's hasher";
pub(crate) const BY_KEY_FAST: &str = "`BreakerLayer` by key, a fast hasher";

pub(crate) fn all() -> Vec<Case> {
    vec![
        case(BARE, || Answers),
        case(STATIC, || BreakerLayer::new(&ONE).layer(Answers)),
        case("`BreakerLayer`, `&'static Resource`", || {
            BreakerLayer::new(&RESOURCE).layer(Answers)
        }),
        case("`BreakerLayer`, `Arc<Breaker>`", || {
            BreakerLayer::new(Arc::new(breaker(Config::new()))).layer(Answers)
        }),
        case(BY_KEY, || {
            let hosts = hosts::<std::hash::RandomState>().leak();
            BreakerLayer::new(ByKey::new(hosts, host_of)).layer(Answers)
        }),
        case(BY_KEY_FAST, || {
            let hosts = hosts::<FxBuildHasher>().leak();
            BreakerLayer::new(ByKey::new(hosts, host_of)).layer(Answers)
        }),
        case("tower-resilience-circuitbreaker 0.14.0", || {
            let layer = CircuitBreakerLayer::builder()
                .consecutive_failures(5)
                .wait_duration_in_open(Duration::from_secs(5))
                .permitted_calls_in_half_open(1)
                .build()
                .expect("the rules are sound");
            layer.layer_fn(Answers)
        }),
    ]
}
