//! Jobs that go forward through outages and restarts.
//!
//! | file | what |
//! |---|---|
//! | `contract` | what every store does alike; the tests of databases elsewhere use it, too |
//! | `forward` | steps that succeed, fail, are rejected, hang, panic |
//! | `dropped` | programs that are cut short |
//! | `schedule` | when a step that failed is tried again, and when a person is told |
//! | `lanes` | lanes and their breakers |
//! | `within` | steps whose calls go through the breaker of their lane |
//! | `workers` | workers that stop, die, or are given up |
//! | `deaths`, `process` | processes that die, or are cut off and come back |
//! | `settings` | what makes no sense, and what it says |
#![cfg(feature = "steps")]

mod contract;
mod deaths;
mod dropped;
mod forward;
mod lanes;
mod process;
mod schedule;
mod settings;
mod slow_store;
mod support;
mod within;
mod workers;

use atomic_breaker_std::steps::MemoryStore;

/// In time that is paused.
fn run(promise: impl AsyncFnOnce(MemoryStore)) {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(async { promise(MemoryStore::new()).await });
}

contract!(run);
