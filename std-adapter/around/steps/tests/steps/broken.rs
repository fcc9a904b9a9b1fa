// SPDX-License-Identifier: MIT OR Apache-2.0
//! The contract finds out: for each promise there is a store here that breaks it.

use std::collections::{HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use atomic_breaker_steps::{
    Claim, Counts, CountsAs, Failed, Filter, Job, JobId, MemoryStore, NewJob, Put, Right, Save,
    Saved, Status, Store, StoreError, contract,
};
use futures_util::FutureExt;

const NOW: Duration = Duration::ZERO;

/// The names of all promises.
fn promises() -> Vec<&'static str> {
    let (_, list) = include_str!("../../src/contract/mod.rs")
        .split_once("\npromises! {\n")
        .unwrap();
    let (list, _) = list.split_once("\n}\n").unwrap();
    let lines = list.lines().filter(|line| !line.ends_with(':'));
    lines
        .map(|line| line.trim().trim_end_matches(';'))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_store_that_breaks_a_promise_does_not_pass() {
    let promises = promises();
    assert!(promises.len() > 35, "{promises:?}");
    for promise in promises {
        let check = contract::check(async || Broken::new(promise));
        let panic = AssertUnwindSafe(check).catch_unwind().await;
        let panic = panic.expect_err(promise);
        let says = panic.downcast_ref::<String>().unwrap();
        assert!(says.contains(promise), "{promise}: {says}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_breaks_no_promise_passes() {
    contract::check(async || Broken::new("none")).await;
}

/// Does what the store in memory does, and breaks the promise of this name.
struct Broken {
    store: MemoryStore,
    promise: &'static str,
    /// The last right to each job.
    rights: Arc<Mutex<HashMap<JobId, Right>>>,
    parked: Mutex<u32>,
    told: Mutex<HashSet<JobId>>,
}

impl Broken {
    fn new(promise: &'static str) -> Self {
        Self {
            store: MemoryStore::new(),
            promise,
            rights: Arc::default(),
            parked: Mutex::default(),
            told: Mutex::default(),
        }
    }
}

impl Store for Broken {
    async fn put(&self, job: &NewJob, mut lease: Option<Duration>) -> Result<Put, StoreError> {
        let mut job = job.clone();
        match self.promise {
            "a_job_is_kept_as_it_was_given" => job.step.push('2'),
            "of_a_kind_and_key_there_is_one_job" => job.key = job.key.to_lowercase(),
            "a_job_that_is_put_and_claimed_is_claimed_by_no_other" => lease = lease.and(Some(NOW)),
            "keys_and_states_of_any_text_come_back" => job.key = job.key.trim().to_owned(),
            "a_job_is_not_claimed_before_it_is_due" => job.delay = NOW,
            "a_delay_that_no_clock_counts_is_an_error" => {
                job.delay = job.delay.min(Duration::from_secs(86_400));
            }
            _ => {}
        }
        self.store.put(&job, lease).await
    }

    async fn next_due(&self, lane: &str) -> Result<Option<Duration>, StoreError> {
        let next = self.store.next_due(lane).await?;
        let lies = self.promise == "when_a_job_is_due_is_found_out_without_a_claim";
        Ok(next.filter(|next| !lies || !next.is_zero()))
    }

    async fn claim(&self, lane: &str, most: u32, lease: Duration) -> Result<Claim, StoreError> {
        let mut claim = match self.promise {
            "only_jobs_of_the_lane_are_claimed" => {
                let lane = lane.to_lowercase();
                self.store.claim(&lane, most, lease).await?
            }
            "no_job_is_claimed_twice" => self.store.claim(lane, most, NOW).await?,
            "jobs_lost_together_are_not_blamed_and_come_alone" => {
                let mut claim = Claim::default();
                for _ in 0..most {
                    let one = self.store.claim(lane, 1, lease).await?;
                    claim.jobs.extend(one.jobs);
                    claim.next_due = one.next_due;
                }
                claim
            }
            _ => self.store.claim(lane, most, lease).await?,
        };
        for claimed in &mut claim.jobs {
            let right = claimed.right;
            self.rights.lock().unwrap().insert(right.id, right);
            match self.promise {
                "the_age_of_a_job_counts_from_when_it_is_first_due" => claimed.job.age = NOW,
                "a_job_whose_lease_is_over_is_claimed_again_and_was_lost" => {
                    claimed.is_lost = false;
                }
                "a_job_that_runs_is_due_when_its_lease_is_over" => claimed.job.due_in_ms = 0,
                _ => {}
            }
        }
        match self.promise {
            "jobs_are_claimed_in_the_order_in_which_they_are_due" => claim.jobs.reverse(),
            "the_next_due_time_of_the_lane_is_told" => claim.next_due = None,
            _ => {}
        }
        Ok(claim)
    }

    async fn renew(&self, right: Right, lease: Duration) -> Result<bool, StoreError> {
        match self.promise {
            "a_renewed_lease_holds" | "a_lease_that_no_clock_counts_holds" => {
                self.store.renew(right, NOW).await
            }
            "a_right_that_is_gone_is_not_renewed" => Ok(true),
            _ => self.store.renew(right, lease).await,
        }
    }

    async fn save(&self, saves: &[Save]) -> Result<Vec<Saved>, StoreError> {
        let mut saves = saves.to_vec();
        for Save { right, change } in &mut saves {
            let is_held_up = matches!(change.counts_as, CountsAs::Rejected | CountsAs::Unknown);
            match self.promise {
                "a_job_that_is_held_up_counts_as_due_and_not_as_tried" if is_held_up => {
                    change.counts_as = CountsAs::Nothing;
                }
                "who_gives_a_job_back_says_whether_it_knows_it" if is_held_up => {
                    change.counts_as = CountsAs::Rejected;
                }
                "a_held_up_job_has_a_line_if_a_person_is_to_be_told" if is_held_up => {
                    change.error = None;
                }
                "a_right_that_is_gone_saves_nothing"
                | "a_save_that_comes_twice_or_late_changes_nothing_more" => {
                    let last = self.rights.lock().unwrap().get(&right.id).copied();
                    *right = last.unwrap_or(*right);
                }
                "a_step_that_is_done_is_followed_by_the_next" => change.next = None,
                "a_right_that_is_kept_goes_on" if change.status == Status::Running => {
                    change.status = Status::Waiting;
                }
                "a_failure_counts_and_is_due_again" => {
                    change.due_in = change.due_in.and(Some(NOW));
                }
                "a_job_that_is_given_back_has_lost_nothing"
                    if change.counts_as == CountsAs::Nothing =>
                {
                    change.counts_as = CountsAs::Failed;
                }
                "a_job_ends_with_its_history" if change.due_in.is_none() => change.error = None,
                "an_error_that_cannot_be_stored_loses_nothing"
                    if change.error.iter().any(|error| error.contains('\0')) =>
                {
                    return Err(StoreError::new("a byte that is no text"));
                }
                "a_step_that_is_done_clears_failures_and_suspicion" if change.next.is_some() => {
                    change.counts_as = CountsAs::Failed;
                }
                "parked_again_for_the_same_reason_a_job_has_one_line" => {
                    let mut parked = self.parked.lock().unwrap();
                    *parked += 1;
                    change.error = change.error.take().map(|error| format!("{error} {parked}"));
                }
                _ => {}
            }
        }
        let mut all = self.store.save(&saves).await?;
        for (Save { right, change }, saved) in saves.iter().zip(&all) {
            if saved.is_held && change.status == Status::Running {
                let mut rights = self.rights.lock().unwrap();
                rights.insert(right.id, right.after_step());
            }
        }
        match self.promise {
            "a_person_is_asked_to_be_told_once"
            | "a_job_that_is_taken_up_is_told_of_anew_once_it_is_tried" => {
                for (saved, save) in all.iter_mut().zip(&saves) {
                    saved.tell = save.change.tell;
                }
            }
            "who_was_told_of_a_delay_is_told_of_the_end" => {
                for (saved, save) in all.iter_mut().zip(&saves) {
                    saved.tell &= save.change.due_in.is_some();
                }
            }
            "a_job_that_is_tried_again_on_command_is_told_of_anew" => {
                let mut told = self.told.lock().unwrap();
                for (saved, save) in all.iter_mut().zip(&saves) {
                    saved.tell = saved.tell && told.insert(save.right.id);
                }
            }
            "several_are_saved_at_once_each_for_itself" if all.iter().any(|one| !one.is_held) => {
                all.fill(Saved::default());
            }
            _ => {}
        }
        Ok(all)
    }

    async fn unpark(
        &self,
        kind: &str,
        mut steps: &[&str],
        mut parked_before: Duration,
        most: u32,
    ) -> Result<u64, StoreError> {
        match self.promise {
            "parked_jobs_wait_again_for_workers_that_know_them" => steps = &["first"],
            "only_so_many_parked_jobs_wait_again_and_not_too_soon" => {
                parked_before = NOW;
            }
            _ => {}
        }
        self.store.unpark(kind, steps, parked_before, most).await
    }

    async fn list(&self, filter: &Filter, most: u32) -> Result<Vec<Job>, StoreError> {
        let mut filter = filter.clone();
        match self.promise {
            "jobs_are_listed_page_by_page" => filter.after = None,
            "a_job_is_found_by_its_key" => filter.key = None,
            _ => {}
        }
        self.store.list(&filter, most).await
    }

    async fn job(&self, id: JobId) -> Result<Option<Job>, StoreError> {
        if self.promise == "a_job_is_found_by_its_id_and_by_no_other" {
            return Ok(self.store.list(&Filter::default(), 1).await?.pop());
        }
        self.store.job(id).await
    }

    async fn history(&self, id: JobId) -> Result<Vec<Failed>, StoreError> {
        self.store.history(id).await
    }

    async fn retry_now(&self, id: JobId) -> Result<bool, StoreError> {
        match self.promise {
            "a_job_is_tried_again_on_command" => Ok(true),
            _ => self.store.retry_now(id).await,
        }
    }

    async fn cancel(&self, id: JobId) -> Result<bool, StoreError> {
        match self.promise {
            "a_cancelled_job_is_not_saved_any_more" => Ok(true),
            _ => self.store.cancel(id).await,
        }
    }

    async fn counts(&self) -> Result<Counts, StoreError> {
        let mut counts = self.store.counts().await?;
        if self.promise == "jobs_are_counted_by_lane_and_status" {
            counts.jobs.truncate(1);
        }
        if self.promise == "a_job_whose_lease_is_over_counts_as_due" {
            (counts.due, counts.oldest_due) = (Vec::new(), None);
        }
        Ok(counts)
    }

    async fn forget(&self, ended_before: Duration, most: u32) -> Result<u64, StoreError> {
        match self.promise {
            "what_is_done_is_forgotten_in_time_and_its_key_is_free" => {
                self.store.forget(NOW, most).await
            }
            _ => self.store.forget(ended_before, most).await,
        }
    }
}
