// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jobs of several steps that make progress through outages and restarts until they are done, kept in a database.
//!
//! ```
//! use atomic_breaker_steps::{Breaker, Config, Lane, MemoryStore, Ran, Steps, Workflow, breaker};
//!
//! static MAIL: Breaker = breaker(Config::new());
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let welcome = Workflow::new("welcome").step("mail", "mail", async |to: String| {
//!     # let send_mail = async |_: &str| Ok::<_, std::io::Error>(());
//!     send_mail(&to).await?;
//!     Ok(to)
//! });
//! // In production a database: SQLite or PostgreSQL.
//! let steps = Steps::builder(MemoryStore::new())
//!     .lane(Lane::new("mail").guarded(&MAIL))
//!     .workflow(&welcome)
//!     .build()?;
//! let worker = steps.work();
//! if let Ran::Later { id, .. } = steps.run(&welcome, "user-7", &"ann@example.com".to_owned()).await? {
//!     println!("mail is delayed: job {id}");
//! }
//! worker.stop().await;
//! # Ok(()) }
//! ```
//!
//! # What it has
//!
//! | you want to | use |
//! |---|---|
//! | say what is done, step by step | [`Workflow`], [`StepContext`]; [`StepError`] for what went wrong |
//! | say when a step that failed is tried again | [`Schedule`] |
//! | guard the resource of a step, and limit how many run at once | [`Lane`] |
//! | run a job now, or keep it for later | [`Steps::run`], which returns [`Ran`]; [`Steps::enqueue`] |
//! | run the jobs that are due | [`Steps::work`], which returns a [`Worker`] |
//! | follow a job | [`JobProgress`] |
//! | tell a person, log or count | [`Notifier`], [`JobObserver`] |
//! | keep HTTP requests that were rejected or failed | `requests::KeepLayer`, feature `http` |
//! | keep jobs in a database of your own | [`Store`], with [`JobRow`] for the rules, [`MemoryStore`] as the reference, and the tests of the feature `contract` |
//!
//! ```text
//!  run, enqueue ──► Store ◄── claim ── lane ◄── its breaker admits
//!                     ▲                 │
//!                     └─ save: next, done, again, back ── step
//! ```
//!
//! The parts of `atomic-breaker-server` that a [`Lane`] needs are re-exported here, so simple programs depend on this
//! package alone.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `http` | `requests::KeepLayer`; `step_result`: what a response means for a step |
//! | `reqwest` | the body of a kept request as one of reqwest |
//! | `contract` | the test that every store must pass, for authors of stores |
//!
//! # Where to read on
//!
//! The page [docs/steps.md] says what is guaranteed, and shows jobs and lanes; [docs/kept-requests.md] shows kept requests.
#![doc = ""]
#![doc = concat!("[docs/steps.md]: ", env!("CARGO_PKG_REPOSITORY"), "/blob/main/std-adapter/around/docs/steps.md")]
#![doc = concat!("[docs/kept-requests.md]: ", env!("CARGO_PKG_REPOSITORY"), "/blob/main/std-adapter/around/docs/kept-requests.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![doc(test(attr(deny(warnings), allow(dead_code))))]
#![forbid(unsafe_code)]

// The modules, in the order in which to read them:
// - `text`, `named`, `caught`: texts that are kept, without secrets; enums whose values have names; foreign code that panics
// - `error`: `StepError`, and other errors
// - `job`, `change`: `Job`, what is kept; `Change`, what comes of running one
// - `row`, `rules`: `JobRow`, a job as a store may keep it, and its times; what each call does to it
// - `store`, `memory`: `Store`, what a database must be able to do; `MemoryStore`, the reference, for tests
// - `notifier`, `job_observer`: `Notifier` tells a person; `JobObserver` is notified of what happens to jobs, to log or count it
// - `schedule`, `state`, `workflow`: `Schedule`, when a step that failed is tried again; states that are read whole;
//   `Workflow`, what is done step by step
// - `response`: what an HTTP response means for a step: `step_result`; this and `bound` with the feature `http`
// - `database`, `saver`: the way to the store; the results of jobs are saved together
// - `in_progress`: the work that a worker waits for when it stops
// - `bound`: how many requests are kept, and how many under way may be
// - `lane`, `room`: `Lane`, the resource of a step, and its breaker; how many of its steps run at the same time
// - `ran`, `inner`: the result of running a job; what all parts of some steps share
// - `ending`, `runner`: how a try ends, and what becomes of its job; runs the steps of a job
// - `looks`, `worker`: claims jobs that are due, as many as a lane has room for; `Worker`
// - `steps`, `builder`: `Steps`, keeps jobs, and runs them at once if asked to
// - `progress`, `watched`, `wait`: `JobProgress`, how far a job has come; waits until it has ended
// - `keep`: work that is called first, and kept only if it did not succeed
// - `contract`: what every store does alike, as tests; with the feature `contract`

#[cfg(feature = "http")]
mod bound;
mod builder;
mod caught;
mod change;
#[cfg(feature = "contract")]
pub mod contract;
mod database;
mod ending;
mod error;
mod in_progress;
mod inner;
mod job;
mod job_observer;
mod keep;
mod lane;
mod looks;
mod memory;
mod named;
mod notifier;
mod progress;
mod ran;
#[cfg(feature = "http")]
mod response;
mod room;
mod row;
mod rules;
mod runner;
mod saver;
mod schedule;
mod state;
mod steps;
mod store;
mod text;
mod wait;
mod watched;
mod worker;
mod workflow;

#[doc(no_inline)]
pub use atomic_breaker_server::{Admit, AnyPermit, Breaker, Config, breaker};
pub use builder::StepsBuilder;
pub use change::{Change, CountsAs, Save, Saved};
pub use database::ask_store;
pub use error::{EnqueueError, JobError, StepError, StepsError, StoreError};
pub use job::{Claimed, Failed, HeldUp, Job, JobId, NewJob, Right, Status};
pub use job_observer::{Asked, JobObserver, TryResult};
#[cfg(feature = "http")]
pub use keep::requests;
pub use lane::Lane;
pub use memory::MemoryStore;
pub use notifier::{Notifier, Stuck};
pub use progress::{JobProgress, ProgressError};
pub use ran::Ran;
#[cfg(feature = "http")]
pub use response::step_result;
pub use row::{JobRow, Line, micros, since};
pub use schedule::Schedule;
pub use steps::Steps;
pub use store::{Claim, Counts, Filter, Put, Store};
pub use text::{LARGEST_STATE, LONGEST_ERROR, LONGEST_KEY, LONGEST_NAME, redacted};
pub use worker::Worker;
pub use workflow::{StepContext, Workflow};

/// The page on durable steps, whose code is compiled and run.
#[cfg(all(doctest, feature = "contract", feature = "http"))]
#[doc = include_str!("../../docs/steps.md")]
mod page {}

/// The page on kept requests, whose code is compiled and run.
#[cfg(all(doctest, feature = "http"))]
#[doc = include_str!("../../docs/kept-requests.md")]
mod kept_requests {}

/// The README, whose code is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
