// SPDX-License-Identifier: MIT OR Apache-2.0
//! The protocol of one instance, in time that a test moves.

mod alone;
mod answers;
mod attacked;
mod probing;
mod support;
mod voting;
