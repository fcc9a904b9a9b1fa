//! What is counted and logged about jobs, with the features `metrics` and `tracing`; nothing without them.

#[cfg(feature = "tracing")]
mod log;

use std::fmt;
#[cfg(feature = "metrics")]
use std::sync::Arc;

#[cfg(feature = "tracing")]
use super::kept;
use super::{Job, Status, Stuck};
#[cfg(feature = "metrics")]
use crate::observe::JobMeter;

/// How a try of a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tried {
    Success,
    Failure,
    /// A breaker within the step rejected it.
    Rejected,
    /// The worker that ran it was lost.
    Lapsed,
    /// The worker had to stop.
    GivenBack,
}

/// What a store was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Put,
    Claim,
    Renew,
    Save,
    Unpark,
    Forget,
    #[cfg(feature = "metrics")]
    Counts,
}

/// Counts and logs.
pub(super) struct Watch {
    #[cfg(feature = "metrics")]
    pub(super) meter: Option<Arc<JobMeter>>,
    #[cfg(feature = "tracing")]
    log: log::Log,
}

#[cfg_attr(
    not(all(feature = "metrics", feature = "tracing")),
    expect(clippy::unused_self, reason = "nobody counts, or nobody logs")
)]
impl Watch {
    pub(super) fn new(#[cfg(feature = "metrics")] meter: Option<Arc<JobMeter>>) -> Self {
        Self {
            #[cfg(feature = "metrics")]
            meter,
            #[cfg(feature = "tracing")]
            log: log::Log::default(),
        }
    }

    /// A step of this job was tried.
    pub(super) fn tried(&self, job: &Job, how: Tried) {
        #[cfg(feature = "metrics")]
        if let Some(meter) = &self.meter {
            meter.tried(&job.kind, &job.lane, how);
        }
        let _ = (job, how);
    }

    /// A job has ended; with this error if it was without success.
    pub(super) fn ended(&self, job: &Job, status: Status, error: &str) {
        #[cfg(feature = "metrics")]
        if let Some(meter) = &self.meter {
            meter.ended(&job.kind, status);
        }
        #[cfg(feature = "tracing")]
        self.log.ended(job, status, error);
        let _ = (job, status, error);
    }

    /// The right to a job was gone before the result was saved.
    pub(super) fn lost(&self, job: &Job) {
        #[cfg(feature = "metrics")]
        if let Some(meter) = &self.meter {
            meter.lost(&job.kind, &job.lane);
        }
        #[cfg(feature = "tracing")]
        self.log.lost(job);
        let _ = job;
    }

    /// A call within a step was rejected while the step was the probe of its lane.
    pub(super) fn in_its_own_way(&self, job: &Job) {
        #[cfg(feature = "tracing")]
        self.log.in_its_own_way(job);
        let _ = job;
    }

    /// Work that was to become a job is neither done nor kept, and its caller has gone.
    pub(super) fn unkept(&self, job: &Job, error: &dyn fmt::Display) {
        #[cfg(feature = "tracing")]
        self.log.unkept(job, &kept(&error.to_string()));
        let _ = (job, error);
    }

    /// A person was told of a job, or could not be told.
    pub(super) fn told(&self, stuck: &Stuck, failed: Option<&dyn fmt::Display>) {
        #[cfg(feature = "metrics")]
        if let Some(meter) = &self.meter {
            meter.told(&stuck.job.kind, failed.is_none());
        }
        #[cfg(feature = "tracing")]
        if let Some(error) = failed {
            self.log.told_nobody(stuck, &kept(&error.to_string()));
        }
        let _ = (stuck, failed);
    }

    /// The store failed, or did not answer in time.
    pub(super) fn store_failed(&self, asked: Asked, error: &dyn fmt::Display) {
        #[cfg(feature = "metrics")]
        if let Some(meter) = &self.meter {
            meter.store_failed(asked);
        }
        #[cfg(feature = "tracing")]
        self.log.store_failed(asked, &kept(&error.to_string()));
        let _ = (asked, error);
    }

    pub(super) fn store_answered(&self) {
        #[cfg(feature = "tracing")]
        self.log.store_answered();
    }
}

#[cfg(any(feature = "metrics", feature = "tracing"))]
impl Asked {
    #[cfg(feature = "metrics")]
    pub(crate) const ALL: [Self; 7] = [
        Self::Put,
        Self::Claim,
        Self::Renew,
        Self::Save,
        Self::Unpark,
        Self::Forget,
        Self::Counts,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Put => "put",
            Self::Claim => "claim",
            Self::Renew => "renew",
            Self::Save => "save",
            Self::Unpark => "unpark",
            Self::Forget => "forget",
            #[cfg(feature = "metrics")]
            Self::Counts => "counts",
        }
    }
}

#[cfg(feature = "metrics")]
impl Tried {
    pub(crate) const ALL: [Self; 5] = [
        Self::Success,
        Self::Failure,
        Self::Rejected,
        Self::Lapsed,
        Self::GivenBack,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Rejected => "rejected",
            Self::Lapsed => "lapsed",
            Self::GivenBack => "given_back",
        }
    }
}
