// SPDX-License-Identifier: MIT OR Apache-2.0
//! A rolling deploy: workers of the release before, and of the next one, whose state has one field more.

use std::time::Duration;

use atomic_breaker_steps::{Filter, Job, Lane, Status, StepError, Steps, Store, Workflow};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

#[derive(Serialize, Deserialize)]
struct OldPayment {
    amount: u64,
    charged: bool,
}

#[derive(Serialize, Deserialize)]
struct Payment {
    amount: u64,
    charged: bool,
    reference: Option<String>,
}

const PAYMENTS: usize = 100;

fn steps<D, S, F>(store: &D, poll: Duration, charge: F) -> (Steps<D>, Workflow<S>)
where
    D: Store + Clone,
    S: Serialize + DeserializeOwned + Send + 'static,
    F: Fn(&mut S) + Copy + Send + Sync + 'static,
{
    let workflow = Workflow::new("payment")
        .step("charge", "bank", move |mut payment: S| async move {
            charge(&mut payment);
            Ok::<_, StepError>(payment)
        })
        .step("book", "books", async |payment: S| Ok(payment));
    let steps = Steps::builder(store.clone())
        .lane(Lane::new("bank"))
        .lane(Lane::new("books"))
        .workflow(&workflow)
        .poll(poll);
    (steps.build().unwrap(), workflow)
}

async fn payments(store: &impl Store) -> Vec<Job> {
    store.list(&Filter::default(), 999).await.unwrap()
}

/// Waits until all jobs are like this.
async fn until_all(store: &impl Store, poll: Duration, is_so: impl Fn(&Job) -> bool) {
    for _ in 0..3_000 {
        let jobs = payments(store).await;
        assert!(
            jobs.iter().all(|job| job.status != Status::Parked),
            "{jobs:?}"
        );
        if jobs.iter().all(&is_so) {
            return;
        }
        sleep(poll).await;
    }
    panic!("{:?}", payments(store).await);
}

/// Workers of the older release alone, then of both, then of the newer one alone, on a store without jobs.
///
/// # Panics
/// A job is done without the reference that it was kept with, or not done.
pub async fn the_older_loses_nothing(store: &(impl Store + Clone), poll: Duration) {
    let (old, old_payment) = steps(store, poll, |payment: &mut OldPayment| {
        payment.charged = true;
    });
    let (new, new_payment) = steps(store, poll, |payment: &mut Payment| payment.charged = true);
    for number in 0..PAYMENTS {
        let (amount, charged, key) = (number as u64, false, number.to_string());
        if number.is_multiple_of(4) {
            let payment = OldPayment { amount, charged };
            old.enqueue(&old_payment, key, &payment).await.unwrap();
        } else {
            let reference = Some(format!("r{number}"));
            let payment = Payment {
                amount,
                charged,
                reference,
            };
            new.enqueue(&new_payment, key, &payment).await.unwrap();
        }
    }
    let [first, last] = [old.work(), old.work()];
    let is_done = |job: &Job| job.status == Status::Done;
    until_all(store, poll, |job| is_done(job) || job.held_up.times > 0).await;
    let worker = new.work();
    first.stop().await;
    until_all(store, poll, is_done).await;
    last.stop().await;
    worker.stop().await;
    for job in payments(store).await {
        let number: usize = job.key.parse().unwrap();
        let payment = new.progress(&new_payment, job.id).await.unwrap().unwrap();
        let expected = (!number.is_multiple_of(4)).then(|| format!("r{number}"));
        let found = (payment.state.charged, payment.state.reference);
        assert_eq!(found, (true, expected), "payment {number}");
    }
}
