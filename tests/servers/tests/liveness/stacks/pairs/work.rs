// SPDX-License-Identifier: MIT OR Apache-2.0
//! A worker of a lane that the breaker guards, with jobs or without any.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_steps::{
    Lane, MemoryStore, Ran, Schedule, Status, Steps, Store, Worker, Workflow,
};
use test_support::faulty_store::{Fault, FaultyStore};
use tokio::task::spawn_local;
use tokio::time::timeout;

use super::Guarded;
use crate::dice::Dice;
use crate::host::Host;
use crate::stack::{Answer, outcome};

pub(super) struct Work {
    store: FaultyStore,
    /// The fault that stays.
    fault: Option<Fault>,
    steps: Steps<FaultyStore>,
    workflow: Workflow<u32>,
    worker: RefCell<Option<Worker>>,
    next: Cell<u32>,
}

/// Draws a fault that may stay with the store of a worker.
pub(super) fn slow(dice: &mut Dice) -> Fault {
    match dice.below(3) {
        0 => Fault::Silence,
        1 => Fault::Fails(dice.ms(0..3_000)),
        _ => Fault::Late(dice.ms(0..9_500)),
    }
}

/// The time for which callers wait for their jobs. Jobs that have failed often are due in hours: without a limit their
/// callers would take all the places of the scenario, and no caller would be left.
const PATIENCE: Duration = Duration::from_secs(10);

impl Work {
    pub(super) fn new(
        resource: &Arc<Guarded>,
        host: &Host,
        fault: Option<Fault>,
        dice: &mut Dice,
    ) -> Self {
        let store = FaultyStore::to(&MemoryStore::new());
        let within = dice.percent(30);
        let lane = Lane::new("lane");
        let lane = if within {
            lane.guarded_within(Arc::clone(resource))
        } else {
            lane.guarded(Arc::clone(resource))
        };
        let (of_step, calls) = (host.clone(), Arc::clone(resource));
        let workflow = Workflow::new("kind")
            .schedule(Schedule::new().first(dice.ms(100..1_000)).tries(100_000))
            .step("only", "lane", move |_: u32| {
                let (host, calls) = (of_step.clone(), Arc::clone(&calls));
                async move {
                    if within {
                        let breaker = calls.breaker();
                        let call = breaker.call_async_with(outcome, || host.answer());
                        return Ok(call.await?);
                    }
                    host.answer()
                        .await
                        .map_err(|trouble| trouble.to_string().into())
                }
            });
        let steps = Steps::builder(store.clone())
            .lane(lane)
            .workflow(&workflow)
            .lease(Duration::from_secs(5))
            .build()
            .unwrap();
        Self {
            worker: RefCell::new(Some(steps.work())),
            store,
            fault,
            steps,
            workflow,
            next: Cell::new(0),
        }
    }

    /// Few jobs wait at a time.
    pub(super) async fn run(&self) -> Answer {
        if self.next.get().is_multiple_of(5) && self.steps_wait().await {
            return Answer::Other;
        }
        let key = self.next.replace(self.next.get() + 1).to_string();
        match timeout(PATIENCE, self.steps.run(&self.workflow, &key, &7)).await {
            Ok(Ok(Ran::Done(_))) => Answer::Served,
            _ => Answer::Other,
        }
    }

    async fn steps_wait(&self) -> bool {
        let counts = self.store.jobs.counts().await.unwrap();
        counts.of(Status::Waiting) >= 20
    }

    pub(super) fn disturb(&self, dice: &mut Dice) {
        match dice.below(4) {
            0 => self.store.set(Some(slow(dice))),
            1 => self.store.set(None),
            2 => {
                if let Some(worker) = self.worker.take() {
                    spawn_local(worker.stop_within(dice.ms(0..3_000)));
                }
            }
            _ => drop(self.worker.replace(Some(self.steps.work()))),
        }
    }

    /// The resource is healthy for good; the store may stay as it is.
    pub(super) fn settle(&self) {
        self.store.set(self.fault.clone());
        self.worker.replace(Some(self.steps.work()));
    }

    pub(super) const fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }
}
