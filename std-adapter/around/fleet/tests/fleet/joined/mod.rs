// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processes that have joined a fleet, in one runtime whose time is paused.

mod engine_lost;
mod faulty;
mod holds;
mod hung;
mod identity;
mod keys;
mod late;
mod looking;
mod mixed;
mod nested;
mod older;
mod operators;
mod outage;
mod parts;
mod places;
mod sick;
mod support;
mod timed;
mod waiting;
