// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instances that learn from one another's trips through an engine that they share: when a few have tripped, all open,
//! and one of them probes for all. No call waits for the engine, and without it every breaker goes on alone.
//!
//! ```
//! use atomic_breaker_fleet::{FleetConfig, InProcess, Joined};
//! use atomic_breaker_std::{Breaker, Config, StdClock};
//! use std::sync::Arc;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // In production a fleet in Redis.
//! let fleet = Joined::new(InProcess::new(), FleetConfig::new(3))?;
//!
//! let seat = fleet.seat("payments")?; // the same name in all instances
//! let payments = Breaker::builder(Config::new(), StdClock).observer(seat.clone()).build();
//! let payments = Arc::new(payments);
//! seat.take(Arc::clone(&payments));
//! # Ok(()) }
//! ```
//!
//! # What it has
//!
//! | you want to | use |
//! |---|---|
//! | let a process join its fleet | [`Joined`], with [`FleetConfig`] |
//! | connect a breaker, or a registry of them | [`Seat`], [`Seats`] |
//! | know how the fleet is, and keep watching it | [`FleetStatus`], [`FleetStage`] |
//! | know which breakers the fleet holds open, and until when | [`FleetHolds`], [`FleetHold`] |
//! | test it, or try it without an engine | [`InProcess`] |
//! | write an engine | [`Fleet`] and [`Messages`], what they carry, such as [`Ask`] and [`Answer`]; the feature `contract` has the test |
//!
//! ```text
//!  breaker ─ transition ─► Seat ─► queue ─► task of Joined ─► Member ─► Ask ──► Fleet (Redis, InProcess)
//!     ▲                                          ▲  │                             │
//!     └──────────── trip, probe, close ─────────────┘◄─ Answer, Reading, Message ─┘
//! ```
//!
//! The feature `contract` adds the test that every engine must pass, and the faults of [`InProcess`], for tests.
//!
//! # Where to read on
//!
//! The page [docs/fleet.md] says what a fleet does, and what it never does.
#![doc = ""]
#![doc = concat!("[docs/fleet.md]: ", env!("CARGO_PKG_REPOSITORY"), "/blob/main/std-adapter/around/docs/fleet.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![doc(test(attr(deny(warnings), allow(dead_code))))]
#![forbid(unsafe_code)]

// The modules, in the order in which to read them:
// - `joined`: `Joined`, `Seat`, `FleetStatus`, a process in its fleet
// - `config`, `name`, `error`: `FleetConfig`, the settings; `Name`, `InstanceId`; `FleetError`
// - `identity`: which instance this is, unless it was named
// - `member`: the protocol of one breaker in one instance, pure
// - `message`: what instances and the engine tell each other
// - `engine`: `Fleet`, what an engine must be able to do
// - `ledger`: what an engine does with each request
// - `in_process`: `InProcess`, an engine for tests
// - `contract`: the test that every engine must pass

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
#[doc = include_str!("../../docs/fleet.md")]
mod page {}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
