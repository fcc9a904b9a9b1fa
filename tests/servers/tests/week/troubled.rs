// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jobs that are held up, known to only some workers, or unreadable; a slow store; and little room for requests.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use atomic_breaker_steps::{Filter, Lane, MemoryStore, Put, Status, Steps, Store, Workflow};
use tokio::time::Instant;

use super::SECOND;
use super::shop::{HOUR, Mail, Shared, Supplier, breaker, patient, shop, week};
use test_support::faulty_store::{Fault, FaultyStore};
use test_support::week::config;

/// The time at which each job was kept, and the time until its step was done.
#[derive(Clone, Default)]
struct Taken(Arc<Mutex<HashMap<u64, Duration>>>);

impl Taken {
    fn done(&self, number: u64, kept_at: Instant) {
        let before = self.0.lock().unwrap().insert(number, kept_at.elapsed());
        assert_eq!(before, None, "twice");
    }

    fn longest(&self) -> Option<Duration> {
        self.0.lock().unwrap().values().max().copied()
    }
}

/// Orders with even numbers go to the supplier, the others to a host that is always up; both pass through their own
/// breakers within the step.
fn two_hosts(supplier: &Supplier, taken: &Taken, began: Instant) -> Workflow<(u64, Duration)> {
    let [first, second]: [Shared; 2] = [(); 2].map(|()| breaker(config()));
    let (supplier, taken) = (supplier.clone(), taken.clone());
    let step = move |(order, kept_at): (u64, Duration)| {
        let (supplier, taken) = (supplier.clone(), taken.clone());
        let (first, second) = (first.clone(), second.clone());
        async move {
            let number = order.to_string();
            if order.is_multiple_of(2) {
                first.call_async(|| supplier.order(&number)).await?;
            } else {
                second.call_async(async || Ok::<_, io::Error>(())).await?;
                taken.done(order, began + kept_at);
            }
            Ok((order, kept_at))
        }
    };
    let workflow = Workflow::new("order").schedule(patient());
    workflow.step("order", "orders", step)
}

/// Both hosts share one lane without a breaker, one step at a time: thirty jobs of the host that is down are held up.
#[tokio::test(start_paused = true)]
async fn jobs_of_a_host_that_is_down_do_not_keep_those_of_another_in_their_lane() {
    let (store, supplier, mail) = (MemoryStore::new(), Supplier::new(), Mail::default());
    let (taken, began) = (Taken::default(), Instant::now());
    let orders = two_hosts(&supplier, &taken, began);
    let steps = shop(&store)
        .lane(Lane::new("orders").at_once(1))
        .workflow(&orders);
    let steps = steps.notifier(mail.clone()).build().unwrap();
    let _worker = steps.work();
    let jobs = week(&store, async |number| {
        let state = (number as u64, began.elapsed());
        steps
            .enqueue(&orders, number.to_string(), &state)
            .await
            .unwrap();
    })
    .await;
    jobs.are_done(&store).await;
    assert_eq!(mail.told(), 0);
    assert!(taken.longest() < Some(15 * SECOND), "{:?}", taken.longest());
}

/// Every day a new release adds a step: its workers start an hour before the old ones stop. The store responds after a
/// second.
#[tokio::test(start_paused = true)]
async fn a_rolling_deploy_every_day_over_a_slow_store() {
    let (store, supplier, mail) = (FaultyStore::default(), Supplier::new(), Mail::default());
    store.set(Some(Fault::Late(SECOND)));
    let billing = breaker(config());
    let release = |steps: usize| {
        const NAMES: [&str; 8] = ["s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8"];
        let mut orders = Workflow::new("order").schedule(patient());
        for name in &NAMES[..steps] {
            let supplier = supplier.clone();
            orders = orders.step(name, "billing", move |order: u64| {
                let supplier = supplier.clone();
                async move {
                    supplier.order(&format!("{order} {name}")).await?;
                    Ok(order)
                }
            });
        }
        let built = Steps::builder(store.clone())
            .poll(10 * SECOND)
            .retention(2 * HOUR)
            .lane(Lane::new("billing").guarded(billing.clone()))
            .workflow(&orders)
            .notifier(mail.clone());
        (built.build().unwrap(), orders)
    };
    let mut now = release(1);
    let mut worker = now.0.work();
    let mut before = None;
    let jobs = week(&store.jobs, async |number| {
        match number % 720 {
            690 => {
                now = release(2 + number / 720);
                before = Some(std::mem::replace(&mut worker, now.0.work()));
            }
            719 => before.take().unwrap().stop().await,
            _ => {}
        }
        let state = number as u64;
        now.0
            .enqueue(&now.1, number.to_string(), &state)
            .await
            .unwrap();
    })
    .await;
    jobs.are_done(&store.jobs).await;
    assert_eq!(mail.told(), 0);
    assert_eq!(jobs.charged, supplier.wasted());
}

/// Every day there is a job whose state belongs to another program: it is parked, an operator is notified once, and all
/// other jobs are done.
#[tokio::test(start_paused = true)]
async fn unreadable_states_are_parked_reported_once_and_block_no_other_job() {
    let (store, supplier, mail) = (MemoryStore::new(), Supplier::new(), Mail::default());
    let (taken, began) = (Taken::default(), Instant::now());
    let orders = two_hosts(&supplier, &taken, began);
    let steps = shop(&store)
        .lane(Lane::new("orders").at_once(1))
        .workflow(&orders);
    let steps = steps.notifier(mail.clone()).build().unwrap();
    let _worker = steps.work();
    let mut unreadable = 0;
    week(&store, async |number| {
        if number % 720 == 100 {
            let key = format!("unreadable {number}");
            let mut job = orders.job(key, &(0, Duration::ZERO)).unwrap();
            "\"of another program\"".clone_into(&mut job.state);
            let put = store.put(&job, None).await.unwrap();
            assert!(matches!(put, Put::New(..)));
            unreadable += 1;
        }
        let state = (number as u64, began.elapsed());
        steps
            .enqueue(&orders, number.to_string(), &state)
            .await
            .unwrap();
    })
    .await;
    let all = store.list(&Filter::default(), 10_000).await.unwrap();
    let rest: Vec<_> = all
        .iter()
        .filter(|job| job.status != Status::Done)
        .collect();
    let are_unreadable = |key: &str| key.starts_with("unreadable");
    assert_eq!(rest.len(), unreadable, "{rest:?}");
    for job in rest {
        // Every ten minutes a worker that knows the step checks whether it can read the state.
        assert!(are_unreadable(&job.key) && job.is_told, "{job:?}");
        assert_eq!(store.history(job.id).await.unwrap().len(), 1);
    }
    assert_eq!(mail.told(), unreadable);
    assert!(taken.longest() < Some(15 * SECOND), "{:?}", taken.longest());
}
