// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jobs of several steps.

use atomic_breaker_steps::{Lane, MemoryStore, StepsBuilder, Workflow};
use tokio::time::timeout;

use super::SECOND;
use super::shop::{Mail, Shared, Supplier, breaker, patient, shop, week};
use test_support::week::config;

/// The parts that all programs share.
pub(super) struct Program {
    store: MemoryStore,
    supplier: Supplier,
    mail: Mail,
    orders: Workflow<u64>,
    steps: StepsBuilder<MemoryStore>,
}

impl Program {
    pub(super) fn new(orders: impl FnOnce(&Supplier) -> Workflow<u64>) -> Self {
        let (store, supplier, mail) = (MemoryStore::new(), Supplier::new(), Mail::default());
        let orders = orders(&supplier);
        Self {
            steps: shop(&store).workflow(&orders).notifier(mail.clone()),
            store,
            supplier,
            mail,
            orders,
        }
    }

    pub(super) fn lane(mut self, lane: Lane) -> Self {
        self.steps = self.steps.lane(lane);
        self
    }

    /// A week of jobs for one worker: each step runs once, and each wasted request is charged as a try, at most `worst`
    /// in an hour.
    pub(super) async fn run(self, steps_of_a_job: usize, worst: u32) {
        let steps = self.steps.build().unwrap();
        let _worker = steps.work();
        let jobs = week(&self.store, async |number| {
            let order = number as u64;
            let kept = steps.enqueue(&self.orders, number.to_string(), &order);
            kept.await.unwrap();
        })
        .await;
        jobs.are_done(&self.store).await;
        self.supplier.was_spared(steps_of_a_job * jobs.kept, worst);
        assert_eq!(jobs.charged, self.supplier.wasted());
        assert_eq!(self.mail.told(), 0);
    }
}

/// Two steps in two lanes of one supplier.
fn orders(supplier: &Supplier) -> Workflow<u64> {
    let step = |name: &'static str| {
        let supplier = supplier.clone();
        move |order: u64| {
            let supplier = supplier.clone();
            async move {
                supplier.order(&format!("{name} {order}")).await?;
                Ok(order)
            }
        }
    };
    Workflow::new("order")
        .schedule(patient())
        .step("invoice", "billing", step("invoice"))
        .step("parcel", "logistics", step("parcel"))
}

/// One step whose call passes through a breaker.
fn guarded_orders(supplier: &Supplier, breaker: &Shared) -> Workflow<u64> {
    let (supplier, breaker) = (supplier.clone(), breaker.clone());
    let workflow = Workflow::new("order").schedule(patient());
    workflow.step("invoice", "billing", move |order: u64| {
        let (supplier, breaker) = (supplier.clone(), breaker.clone());
        async move {
            let number = order.to_string();
            breaker.call_async(|| supplier.order(&number)).await?;
            Ok(order)
        }
    })
}

#[tokio::test(start_paused = true)]
async fn the_same_breaker_in_two_lanes() {
    let both = breaker(config());
    let program = Program::new(orders)
        .lane(Lane::new("billing").guarded(both.clone()))
        .lane(Lane::new("logistics").guarded(both));
    program.run(2, 70).await;
}

/// A week of one-step jobs whose calls pass through a breaker that the lane may share.
pub(super) async fn one_step(
    orders: impl FnOnce(&Supplier, &Shared) -> Workflow<u64>,
    lane: impl FnOnce(Lane, Shared) -> Lane,
) {
    let billing = breaker(config());
    let program = Program::new(|supplier| orders(supplier, &billing));
    let lane = lane(Lane::new("billing"), billing.clone());
    program.lane(lane).run(1, 70).await;
}

/// The most common first mistake: the lane's breaker also guards the calls within the step.
#[tokio::test(start_paused = true)]
async fn a_step_that_calls_through_the_breaker_of_its_lane() {
    one_step(guarded_orders, Lane::guarded).await;
}

#[tokio::test(start_paused = true)]
async fn a_lane_that_is_guarded_within() {
    one_step(guarded_orders, Lane::guarded_within).await;
}

#[tokio::test(start_paused = true)]
async fn a_lane_without_a_breaker_whose_steps_have_one() {
    one_step(guarded_orders, |lane, _| lane).await;
}

/// Two breakers; a timeout around each `run`; every hour the worker is dropped and replaced by another.
#[tokio::test(start_paused = true)]
async fn runs_and_workers_that_are_dropped() {
    let [billing, logistics] = [(); 2].map(|()| breaker(config()));
    let program = Program::new(orders)
        .lane(Lane::new("billing").guarded(billing))
        .lane(Lane::new("logistics").guarded(logistics));
    let steps = program.steps.build().unwrap();
    let mut worker = steps.work();
    let mut dropped = 0;
    let jobs = week(&program.store, async |number| {
        if number % 30 == 29 {
            worker = steps.work();
        }
        let is_hasty = number % 2 == 0;
        let patience = if is_hasty { SECOND / 20 } else { 5 * SECOND };
        let order = number as u64;
        let run = steps.run(&program.orders, number.to_string(), &order);
        dropped += usize::from(timeout(patience, run).await.is_err());
    })
    .await;
    drop(worker);
    assert!(dropped > jobs.kept / 3, "{dropped}");
    jobs.are_done(&program.store).await;
    program.supplier.was_spared(2 * jobs.kept, 140);
    assert_eq!(jobs.charged, program.supplier.wasted());
    assert_eq!(program.mail.told(), 0);
}

/// Jobs that are rejected while traffic returns are not charged a try, and do not come back at once.
#[tokio::test(start_paused = true)]
async fn a_gradual_return_in_a_lane_that_does_not_know_of_it() {
    let billing = breaker(config().gradual_return(10, 60 * SECOND));
    let program = Program::new(|supplier| guarded_orders(supplier, &billing));
    let lane = Lane::new("billing").at_once(2);
    program.lane(lane).run(1, 70).await;
}
