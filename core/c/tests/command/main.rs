// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command `atomic-breaker-c`, and the files that it makes.

mod command;
mod generate;
mod many;
mod refused;
mod settings;
