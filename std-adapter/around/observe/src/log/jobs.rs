// SPDX-License-Identifier: MIT OR Apache-2.0
//! Logs what an operator must know of durable steps: few events of each kind, however many jobs there are.

use std::num::NonZeroU64;
use std::sync::atomic::Ordering;

use atomic_breaker_server::{Clock, redact::printable};
use atomic_breaker_steps::{Asked, Job, JobObserver, Status, Stuck};

use super::Log;
use super::sampler::Sampler;
use super::samplers::JobSamplers;
use crate::lock;

/// The number of events of one kind that are logged per second.
const MOST: u64 = 10;

/// The interval at which a failing store is logged, in milliseconds.
const STORE_EVERY_MS: u32 = 60_000;

impl<C: Clock> Log<C> {
    fn of_jobs(&self) -> &JobSamplers {
        self.jobs.get_or_init(JobSamplers::default)
    }

    fn warn(&self, sampler: &Sampler, job: &Job, error: Option<&str>, message: &str) {
        if let Some(left_out) = sampler.take(self.clock.now_ms(), 1_000, MOST) {
            tracing::event!(
                target: "atomic_breaker::steps",
                tracing::Level::WARN,
                circuit_breaker.name = &*self.name,
                // None for a call that is kept only if it does not succeed.
                circuit_breaker.job = Some(job.id.get()).filter(|id| *id != 0),
                circuit_breaker.kind = printable(&job.kind),
                circuit_breaker.key = printable(&job.key),
                circuit_breaker.step = printable(&job.step),
                circuit_breaker.lane = printable(&job.lane),
                circuit_breaker.events_left_out = NonZeroU64::new(left_out),
                error = error.map(printable),
                "{message}"
            );
        }
    }
}

impl<C: Clock + Send + Sync> JobObserver for Log<C> {
    fn ended(&self, job: &Job, status: Status, error: &str) {
        if matches!(status, Status::Dead | Status::Parked) {
            let message = format!("a job is {}", status.name());
            self.warn(&self.of_jobs().ended, job, Some(error), &message);
        }
    }

    fn lost(&self, job: &Job) {
        let message = "the claim on a job was lost before the result of its step was saved";
        self.warn(&self.of_jobs().lost, job, None, message);
    }

    fn unkept(&self, job: &Job, error: &str) {
        let message = "a call was neither done nor kept as a job, and its caller had gone";
        self.warn(&self.of_jobs().unkept, job, Some(error), message);
    }

    /// Once for each lane.
    fn probe_blocked_by_itself(&self, job: &Job) {
        if lock(&self.of_jobs().probe_themselves).insert(job.lane.clone()) {
            let message = "a call within the step was rejected while the step was the probe of its lane: if both have \
                           the same breaker, failures count twice; use `Lane::guarded_within`";
            self.warn(&Sampler::new(), job, None, message);
        }
    }

    fn told(&self, stuck: &Stuck, error: Option<&str>) {
        if error.is_some() {
            let message = format!(
                "the notification that a job is {} failed",
                stuck.status.name()
            );
            self.warn(&self.of_jobs().told, &stuck.job, error, &message);
        }
    }

    fn store_failed(&self, asked: Asked, error: &str) {
        let store = &self.of_jobs().store;
        let Some(left_out) = store.take(self.clock.now_ms(), STORE_EVERY_MS, 1) else {
            return;
        };
        self.of_jobs().is_store_down.store(true, Ordering::Relaxed);
        tracing::event!(
            target: "atomic_breaker::steps",
            tracing::Level::WARN,
            circuit_breaker.name = &*self.name,
            circuit_breaker.operation = asked.name(),
            circuit_breaker.events_left_out = NonZeroU64::new(left_out),
            error = printable(error),
            "the store of jobs fails"
        );
    }

    fn store_answered(&self) {
        let is_down = &self.of_jobs().is_store_down;
        if is_down.load(Ordering::Relaxed) && is_down.swap(false, Ordering::Relaxed) {
            tracing::event!(
                target: "atomic_breaker::steps",
                tracing::Level::INFO,
                circuit_breaker.name = &*self.name,
                "the store of jobs responds again"
            );
        }
    }
}
