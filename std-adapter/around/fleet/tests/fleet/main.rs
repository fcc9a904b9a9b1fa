// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fleets: how instances learn from one another, and how they act when their engine is gone.
//!
//! | file | what |
//! |---|---|
//! | `contract` | the contract finds an engine that breaks a promise |
//! | `member` | the protocol of one instance, in time that a test moves |
//! | `ledger` | the reference of what an engine does, at the very millisecond |
//! | `in_process` | the contract within the process, and the faults of that engine |
//! | `joined` | processes, their breakers, and an engine that is lost |
//! | `logged` | whether the engine responds, as events |
//! | `settings` | invalid numbers and names |

mod contract;
mod in_process;
mod joined;
mod ledger;
mod logged;
mod member;
mod settings;
