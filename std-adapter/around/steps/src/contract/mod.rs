// SPDX-License-Identifier: MIT OR Apache-2.0
//! The behaviour that all stores share: one function for each promise of [`Store`], and [`check`] for all of them.
//!
//! ```
//! use atomic_breaker_steps::{MemoryStore, contract};
//!
//! #[tokio::test]
//! # async fn hidden() {}
//! async fn my_store_keeps_what_stores_promise() {
//!     contract::check(async || MemoryStore::new()).await;
//! }
//! ```

mod claims;
mod held_up;
mod operators;
mod saves;
mod told;

use std::pin::Pin;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::change::{Change, Save, Saved};
use crate::error::StepError;
use crate::job::{Claimed, Job, JobId, NewJob, Right};
use crate::store::{Put, Store};
use crate::workflow::Workflow;
pub use claims::claimed_once;

/// The number of promises that are checked at the same time.
const TOGETHER: usize = 8;

type Check = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Checks all promises, each with a store of its own that `make` returns without any jobs. Takes some seconds, as leases
/// must end. Needs a runtime of tokio; time may be paused for a store that uses tokio's clock.
///
/// # Panics
/// A promise is broken: the message names it, and its own panic says how.
pub async fn check<S: Store>(mut make: impl AsyncFnMut() -> S) {
    let (mut checks, mut broken) = (JoinSet::new(), Vec::new());
    let mut promises = promises().into_iter();
    loop {
        while checks.len() < TOGETHER {
            let Some((name, promise)) = promises.next() else {
                break;
            };
            let promise = promise(make().await);
            // In a task of its own, where it may panic.
            checks.spawn(async move { tokio::spawn(promise).await.is_err().then_some(name) });
        }
        match checks.join_next().await {
            Some(checked) => broken.extend(checked.expect("does not panic")),
            None => break,
        }
    }
    assert!(broken.is_empty(), "broken promises: {broken:?}");
}

macro_rules! promises {
    ($($module:ident: $($promise:ident)*;)*) => {
        /// All promises by name.
        fn promises<S: Store>() -> Vec<(&'static str, fn(S) -> Check)> {
            vec![$($(
                (stringify!($promise), |store| Box::pin(async move { $module::$promise(&store).await })),
            )*)*]
        }
    };
}

promises! {
    claims:
        a_job_is_kept_as_it_was_given
        of_a_kind_and_key_there_is_one_job
        a_job_that_is_put_and_claimed_is_claimed_by_no_other
        keys_and_states_of_any_text_come_back
        jobs_are_claimed_in_the_order_in_which_they_are_due
        a_job_is_not_claimed_before_it_is_due
        the_age_of_a_job_counts_from_when_it_is_first_due
        a_delay_that_no_clock_counts_is_an_error
        only_jobs_of_the_lane_are_claimed
        no_job_is_claimed_twice
        the_next_due_time_of_the_lane_is_told
        when_a_job_is_due_is_found_out_without_a_claim
        a_job_whose_lease_is_over_is_claimed_again_and_was_lost
        jobs_lost_together_are_not_blamed_and_come_alone
        a_job_that_runs_is_due_when_its_lease_is_over
        a_renewed_lease_holds
        a_lease_that_no_clock_counts_holds;
    held_up:
        a_job_that_is_held_up_counts_as_due_and_not_as_tried
        who_gives_a_job_back_says_whether_it_knows_it
        a_held_up_job_has_a_line_if_a_person_is_to_be_told;
    saves:
        a_right_that_is_gone_is_not_renewed
        a_right_that_is_gone_saves_nothing
        a_step_that_is_done_is_followed_by_the_next
        a_right_that_is_kept_goes_on
        a_save_that_comes_twice_or_late_changes_nothing_more
        a_failure_counts_and_is_due_again
        a_job_that_is_given_back_has_lost_nothing
        a_job_ends_with_its_history
        an_error_that_cannot_be_stored_loses_nothing
        a_step_that_is_done_clears_failures_and_suspicion
        several_are_saved_at_once_each_for_itself;
    told:
        a_person_is_asked_to_be_told_once
        who_was_told_of_a_delay_is_told_of_the_end
        a_job_that_is_tried_again_on_command_is_told_of_anew
        a_job_that_is_taken_up_is_told_of_anew_once_it_is_tried;
    operators:
        parked_jobs_wait_again_for_workers_that_know_them
        only_so_many_parked_jobs_wait_again_and_not_too_soon
        parked_again_for_the_same_reason_a_job_has_one_line
        a_job_is_tried_again_on_command
        a_cancelled_job_is_not_saved_any_more
        jobs_are_listed_page_by_page
        a_job_is_found_by_its_id_and_by_no_other
        a_job_is_found_by_its_key
        jobs_are_counted_by_lane_and_status
        a_job_whose_lease_is_over_counts_as_due
        what_is_done_is_forgotten_in_time_and_its_key_is_free;
}

