// SPDX-License-Identifier: MIT OR Apache-2.0
//! The whole deployment, and what its callers do.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use atomic_breaker_fleet::InProcess;
use atomic_breaker_http::{Deadline, RequestError, State};
use atomic_breaker_steps::MemoryStore;
use http::{Request, Response};
use test_support::dice::Dice;
use test_support::faulty_store::FaultyStore;
use tokio::time::timeout;

use crate::client::{Answer, Target, get, post};
use crate::concerns::{Concerns, Matter};
use crate::engine::Replica;
use crate::host::Host;
use crate::instance::Instance;
use crate::net::{HOSTS, Net, SHOPS, Unreachable, WEBS};
use crate::plan::Plan;
use crate::probing::Probing;
use crate::store::Book;
use crate::trace::{holds, note};
use crate::work::{Promises, acknowledge_order};

pub(crate) const INSTANCES: usize = WEBS + SHOPS;

pub(crate) struct World {
    pub(crate) plan: Plan,
    dice: Mutex<Dice>,
    pub(crate) net: Net,
    pub(crate) hosts: [Host; HOSTS],
    pub(crate) engine: InProcess,
    pub(crate) replica: Replica,
    pub(crate) jobs: MemoryStore,
    pub(crate) disk: FaultyStore,
    pub(crate) book: Book,
    pub(crate) concerns: Concerns,
    pub(crate) promises: Promises,
    pub(crate) probing: Probing,
    /// `None` while it is down.
    instances: [Mutex<Option<Arc<Instance>>>; INSTANCES],
    starts: AtomicU64,
    keys: AtomicU64,
    pub(crate) in_flight: AtomicU64,
    pub(crate) seen: Mutex<Seen>,
}

/// The answers that callers have seen.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) served: u64,
    pub(crate) failed: u64,
    pub(crate) rejected: u64,
    pub(crate) left: u64,
    /// The longest time after the last fault after which a call was still not served, of shops and of webs.
    pub(crate) slowest: [Duration; 2],
}

type Handled<'a> = Pin<Box<dyn Future<Output = Result<Response<String>, Unreachable>> + Send + 'a>>;

