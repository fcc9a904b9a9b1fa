// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jobs that go forward through outages and restarts.
//!
//! | file | what |
//! |---|---|
//! | `forward` | steps that succeed, fail, are rejected, hang, panic |
//! | `dropped` | programs that are cut short |
//! | `faults` | stores that panic or hang |
//! | `held_up` | jobs that a breaker within the step rejects, or that no worker knows |
//! | `parked` | jobs that no worker can run, for a while or for long |
//! | `progress`, `waiting` | how far a job has come; callers that wait until it has ended |
//! | `schedule` | when a failed step is tried again, and when a person is notified |
//! | `told` | when a person is told, and when anew |
//! | `observers` | notifications of observers, and observers that panic |
//! | `lanes` | lanes and their breakers |
//! | `claiming` | when a worker looks for jobs, how many it claims, and when it looks again |
//! | `looking`, `looking_fleet`, `not_run` | workers that look for jobs while others call; what they claim and do not run |
//! | `probes` | steps that are probes of their lane, and what a breaker is told of a step |
//! | `within` | steps whose calls go through the breaker of their lane |
//! | `keep_calls`, `keep_dropped`, `keep_ended` | calls that are kept if they do not succeed; callers that leave in the middle; keys of jobs that have ended |
//! | `keep_requests`, `keep_limits`, `keep_bodies`, `keep_secrets`, `keep_replay` | kept requests: which, how many, how stored, how sent again |
//! | `keep_in_flight` | requests under way that may be kept |
//! | `keep_faults` | requests with stores that fail or are late, and clients that hang |
//! | `keep_gone` | requests whose caller has gone |
//! | `keep_shared` | what replays say to a breaker that others share |
//! | `keep_clients` | a real client and a real server |
//! | `response` | how HTTP responses decide about the steps that requested them |
//! | `room` | calls and claims in one lane |
//! | `rows` | what each call does to a job as a store may keep it |
//! | `workers` | workers that stop, die, or are given up |
//! | `deaths` | processes that die, or are cut off and come back |
//! | `releases` | workers of an older and of a newer release side by side |
//! | `unreadable` | states whose type panics as it is read |
//! | `words` | secrets in the words of errors |
//! | `broken` | stores that break a promise, which the contract finds out |
//! | `settings` | invalid settings and their errors |

mod broken;
mod claiming;
mod deaths;
mod dropped;
mod faults;
mod forward;
mod held_up;
#[cfg(feature = "http")]
mod keep_bodies;
mod keep_calls;
#[cfg(feature = "reqwest")]
mod keep_clients;
mod keep_dropped;
mod keep_ended;
#[cfg(feature = "http")]
mod keep_faults;
#[cfg(feature = "http")]
mod keep_gone;
#[cfg(feature = "http")]
mod keep_in_flight;
#[cfg(feature = "http")]
mod keep_limits;
#[cfg(feature = "http")]
mod keep_replay;
#[cfg(feature = "http")]
mod keep_requests;
#[cfg(feature = "http")]
mod keep_secrets;
#[cfg(feature = "http")]
mod keep_server;
#[cfg(feature = "http")]
mod keep_shared;
mod lanes;
mod looking;
mod looking_fleet;
mod not_run;
mod observers;
mod parked;
mod probes;
mod progress;
mod quota;
mod releases;
#[cfg(feature = "http")]
mod response;
mod room;
mod rows;
mod schedule;
mod settings;
mod support;
mod told;
mod unreadable;
mod waiting;
mod within;
mod words;
mod workers;

use atomic_breaker_steps::{MemoryStore, contract};

#[tokio::test(start_paused = true)]
async fn the_store_in_memory_keeps_what_stores_promise() {
    contract::check(async || MemoryStore::new()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn hundreds_of_claimers_get_each_job_once() {
    let store = MemoryStore::new();
    contract::claimed_once(&[(); 4].map(|()| store.clone())).await;
}
