// SPDX-License-Identifier: MIT OR Apache-2.0
//! Breakers that processes share: files, forks, slabs, and processes that are killed.
//!
//! Each test provides its other processes itself: it starts this program again, with the part to play in the
//! environment.
#![cfg(any(target_os = "linux", target_os = "android"))]

mod clocks;
mod creation;
mod errors;
mod forks;
mod format;
mod hostile;
mod natural;
mod replaced;
mod room;
mod rules;
mod slab;
mod storm;
mod storm_log;
mod support;
