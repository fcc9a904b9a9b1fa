//! Jobs that go forward through outages and restarts.
//!
//! | file | what |
//! |---|---|
//! | `contract` | what every store does alike; the tests of databases elsewhere use it, too |
//! | `forward` | steps that succeed, fail, are rejected, hang, panic |
//! | `schedule` | when a step that failed is tried again, and when a person is told |
//! | `lanes` | lanes and their breakers |
//! | `keep_calls`, `keep_dropped` | what is called first and kept if it did not succeed; callers that go in the middle |
//! | `workers` | workers that stop, die, or are given up |
//! | `settings` | what makes no sense, and what it says |
#![cfg(feature = "steps")]

mod contract;
mod failing_store;
mod forward;
mod keep_calls;
mod keep_dropped;
mod lanes;
mod schedule;
mod settings;
mod support;
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
