// SPDX-License-Identifier: MIT OR Apache-2.0
//! The protocol of one instance, in time that a test moves.

mod alone;
mod answers;
mod attacked;
mod bidding;
mod over;
mod probing;
mod support;
mod transitions;
mod unasked;
mod voting;
