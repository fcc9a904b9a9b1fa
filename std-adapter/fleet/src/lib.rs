// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instances that learn from one another's trips through an engine that they share: when a few have tripped, all open,
//! and one of them probes for all. No call waits for the engine, and without it every breaker goes on alone.
//!
//! ```text
//!  breaker ─ transition ─► Seat ─► queue ─► task of Joined ─► Member ─► Ask ──► Fleet (Redis, InProcess)
//!     ▲                                          ▲  │                             │
//!     └──────────── trip, probe, close ─────────────┘◄─ Answer, Reading, Message ─┘
//! ```
//!
//! Start with [`Joined`]. The page [docs/fleet.md] says what a fleet does, and what it never does.
//!
//! | file | what |
//! |---|---|
//! | `joined` | [`Joined`], [`Seat`], [`FleetStatus`]: a process in its fleet |
//! | `config`, `name`, `error` | [`FleetConfig`]: the settings; [`Name`], [`InstanceId`]; [`FleetError`] |
//! | `identity` | which instance this is, unless it was named |
//! | `member` | the protocol of one breaker in one instance, pure |
//! | `message` | what instances and the engine tell each other |
//! | `engine` | [`Fleet`]: what an engine must be able to do |
//! | `ledger` | what an engine does with each request |
//! | `in_process` | [`InProcess`]: an engine for tests |
//! | `contract` | the test that every engine must pass |
#![doc = ""]
#![doc = concat!("[docs/fleet.md]: ", env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/fleet.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![doc(test(attr(deny(warnings), allow(dead_code))))]
#![forbid(unsafe_code)]

mod config;
#[cfg(feature = "contract")]
pub mod contract;
mod engine;
mod error;
mod identity;
mod in_process;
mod joined;
#[cfg_attr(not(feature = "contract"), allow(unreachable_pub))]
mod ledger;
#[cfg_attr(not(feature = "contract"), allow(unreachable_pub))]
mod member;
mod message;
mod name;

pub use config::FleetConfig;
pub use engine::{Fleet, Messages};
pub use error::FleetError;
pub use in_process::{InProcess, InProcessMessages};
pub use joined::{FleetHold, FleetHolds, FleetStage, FleetStatus, Joined, Seat, Seats};
pub use message::{Answer, Ask, Finding, Message, Notice, Period, PeriodId, Reading};
pub use name::{InstanceId, Name};

/// The page on fleets, whose code is compiled and run.
#[cfg(all(doctest, feature = "contract"))]
#[doc = include_str!("../../../docs/fleet.md")]
mod page {}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
