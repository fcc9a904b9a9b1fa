// SPDX-License-Identifier: MIT OR Apache-2.0
//! The stacks, each with its bound.

mod by_key;
mod client;
mod core;
mod device;
mod fleet;
mod in_flight;
mod layers;
mod pairs;
mod registry;
mod shared;
mod slab;
mod steps;
mod waiting;
mod waiting_keyed;
