//! Fleets: what instances learn from one another, and what they do when their engine is gone.
//!
//! | file | what |
//! |---|---|
//! | `member` | the protocol of one instance, in time that a test moves |
//! | `contract` | what every engine does alike; the tests of engines elsewhere use it, too |
//! | `in_process` | the contract within the process, and the faults of that engine |
//! | `settings` | numbers and names that make no sense |
#![cfg(feature = "fleet")]

mod contract;
mod in_process;
mod member;
mod settings;
