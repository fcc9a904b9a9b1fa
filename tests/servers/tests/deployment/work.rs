// SPDX-License-Identifier: MIT OR Apache-2.0
//! The durable work of the shops: orders of two steps, receipts that are kept if they cannot be sent at once; and what
//! was promised of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use atomic_breaker_http::HttpClassifier;
use atomic_breaker_server::ByKey;
use atomic_breaker_steps::{
    Filter, Lane, Notifier, Ran, Schedule, Status, StepError, Steps, Store, Stuck, Workflow,
    step_result,
};
use http::{Response, StatusCode};

use crate::client::{Client, Target, post};
use crate::net::HOSTS;
use crate::plan::{LEASE, LONGEST_PAUSE, SECOND, STEP_LIMIT, TELL_AFTER};
use crate::store::Db;
use crate::trace::{holds, note};
use crate::world::World;

/// The steps done so far.
type Done = Vec<String>;

/// The jobs of one instance.
pub(crate) struct Work {
    pub(crate) steps: Steps<Db>,
    orders: Workflow<Done>,
    receipts: Workflow<Done>,
}

/// Dependencies, and lanes of the same names.
const LANES: [&str; HOSTS] = ["payments", "stock", "mail"];

/// The jobs that were acknowledged, and the notices to people.
#[derive(Default)]
pub(crate) struct Promises(Mutex<Promised>);

#[derive(Default)]
struct Promised {
    /// The kind of each key.
    acknowledged: BTreeMap<String, &'static str>,
    /// Messages to a person, by key, and whether the job had ended.
    told: BTreeMap<(String, bool), u32>,
    /// The number of times that an operator retried each: of those a person is told anew.
    retried: BTreeMap<String, u32>,
}

impl Promises {
    fn acknowledge(&self, key: &str, kind: &'static str) {
        note!("{kind} {key} is acknowledged");
        self.0
            .lock()
            .unwrap()
            .acknowledged
            .insert(key.to_owned(), kind);
    }

    pub(crate) fn retried(&self, key: String) {
        *self.0.lock().unwrap().retried.entry(key).or_default() += 1;
    }

    pub(crate) fn acknowledged(&self) -> usize {
        self.0.lock().unwrap().acknowledged.len()
    }

    pub(crate) fn told(&self) -> u32 {
        self.0.lock().unwrap().told.values().sum()
    }
}

/// Tells a person, through nothing that fails: what is counted is how often it is called.
struct Person {
    world: &'static World,
    client: Client,
}

impl Notifier for Person {
    async fn notify(&self, stuck: &Stuck) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        self.client.life().runs().await;
        let key = stuck.job.key.clone();
        note!("told of {key}: {:?}, {}", stuck.status, stuck.error);
        let promised = &mut *self.world.promises.0.lock().unwrap();
        let told = promised
            .told
            .entry((key.clone(), stuck.status.is_final()))
            .or_default();
        *told += 1;
        let allowed = 1 + promised.retried.get(&key).copied().unwrap_or(0);
        holds!(
            "a person is told once",
            *told <= allowed,
            "of {key}, {:?}: {told} times",
            stuck.status
        );
        Ok(())
    }
}

/// One step: a request with a key of its own, by which the other side recognizes it.
async fn step(client: Client, host: usize, key: String, mut done: Done) -> Result<Done, StepError> {
    static HTTP: HttpClassifier = HttpClassifier::new();
    let key = format!("{key}-{}", LANES[host]);
    let target = Target::Host(host);
    let status = client.request(target, post(target, "do", &key)).await?;
    let mut response = Response::new(());
    *response.status_mut() = status;
    step_result(&HTTP, &response)?;
    done.push(LANES[host].to_owned());
    Ok(done)
}

