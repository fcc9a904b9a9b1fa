// SPDX-License-Identifier: MIT OR Apache-2.0
//! Callers that wait while the breaker of a dependency would reject them: a gate over a breaker of its own, which
//! follows the fleet.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use atomic_breaker_fleet::{Joined, Seat};
use atomic_breaker_http::{Breaker, Failure, Outcome, State, Timed};
use atomic_breaker_server::{Resource, Snapshot, word::NativeWord};
use atomic_breaker_tower::{GateLayer, TimeLimitLayer};
use http::Response;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tower::{Layer, ServiceExt, service_fn};

use crate::client::{Target, get};
use crate::clock::InstanceClock;
use crate::concerns::Matter;
use crate::net::{Life, Unreachable};
use crate::plan::{SECOND, TRY_LIMIT};
use crate::trace::{holds, note};
use crate::world::World;

/// The dependency.
pub(crate) const HOST: usize = 2;
/// No more callers wait at a time.
const MOST: usize = 8;

type Shared = Arc<Breaker<InstanceClock, NativeWord, (), Seat>>;

pub(crate) struct Waiting {
    resource: Arc<Resource<Shared>>,
    /// Callers that wait or are served; they end with their process.
    callers: Mutex<JoinSet<()>>,
}

fn classify(result: &Result<Response<String>, Timed<Unreachable>>) -> Outcome {
    match result {
        Ok(response) if response.status().is_success() => Outcome::Success,
        Ok(response) if response.status() == 429 => Outcome::Ignored,
        _ => Failure::new().into(),
    }
}

impl Waiting {
    pub(crate) fn new(world: &World, joined: &Joined, clock: &InstanceClock) -> Self {
        let seat = joined.seat("audit").expect("a short name");
        let breaker = Breaker::builder(world.plan.plain, clock.clone());
        let breaker = Arc::new(breaker.observer(seat.clone()).build());
        assert!(seat.take(Arc::clone(&breaker)));
        Self {
            resource: Arc::new(Resource::new(breaker)),
            callers: Mutex::default(),
        }
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        self.resource.breaker().snapshot()
    }

    pub(crate) fn is_open(&self) -> bool {
        self.resource.breaker().state() != State::Closed
    }

    /// The number of callers that wait, or are served.
    pub(crate) fn callers(&self) -> usize {
        let callers = &mut *self.callers.lock().unwrap();
        while callers.try_join_next().is_some() {}
        callers.len()
    }

    /// A caller that waits, however long that takes.
    pub(crate) fn call(&self, world: &'static World, life: &Arc<Life>) {
        if self.callers() >= MOST {
            return;
        }
        let (life, resource) = (Arc::clone(life), Arc::clone(&self.resource));
        let hasty = world.plan.hasty;
        let patience = world.draw(|dice| dice.percent(hasty).then(|| dice.ms(1..60_000)));
        let caller = async move {
            let (name, began) = (life.node, Instant::now());
            let service = service_fn(move |()| {
                let life = Arc::clone(&life);
                async move {
                    let request = get(Target::Host(HOST));
                    let sent = world.net.send(
                        &life,
                        Target::Host(HOST).node(),
                        world.hosts[HOST].handle(&request),
                    );
                    sent.await.and_then(|response| response)
                }
            });
            let service = TimeLimitLayer::new(TRY_LIMIT).layer(service);
            let gate = GateLayer::new(resource).classify(classify);
            let waits = gate.layer(service).oneshot(());
            let Ok(response) = timeout(patience.unwrap_or(Duration::MAX), waits).await else {
                return note!("{name} has given up waiting");
            };
            let status = response
                .as_ref()
                .map_or(0, |response| response.status().as_u16());
            let well = world.concerns.well_for(&[Matter::Host(HOST)]);
            note!("{name} has waited: {status}");
            let bound = world.plan.shops_bound() + 2 * SECOND;
            // Of a caller that came later, how long it waited.
            let waited = well.map(|well| well.min(began.elapsed()));
            holds!(
                "those who wait are served in time",
                waited.is_none_or(|waited| waited <= bound),
                "{name}: {waited:?} after the last fault, of {bound:?}"
            );
        };
        self.callers.lock().unwrap().spawn(caller);
    }

    /// A task that holds the right to a call and hangs for good.
    pub(crate) fn hang(&self) {
        let permit = self.resource.breaker().acquire();
        note!(
            "a task hangs: {:?}",
            permit.as_ref().map(|permit| permit.is_probe())
        );
        std::mem::forget(permit);
    }

    /// The process is gone.
    pub(crate) fn end(&self) {
        self.callers.lock().unwrap().abort_all();
    }
}
