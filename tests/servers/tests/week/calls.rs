// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls that are attempted first, and kept if they do not succeed.

use std::collections::HashSet;

use atomic_breaker_steps::{Filter, Lane, MemoryStore, Ran, Status, Steps, Store, Workflow};
use tokio::time::timeout;

use super::SECOND;
use super::shop::{Mail, Supplier, breaker, is_down, patient, shop, week};
use test_support::faulty_store::{Fault, FaultyStore};
use test_support::week::config;

/// One step.
fn orders(supplier: &Supplier) -> Workflow<u64> {
    let supplier = supplier.clone();
    let workflow = Workflow::new("order").schedule(patient());
    workflow.step("invoice", "billing", move |order: u64| {
        let supplier = supplier.clone();
        async move {
            supplier.order(&order.to_string()).await?;
            Ok(order)
        }
    })
}

pub(super) fn one_at_a_time(
    store: &MemoryStore,
    orders: &Workflow<u64>,
    mail: &Mail,
) -> Steps<MemoryStore> {
    shop(store)
        .lane(Lane::new("billing").at_once(1).guarded(breaker(config())))
        .workflow(orders)
        .notifier(mail.clone())
        .build()
        .unwrap()
}

/// A timeout around each call ends every second one in the middle; every hour the worker is dropped and replaced by
/// another; one step runs at a time.
#[tokio::test(start_paused = true)]
async fn calls_whose_callers_leave() {
    let (store, supplier, mail) = (MemoryStore::new(), Supplier::new(), Mail::default());
    let orders = orders(&supplier);
    let steps = one_at_a_time(&store, &orders, &mail);
    let mut worker = steps.work();
    let (mut now, mut later, mut gone) = (0, 0, 0);
    let jobs = week(&store, async |number| {
        if number % 30 == 29 {
            worker = steps.work();
        }
        let is_hasty = number % 2 == 0;
        let patience = if is_hasty { SECOND / 20 } else { 5 * SECOND };
        let order = number as u64;
        let call = steps.call_or_keep(&orders, number.to_string(), &order);
        match timeout(patience, call).await.map(Result::unwrap) {
            Ok(Ran::Done(_)) => now += 1,
            Ok(Ran::Later { .. }) => later += 1,
            Ok(ended @ Ran::Ended { .. }) => panic!("{ended:?}"),
            Err(_) => gone += 1,
        }
    })
    .await;
    worker.stop().await;
    jobs.are_done(&store).await;
    supplier.was_spared(jobs.kept, 70);
    assert_eq!(jobs.charged, supplier.wasted());
    assert_eq!(mail.told(), 0);
    // All but the jobs of 14 hours are done now, or their callers were not told that they were kept.
    assert!(
        now > 2_200 && gone > 2_200 && later < 500,
        "{now} {later} {gone}"
    );
}

/// The store is down for the first hour of each day, and whenever the supplier is.
#[tokio::test(start_paused = true)]
async fn a_store_that_is_down_too() {
    let (store, supplier) = (FaultyStore::default(), Supplier::new());
    let orders = orders(&supplier);
    let steps = Steps::builder(store.clone())
        .poll(10 * SECOND)
        .retention(2 * super::shop::HOUR)
        .lane(Lane::new("billing").at_once(2).guarded(breaker(config())))
        .workflow(&orders)
        .build()
        .unwrap();
    let worker = steps.work();
    let mut refused = 0;
    let began = tokio::time::Instant::now();
    let jobs = week(&store.jobs, async |number| {
        let is_night = began.elapsed().as_secs() % (24 * 3_600) < 3_600;
        let fault = Fault::Error("connection refused".to_owned());
        store.set((is_night || is_down(began.elapsed())).then_some(fault));
        let order = number as u64;
        let call = steps.call_or_keep(&orders, number.to_string(), &order);
        match timeout(5 * SECOND, call).await.expect("in time") {
            Ok(Ran::Done(_)) => {}
            Ok(other) => panic!("{other:?}"),
            // The caller was told so.
            Err(_) => {
                assert!(is_down(began.elapsed()), "{:?}", began.elapsed());
                refused += 1;
            }
        }
    })
    .await;
    worker.stop().await;
    jobs.are_done(&store.jobs).await;
    supplier.was_spared(jobs.kept - refused, 70);
    assert_eq!(refused, 14 * 30);
}

/// Every half hour an operator retries all waiting jobs and cancels one, also in a lane with room for one.
#[tokio::test(start_paused = true)]
async fn an_operator_who_commands_jobs_that_run() {
    let (store, supplier, mail) = (MemoryStore::new(), Supplier::new(), Mail::default());
    let orders = orders(&supplier);
    let steps = one_at_a_time(&store, &orders, &mail);
    let worker = steps.work();
    let mut cancelled = HashSet::new();
    let jobs = week(&store, async |number| {
        let order = number as u64;
        let call = steps.call_or_keep(&orders, number.to_string(), &order);
        call.await.unwrap();
        if number % 15 == 14 {
            let all = store.list(&Filter::default(), 10_000).await.unwrap();
            let live = all.iter().filter(|job| !job.status.is_final());
            for (at, job) in live.enumerate() {
                if at == 0 && store.cancel(job.id).await.unwrap() {
                    cancelled.insert(job.key.clone());
                } else {
                    let is_due = store.retry_now(job.id).await.unwrap();
                    assert_eq!(is_due, job.status == Status::Waiting);
                }
            }
            steps.wake("billing");
        }
    })
    .await;
    worker.stop().await;
    let counts = store.counts().await.unwrap();
    let left = counts.of(Status::Waiting) + counts.of(Status::Running) + counts.of(Status::Dead);
    assert_eq!((left, mail.told()), (0, 0));
    assert!(cancelled.len() >= 14, "{}", cancelled.len());
    supplier.was_spared(jobs.kept - cancelled.len(), 120);
}
