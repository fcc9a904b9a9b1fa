// SPDX-License-Identifier: MIT OR Apache-2.0
//! A whole deployment in virtual time: services that call each other and shared dependencies, workers, a fleet,
//! operators; and a world in which everything fails. One seed is one history of a week, the same each time.
//!
//! ```text
//! callers ─► web 0..2 ─► shop 0..3 ─► payments, stock, mail
//!                           ├─► the engine of their fleet
//!                           └─► the database of jobs
//! ```
//!
//! Each seed runs in a process of its own, on one thread and tokio's paused clock, over a network of our own. The kept
//! simulators were not taken: madsim puts another runtime in place of tokio, for all packages, so that what is tested
//! would be something else than what is shipped; turmoil has sockets, which these stacks do not need, and neither clocks
//! that jump nor the same order of hash maps and of `select!` in each run. A process per seed has both, with `entropy`.
//!
//! | file | what |
//! |---|---|
//! | `entropy`, `clock`, `net` | randomness of the system, clocks of instances, requests and what becomes of them |
//! | `host`, `engine`, `store` | dependencies, the fleet's engine and the database, as instances reach them |
//! | `plan` | settings and bounds of a deployment |
//! | `client`, `instance`, `waiting`, `work` | the stacks: guarded clients, shops and webs, gates, durable steps |
//! | `faults`, `concerns` | what goes wrong, and whom it concerns |
//! | `tries`, `probing`, `shown`, `trace` | what must hold at every moment; the history |
//! | `world`, `week` | callers, and what a week brings |
//! | `seeds` | one process for each seed |
//!
//! | property | where |
//! |---|---|
//! | served in time: a healthy resource is served by every instance within the bound after the last fault that concerns it | `world` |
//! | trips in time; probes in flight; retries within the budget | `tries` |
//! | one prober in a fleet, where nothing disturbs it | `probing` |
//! | those who wait are served in time | `waiting` |
//! | no call hangs | `client`, `week` |
//! | every job ends with success, nothing acknowledged is lost, each step is saved once by one worker, a person is told once | `work`, `store` |
//! | what is shown is what is, counters add up | `shown`, `tries` |
//! | closed in the end, with empty queues, and the fleet is whole | `week` |
//!
//! A process that is stopped neither sends nor receives, while its timers go on. `ATOMIC_BREAKER_DEPLOYMENT=200` runs so
//! many seeds; a property that does not hold is printed with how to repeat it.
#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]

mod client;
mod clock;
mod concerns;
mod engine;
mod entropy;
mod faults;
mod host;
mod instance;
mod net;
mod plan;
mod probing;
mod seeds;
mod shown;
mod store;
mod trace;
mod tries;
mod waiting;
mod week;
mod work;
mod world;