const LEASE: Duration = Duration::from_secs(60);
/// A lease that is waited for.
const SHORT: Duration = Duration::from_millis(150);

const NOW: Duration = Duration::ZERO;
/// The greatest difference between the clocks of the store and of the test, as those count in other units.
const NEAR: Duration = Duration::from_millis(1);

async fn pause(time: Duration) {
    tokio::time::sleep(time).await;
}

/// A job of two steps: `"first"` in lane `"a"`, `"second"` in lane `"b"`.
fn job(key: &str) -> NewJob {
    job_with(key, "0")
}

fn job_with(key: &str, state: &str) -> NewJob {
    let workflow: Workflow<String> = Workflow::new("kind")
        .step("first", "a", async |state| Ok::<_, StepError>(state))
        .step("second", "b", async |state| Ok(state));
    workflow.job(key, &state.to_owned()).unwrap()
}

async fn put(store: &impl Store, key: &str) -> JobId {
    put_job(store, &job(key), None).await.0
}

/// Keeps a job that is new. It is claimed if a lease is given.
async fn put_job(
    store: &impl Store,
    job: &NewJob,
    lease: Option<Duration>,
) -> (JobId, Option<Right>) {
    match store.put(job, lease).await.unwrap() {
        Put::New(id, right) if right.is_some() == lease.is_some() => (id, right),
        other => panic!("{other:?}"),
    }
}

async fn claim(store: &impl Store, most: u32, lease: Duration) -> Vec<Claimed> {
    store.claim("a", most, lease).await.unwrap().jobs
}

async fn claim_one(store: &impl Store) -> Claimed {
    let mut claimed = claim(store, 1, LEASE).await;
    claimed.pop().expect("a job that is due")
}

/// Claims jobs until there are some, which must not be before that time has passed since `began`. However busy the
/// machine is, what it needs makes that later and never earlier.
async fn claim_after(store: &impl Store, began: Instant, time: Duration) -> Vec<Claimed> {
    loop {
        let claimed = claim(store, 9, LEASE).await;
        let passed = began.elapsed();
        if !claimed.is_empty() {
            assert!(
                passed + NEAR >= time,
                "claimed after {passed:?}: {claimed:?}"
            );
            return claimed;
        }
        assert!(passed < LEASE / 2, "not claimed for {passed:?}");
        pause(SHORT / 30).await;
    }
}

async fn save(store: &impl Store, right: Right, change: Change) -> Saved {
    store.save(&[Save { right, change }]).await.unwrap()[0]
}

/// Claims the job that is due, and saves this change to it.
async fn end_one(store: &impl Store, change: Change) -> Saved {
    let right = claim_one(store).await.right;
    save(store, right, change).await
}

async fn found(store: &impl Store, id: JobId) -> Job {
    store.job(id).await.unwrap().expect("it is kept")
}

fn done() -> Change {
    Change::done("\"done\"".to_owned())
}

fn dead() -> Change {
    Change::dead("gone".to_owned())
}

fn parked() -> Change {
    Change::parked("no step".to_owned())
}

fn again(due_in: Duration) -> Change {
    Change::again(due_in, "refused".to_owned())
}

fn keys(claimed: &[Claimed]) -> Vec<&str> {
    claimed.iter().map(|claimed| &*claimed.job.key).collect()
}
