// SPDX-License-Identifier: MIT OR Apache-2.0
//! The guarded client of one instance.

use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_admin::Timeline;
use atomic_breaker_fleet::Seats;
use atomic_breaker_http::{ClientGuard, Deadline, Origin, RequestError};
use atomic_breaker_observe::Metrics;
use atomic_breaker_server::OnKeyTransition;
use http::{Request, Response, Uri};
use tokio::time::{Instant, timeout};
use tower::{Layer, ServiceExt, service_fn};

use crate::clock::InstanceClock;
use crate::net::{HOSTS, Life, Node, SHOPS, Unreachable};
use crate::plan::{DEADLINE, SECOND};
use crate::shown::Shown;
use crate::trace::{holds, note};
use crate::tries::Tries;
use crate::world::World;

/// The resource that is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Host(usize),
    Shop(usize),
}

impl Target {
    pub(crate) const fn node(self) -> Node {
        match self {
            Self::Host(number) => Node::host(number),
            Self::Shop(number) => Node::shop(number),
        }
    }

    pub(crate) fn origin(self) -> Origin {
        let uri = format!("http://{}/", self.node()).parse::<Uri>();
        Origin::from_uri(&uri.expect("a name")).expect("a host")
    }

    const fn place(self) -> usize {
        match self {
            Self::Host(number) | Self::Shop(number) => number,
        }
    }
}

pub(crate) type Guard = &'static ClientGuard<InstanceClock>;

/// Clones are the same client.
#[derive(Clone)]
pub(crate) struct Client(Arc<Shared>);

struct Shared {
    world: &'static World,
    life: Arc<Life>,
    guard: Guard,
    /// By the number of the target.
    tries: Vec<Arc<Tries>>,
    shown: Shown,
}

/// The answer that a caller sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Served,
    Failed,
    Rejected,
}

impl Client {
    /// Of a shop, with seats in the fleet, or of another service, which calls shops.
    pub(crate) fn new(
        world: &'static World,
        life: &Arc<Life>,
        clock: &InstanceClock,
        seats: Option<Seats<Origin>>,
    ) -> Self {
        let name = format!("{}#{}", life.node, life.run);
        let metrics = Metrics::new(&name);
        let timeline = Timeline::new();
        let shown = Shown::new(name.clone());
        let count = shown.counter();
        let observer = (
            (seats, metrics.clone()),
            (timeline.recorder("hosts"), OnKeyTransition(count)),
        );
        let guard: Guard = ClientGuard::with(world.plan.client, clock.clone(), observer)
            .expect("settings that fit")
            .leak();
        metrics.watch_static(guard.hosts());
        let shown = shown.of(guard, &timeline);
        let is_shop = (0..SHOPS).any(|number| Node::shop(number) == life.node);
        let targets: Vec<Target> = if is_shop {
            (0..HOSTS).map(Target::Host).collect()
        } else {
            (0..SHOPS).map(Target::Shop).collect()
        };
        let mut tries = Vec::new();
        for target in targets {
            let name = format!("{name} to {}", target.node());
            let of = Tries::new(name, target.origin(), guard, &world.plan, &tries).shared(is_shop);
            tries.push(Arc::new(of));
        }
        Self(Arc::new(Shared {
            world,
            life: Arc::clone(life),
            guard,
            tries,
            shown,
        }))
    }

    pub(crate) fn guard(&self) -> Guard {
        self.0.guard
    }

    pub(crate) fn life(&self) -> &Arc<Life> {
        &self.0.life
    }

    pub(crate) fn tries(&self) -> &[Arc<Tries>] {
        &self.0.tries
    }

    pub(crate) fn shown(&self) -> &Shown {
        &self.0.shown
    }

    /// One try: the client inside the guard.
    async fn send(
        &self,
        target: Target,
        request: Request<()>,
    ) -> Result<Response<String>, Unreachable> {
        let Shared {
            world,
            life,
            tries,
            shown,
            ..
        } = &*self.0;
        let attempt = tries[target.place()].begin(&request);
        let _probing = match target {
            Target::Host(host) if attempt.is_probe() => {
                let opened = shown.opened(&target.origin());
                Some(world.probing.begin(world, shown.name(), host, opened))
            }
            _ => None,
        };
        let sent = match target {
            Target::Host(number) => {
                world
                    .net
                    .send(life, target.node(), world.hosts[number].handle(&request))
                    .await
            }
            Target::Shop(number) => {
                world
                    .net
                    .send(life, target.node(), world.serve(number, &request))
                    .await
            }
        };
        let response = sent.and_then(|response| response);
        attempt.end(&response);
        response
    }

    /// A guarded request, which ends within its deadline whatever happens.
    pub(crate) async fn request(
        &self,
        target: Target,
        request: Request<()>,
    ) -> Result<http::StatusCode, RequestError<Unreachable>> {
        let client = self.clone();
        let service = service_fn(move |request| {
            let client = client.clone();
            async move { client.send(target, request).await }
        });
        let limit = request
            .extensions()
            .get()
            .map_or(DEADLINE, |Deadline(limit)| *limit);
        let began = Instant::now();
        let call = self.0.guard.layer().layer(service).oneshot(request);
        let response = timeout(DEADLINE + SECOND, call).await;
        let took = began.elapsed();
        let is_in_time = response.is_ok() && took <= limit.min(DEADLINE) + Duration::from_millis(5);
        holds!(
            "no call hangs",
            is_in_time,
            "{} to {target:?}: {took:?}, of {limit:?}",
            self.0.life.node
        );
        response
            .unwrap_or(Err(RequestError::DeadlineExceeded))
            .map(|response| response.status())
    }

    /// Calls a target, and interprets the result as a caller does.
    pub(crate) async fn call(&self, target: Target, request: Request<()>) -> Answer {
        let response = self.request(target, request).await;
        self.0.tries[target.place()].check();
        let answer = match &response {
            Ok(status) if status.is_success() => Answer::Served,
            Err(RequestError::Rejected(_)) => Answer::Rejected,
            _ => Answer::Failed,
        };
        let status = response.as_ref().map_or(0, |status| status.as_u16());
        note!(
            "{} to {}: {answer:?} {status}",
            self.0.life.node,
            target.node()
        );
        answer
    }
}

/// A request for a page of a target.
pub(crate) fn get(target: Target) -> Request<()> {
    let request = Request::get(format!("http://{}/page", target.node()));
    request.body(()).expect("a name")
}

/// A request that may be repeated.
pub(crate) fn post(target: Target, path: &str, key: &str) -> Request<()> {
    let request = Request::post(format!("http://{}/{path}", target.node()));
    request
        .header("idempotency-key", key)
        .body(())
        .expect("a name")
}
