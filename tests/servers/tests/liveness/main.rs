// SPDX-License-Identifier: MIT OR Apache-2.0
//! Liveness: a resource that fails for good trips its breaker within a stated number of calls, and one that is healthy
//! for good is served again within a stated time, whatever was cancelled, lost, killed or forged before.
//!
//! Each stack is put before a resource that is unhealthy in some way (dead, hanging, slow, partly failing, flapping,
//! asking to be left alone) and then healthy for good, in virtual time, with seeds that differ from run to run. Callers
//! hang up at any await or before a body ends, upload for longer than a call may take, only look, and lose, drop, delay or
//! repeat their reports; repairs take nearly a whole try; callbacks panic; operators command and replace
//! rules; clocks step back and wrap.
//!
//! | file | what |
//! |---|---|
//! | `dice` | the seeds of a run; the clock |
//! | `host` | the resource |
//! | `faulty_store` | a store of jobs that fails |
//! | `stack` | what all stacks have in common |
//! | `rules` | rules, and the bound of one breaker |
//! | `explore` | scenarios from seeds |
//! | `scenario` | what happens to a stack, and whether it serves again in time |
//! | `watch` | whether it has tripped in time |
//! | `stacks` | the stacks, each with its bound |
//!
//! `ATOMIC_BREAKER_LIVENESS=100` explores a hundred times as many scenarios; one that fails says how to repeat it.
#![cfg(all(
    any(target_os = "linux", target_os = "android"),
    target_has_atomic = "64"
))]

mod dice;
mod explore;
mod host;
mod rules;
mod scenario;
mod stack;
mod stacks;
mod watch;
