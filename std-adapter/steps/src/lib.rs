//! Jobs of several steps that make progress through outages and restarts until they are done, kept in a database.
//!
//! ```text
//!  run, enqueue ──► Store ◄── claim ── lane ◄── its breaker admits
//!                     ▲                 │
//!                     └─ save: next, done, again, back ── step
//! ```
//!
//! | file | what |
//! |---|---|
//! | `workflow`, `error` | [`Workflow`]: what is done step by step; [`StepError`], and other errors |
//! | `response` | what an HTTP response means for a step: `step_result`; this and `bound` with the feature `http` |
//! | `lane` | [`Lane`]: the resource of a step, and its breaker |
//! | `schedule` | [`Schedule`]: when a step that failed is tried again |
//! | `engine`, `builder` | [`Steps`]: keeps jobs, and runs them at once if asked to |
//! | `worker`, `looks`, `room` | [`Worker`]: claims jobs that are due, as many as a lane has room for |
//! | `under_way` | the work that a worker waits for when it stops |
//! | `runner`, `ending`, `saver` | runs the steps of a job; what becomes of those that fail; saves the results |
//! | `notifier` | [`Notifier`]: tells a person |
//! | `keep` | work that is called first, and kept only if it did not succeed |
//! | `bound` | how many requests are kept, and how many under way may be |
//! | `job_observer` | [`JobObserver`]: is notified of what happens to jobs, to log or count it |
//! | `job`, `store`, `counts` | [`Job`] and [`Store`]: what is kept, and what a database must be able to do |
//! | `named` | enums whose values have names, in databases and metrics |
//! | `caught` | a store, notifier or breaker that panics counts as failed |
//! | `row`, `micros` | [`Row`]: a job as a store may keep it, and what each call does to it; its times |
//! | `contract` | what every store does alike, as tests; with the feature `contract` |
//! | `memory` | [`MemoryStore`]: the reference, for tests |
//!
//! The page [docs/steps.md] says what is guaranteed, and shows jobs and lanes; [docs/kept-requests.md] shows kept requests.
//!
//! Everything in `atomic-breaker-server` is re-exported here, so this package is the only one to depend on.
#![doc = ""]
#![doc = concat!("[docs/steps.md]: ", env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/steps.md")]
#![doc = concat!("[docs/kept-requests.md]: ", env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/kept-requests.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![doc(test(attr(deny(warnings), allow(dead_code))))]
#![forbid(unsafe_code)]

#[cfg(feature = "http")]
mod bound;
mod builder;
mod caught;
#[cfg(feature = "contract")]
pub mod contract;
mod counts;
mod ending;
mod engine;
mod error;
mod job;
mod job_observer;
mod keep;
mod lane;
mod looks;
mod memory;
mod micros;
mod named;
mod notifier;
#[cfg(feature = "http")]
mod response;
mod room;
mod row;
mod runner;
mod saver;
mod schedule;
mod store;
mod under_way;
mod worker;
mod workflow;

#[doc(no_inline)]
pub use atomic_breaker_server::*;
pub use builder::StepsBuilder;
pub use caught::answer;
pub use counts::Counts;
pub use engine::{Ran, Steps};
pub use error::{EnqueueError, StepError, StepsError};
pub use job::{
    Claimed, Failed, HeldUp, Job, JobError, JobId, LARGEST_STATE, LONGEST_ERROR, LONGEST_KEY,
    LONGEST_NAME, NewJob, Right, Status, kept,
};
pub use job_observer::{Asked, JobObserver, Tried};
#[cfg(feature = "http")]
pub use keep::requests;
pub use lane::Lane;
pub use memory::MemoryStore;
pub use micros::{micros, since};
pub use notifier::{Notifier, Stuck};
#[cfg(feature = "http")]
pub use response::step_result;
pub use row::{Line, Row};
pub use schedule::Schedule;
pub use store::{Attempt, Change, Claim, Filter, Put, Save, Saved, Store, StoreError};
pub use worker::Worker;
pub use workflow::{StepContext, Workflow};

/// The page on durable steps, whose code is compiled and run.
#[cfg(all(doctest, feature = "contract", feature = "http"))]
#[doc = include_str!("../../../docs/steps.md")]
mod page {}

/// The page on kept requests, whose code is compiled and run.
#[cfg(all(doctest, feature = "http"))]
#[doc = include_str!("../../../docs/kept-requests.md")]
mod kept_requests {}