fn workflow(kind: &'static str, hosts: &[usize], client: &Client) -> Workflow<Done> {
    let schedule = Schedule::new()
        .first(5 * SECOND)
        .longest(LONGEST_PAUSE)
        .tries(100_000)
        .tell_after(TELL_AFTER);
    hosts
        .iter()
        .fold(Workflow::new(kind).schedule(schedule), |workflow, &host| {
            let client = client.clone();
            workflow.step_in_context(LANES[host], LANES[host], move |done, context| {
                step(client.clone(), host, context.key, done)
            })
        })
}

impl Work {
    pub(crate) fn new(world: &'static World, client: &Client) -> Self {
        let orders = workflow("order", &[0, 1], client);
        let receipts = workflow("receipt", &[2], client);
        let life = Arc::clone(client.life());
        let mut steps = Steps::builder(Db { world, life })
            .workflow(&orders)
            .workflow(&receipts)
            .notifier(Person {
                world,
                client: client.clone(),
            })
            .poll(world.plan.steps_poll)
            .lease(LEASE)
            .time_limit(STEP_LIMIT)
            .retention(SECOND * 30 * 86_400);
        for (host, lane) in LANES.into_iter().enumerate() {
            let origin = Target::Host(host).origin();
            let breaker = ByKey::new(client.guard().hosts(), move |(): &()| origin.clone());
            steps = steps.lane(Lane::new(lane).at_once(4).guarded_within(breaker));
        }
        Self {
            steps: steps.build().expect("settings that fit"),
            orders,
            receipts,
        }
    }

    /// An order with the caller's key. Kept means promised, once the caller has heard of it.
    pub(crate) async fn order(&self, key: &str) -> StatusCode {
        match self.steps.enqueue(&self.orders, key, &Done::new()).await {
            Ok(_) => StatusCode::ACCEPTED,
            Err(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// A receipt, sent at once or kept.
    pub(crate) async fn receipt(&self, world: &'static World, key: &str) {
        let sent = self
            .steps
            .call_or_keep(&self.receipts, key, &Done::new())
            .await;
        match sent {
            Ok(Ran::Done(_)) => holds!(
                "what is done was done",
                world.hosts[2].done(&format!("{key}-mail")) > 0,
                "{key}"
            ),
            Ok(Ran::Later { .. }) => world.promises.acknowledge(key, "receipt"),
            Ok(Ran::Ended { error, .. }) => {
                holds!("no job ends without success", false, "{key}: {error}");
            }
            Err(error) => note!("{key} is not kept: {error}"),
        }
    }
}

/// The caller of an order has heard that it is kept.
pub(crate) fn acknowledge_order(world: &World, key: &str) {
    world.promises.acknowledge(key, "order");
}

/// Everything that was acknowledged is done, in order, by those whom it was asked of.
pub(crate) async fn check_done(world: &World) {
    let acknowledged = world.promises.0.lock().unwrap().acknowledged.clone();
    let jobs = world
        .jobs
        .list(&Filter::default(), u32::MAX)
        .await
        .expect("in memory");
    let by_key: BTreeMap<_, _> = jobs.iter().map(|job| (&*job.key, job)).collect();
    for (key, kind) in acknowledged {
        let Some(job) = by_key.get(&*key) else {
            holds!("nothing acknowledged is lost", false, "{kind} {key}");
            continue;
        };
        holds!(
            "every job ends",
            job.status == Status::Done,
            "{job:?} at {}",
            job.step
        );
        let steps: &[usize] = if kind == "order" { &[0, 1] } else { &[2] };
        let names: Done = steps.iter().map(|host| LANES[*host].to_owned()).collect();
        let done: Done = serde_json::from_str(&job.state).expect("ours");
        let reached = steps
            .iter()
            .all(|host| world.hosts[*host].done(&format!("{key}-{}", LANES[*host])) > 0);
        holds!(
            "each step is saved once",
            done == names && reached,
            "{kind} {key}: {done:?}"
        );
    }
    for job in &jobs {
        holds!("every job ends", job.status.is_final(), "{job:?}");
        holds!(
            "no job ends without success",
            job.status == Status::Done,
            "{job:?}"
        );
    }
}