impl World {
    pub(crate) fn new(seed: u64) -> &'static Self {
        let mut dice = Dice::new(seed);
        let plan = Plan::draw(&mut dice);
        let jobs = MemoryStore::new();
        let hosts = [(); HOSTS].map(|()| Host::new(Dice::new(dice.next())));
        let world: &'static Self = Box::leak(Box::new(Self {
            plan,
            dice: Mutex::new(dice),
            net: Net::default(),
            hosts,
            engine: InProcess::new(),
            replica: Replica::default(),
            disk: FaultyStore::to(&jobs),
            jobs,
            book: Book::default(),
            concerns: Concerns::default(),
            promises: Promises::default(),
            probing: Probing::default(),
            instances: Default::default(),
            starts: AtomicU64::new(0),
            keys: AtomicU64::new(0),
            in_flight: AtomicU64::new(0),
            seen: Mutex::default(),
        }));
        for number in 0..INSTANCES {
            world.start(number);
        }
        world
    }

    pub(crate) fn draw<T>(&self, draw: impl FnOnce(&mut Dice) -> T) -> T {
        draw(&mut self.dice.lock().unwrap())
    }

    pub(crate) fn start(&'static self, number: usize) {
        let run = self.starts.fetch_add(1, Relaxed) as u32;
        let instance = Instance::start(self, number, run);
        note!("{} starts, run {run}", instance.life.node);
        *self.instances[number].lock().unwrap() = Some(instance);
    }

    pub(crate) fn kill(&self, number: usize) {
        if let Some(instance) = self.instances[number].lock().unwrap().take() {
            note!("{} is killed", instance.life.node);
            instance.kill();
        }
    }

    /// An instance that is not down.
    pub(crate) fn instance(&self, number: usize) -> Option<Arc<Instance>> {
        self.instances[number].lock().unwrap().clone()
    }

    pub(crate) fn instances(&self) -> impl Iterator<Item = (usize, Arc<Instance>)> {
        (0..INSTANCES).filter_map(|number| Some((number, self.instance(number)?)))
    }

    fn shop(&self, number: usize) -> Option<Arc<Instance>> {
        self.instance(WEBS + number)
    }

    /// A shop handles a request: boxed, as it makes requests itself.
    pub(crate) fn serve<'a>(&'static self, number: usize, request: &'a Request<()>) -> Handled<'a> {
        let Some(instance) = self.shop(number) else {
            return Box::pin(async { Err(Unreachable("connection refused")) });
        };
        Box::pin(async move {
            instance.life.runs().await;
            let shop = instance.shop.as_ref().expect("a shop");
            // In a process that is killed meanwhile this waits for good, as for a host that has lost its power.
            let response = shop.handle(self, &instance.client, request).await;
            instance.life.runs().await;
            Ok(response)
        })
    }

    /// Returns whether any breaker of an instance that runs is not closed.
    pub(crate) fn is_open_somewhere(&self) -> bool {
        self.instances().any(|(_, instance)| {
            let mut entries = instance.client.guard().hosts().entries();
            let mut gates = instance.shop.iter();
            entries.any(|entry| entry.snapshot.state() != State::Closed)
                || gates.any(|shop| shop.waiting.is_open())
        })
    }

    /// Every instance calls everything that it depends on once.
    pub(crate) fn call_all(&'static self) {
        for (number, instance) in self.instances() {
            if number < WEBS {
                let shop = self.draw(|dice| dice.below(SHOPS as u64)) as usize;
                self.call(number, Target::Shop(shop));
            } else {
                (0..HOSTS).for_each(|host| self.call(number, Target::Host(host)));
            }
            if let Some(shop) = instance
                .shop
                .as_ref()
                .filter(|_| !instance.life.is_stopped())
            {
                shop.waiting.call(self, &instance.life);
            }
        }
    }

    /// Webs call each shop once.
    pub(crate) fn call_shops(&'static self) {
        for number in 0..WEBS {
            (0..SHOPS).for_each(|shop| self.call(number, Target::Shop(shop)));
        }
    }

    /// A call in a task of its own, by callers of whom some hang up.
    pub(crate) fn call(&'static self, number: usize, target: Target) {
        let Some(instance) = self.instance(number).filter(|it| !it.life.is_stopped()) else {
            return;
        };
        let mut request = get(target);
        // Some bring a deadline of their own, within which not every call is served.
        let limit = self.draw(|dice| {
            dice.percent(self.plan.hasty / 2)
                .then(|| dice.ms(100..12_000))
        });
        if let Some(limit) = limit {
            request.extensions_mut().insert(Deadline(limit));
        }
        let patience = self.draw(|dice| dice.percent(self.plan.hasty).then(|| dice.ms(1..4_000)));
        self.in_flight.fetch_add(1, Relaxed);
        let task = async move {
            let well = self.well_for(target);
            let call = instance.client.call(target, request);
            let answer = match patience {
                Some(patience) => timeout(patience, call).await.ok(),
                None => Some(call.await),
            };
            let answer = answer.filter(|answer| limit.is_none() || *answer == Answer::Served);
            self.judge(number, target, (well, self.well_for(target)), answer);
        };
        tokio::spawn(task);
    }

    fn well_for(&self, target: Target) -> Option<Duration> {
        match target {
            Target::Host(number) => self.concerns.well_for(&[Matter::Host(number)]),
            Target::Shop(number) => {
                // Its orders need the database.
                self.concerns.well_for(&[
                    Matter::Shop(number),
                    Matter::Host(0),
                    Matter::Host(1),
                    Matter::Jobs,
                ])
            }
        }
    }

    /// A call that began once the bound had passed, with no fault meanwhile, was served.
    fn judge(
        &self,
        number: usize,
        target: Target,
        well: (Option<Duration>, Option<Duration>),
        answer: Option<Answer>,
    ) {
        self.in_flight.fetch_sub(1, Relaxed);
        let seen = &mut *self.seen.lock().unwrap();
        let Some(answer) = answer else {
            seen.left += 1;
            return;
        };
        match answer {
            Answer::Served => seen.served += 1,
            Answer::Failed => seen.failed += 1,
            Answer::Rejected => seen.rejected += 1,
        }
        let (Some(before), Some(after)) = well else {
            return;
        };
        if answer == Answer::Served || after < before {
            return;
        }
        let (bound, place) = match target {
            Target::Host(_) => (self.plan.shops_bound(), 0),
            Target::Shop(_) => (self.plan.webs_bound(), 1),
        };
        seen.slowest[place] = seen.slowest[place].max(before);
        let entry = self.instance(number).map(|it| {
            let entry = it.client.guard().hosts().entry(&target.origin());
            format!(
                "{:?} {:?}",
                entry.map(|entry| entry.snapshot),
                it.shop.as_ref().and_then(|shop| shop.fleet())
            )
        });
        holds!(
            "served in time",
            before <= bound,
            "instance {number} to {target:?}: {answer:?} {before:?} after the last fault, of {bound:?}: {entry:?}"
        );
    }

    fn key(&self, kind: &str) -> String {
        format!("{kind}-{}", self.keys.fetch_add(1, Relaxed))
    }

    /// An order through a web, and a receipt of a shop.
    pub(crate) fn bring_work(&'static self) {
        let (web, shop) = self.draw(|dice| {
            (
                dice.below(WEBS as u64) as usize,
                dice.below(SHOPS as u64) as usize,
            )
        });
        if let Some(instance) = self.instance(web).filter(|it| !it.life.is_stopped()) {
            let (key, target) = (self.key("order"), Target::Shop(shop));
            let request = post(target, "orders", &key);
            tokio::spawn(async move {
                let answer: Result<_, RequestError<Unreachable>> =
                    instance.client.request(target, request).await;
                if answer.is_ok_and(|status| status.is_success()) && !instance.life.is_dead() {
                    acknowledge_order(self, &key);
                }
            });
        }
        if let Some(instance) = self.shop(shop).filter(|it| !it.life.is_stopped()) {
            let key = self.key("receipt");
            tokio::spawn(async move {
                let work = &instance.shop.as_ref().expect("a shop").work;
                work.receipt(self, &key).await;
            });
        }
    }
}
