//! Instances that learn from one another's trips through an engine that they share. No call waits for it, and without
//! it every breaker goes on alone.
//!
//! ```text
//!  breaker ─ transition ─► Seat ─► queue ─► task of Joined ─► Member ─► Ask ──► Fleet (Redis, InProcess)
//!     ▲                                          ▲  │                             │
//!     └──────────── trip, probe, close ─────────────┘◄─ Answer, Reading, Message ─┘
//! ```
//!
//! | file | what |
//! |---|---|
//! | `joined` | [`Joined`], [`Seat`], [`FleetStatus`]: a process in its fleet |
//! | `config`, `name` | [`FleetConfig`]: the settings; [`Name`], [`InstanceId`] |
//! | `member` | [`Member`]: the protocol of one breaker in one instance, pure |
//! | `message` | what instances and the engine tell each other |
//! | `engine` | [`Fleet`]: what an engine must be able to do |
//! | `ledger` | [`Ledger`]: what an engine does with each request |
//! | `in_process` | [`InProcess`]: an engine for tests, with every fault |
//! | `model` | tests: `member` and `ledger` in every state that a few faults can lead to |

mod config;
mod engine;
mod in_process;
mod joined;
mod ledger;
mod member;
mod message;
#[cfg(test)]
mod model;
mod name;

pub use config::{FleetConfig, FleetConfigError};
pub use engine::{EngineError, Fleet, Messages};
pub use in_process::{InProcess, InProcessMessages};
pub use joined::{FleetStatus, JoinError, Joined, Seat, Seats};
pub use ledger::{KEEP_MS, Ledger};
pub use member::{Action, Context, Input, Local, Member};
pub use message::{Answer, Ask, Message, Notice, Period, PeriodId, Reading, Verdict};
pub use name::{InstanceId, Name, NameError};

/// The page on fleets, whose code is compiled and run.
#[cfg(all(doctest, feature = "client"))]
#[doc = include_str!("../../../docs/fleet.md")]
mod page {}
