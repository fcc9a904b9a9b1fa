// SPDX-License-Identifier: MIT OR Apache-2.0
//! Does a breaker help? Calls in virtual time, through the same client with one breaker or another or none, to a
//! resource in trouble.
//!
//! | module | contents |
//! |---|---|
//! | [`clock`] | the time and the randomness of a run |
//! | [`reply`] | what came of a try, and what each party makes of it |
//! | [`guard`] | the place of a breaker |
//! | [`ours`] | the breakers of this project |
//! | [`world`] | the resource that is called |
//! | [`scenario`] | what can be wrong with it |
//! | [`client`] | the client around the breaker |
//! | [`arrivals`] | when calls arrive |
//! | [`run`](mod@run) | one run: arrivals, tries, pauses |
//! | [`figures`] | what is counted |
//! | [`promises`] | what must hold for ours |
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::missing_panics_doc,
    reason = "shares and times of a simulation"
)]

pub mod arrivals;
pub mod client;
pub mod clock;
pub mod figures;
pub mod guard;
pub mod ours;
pub mod promises;
pub mod reply;
pub mod run;
pub mod scenario;
pub mod world;
