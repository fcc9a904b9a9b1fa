// SPDX-License-Identifier: MIT OR Apache-2.0
//! Linearizability, checked: what concurrent callers of one breaker see is what the reference answers in some order.
//!
//! Callers record each operation on one word with its answer, the events that its observer was notified of, and stamps
//! of its call and its return. A search then looks for an order in which an operation that returned before another was
//! called comes first, and in which the [reference](tests::reference) gives exactly the recorded answers.
//!
//! # What is in scope
//!
//! - **Every operation on the word**: `acquire`, reports of all kinds, drops, renewals, commands, restores, snapshots, the
//!   state. Each takes effect at one moment between its call and its return, on both layouts.
//! - **The time and the rules are what the operation read** between its call and its return: the last reading of the
//!   clock, and the last rules that it looked up, which must have been in force at some moment in between. The word and
//!   the time are not one object: a rejection says how much was left when the clock was read, after the word.
//! - **Events**: in the order found, each transition is notified once, by the caller whose operation made it, with the
//!   epoch and the time of the reference; so is each rejection, outcome and drop.
//! - Stamps come from one counter, so "before" means that the caller of the later operation could know of the earlier one.
//!
//! Not in scope, as nothing promises an order: memory beside the word ([`Tally`](atomic_breaker::Tally), the last
//! failure), when observers of different callers are notified, permits that live through a whole turn of the epochs.
//!
//! | module | contents |
//! |---|---|
//! | `operation`, `history` | the words of a history; a recorded round, and the verdict on it |
//! | `rules`, `plan` | the rules of a round, and the steps of its callers, drawn at random |
//! | `model`, `search` | the reference as an object that accepts answers; the search for an order |
//! | `world`, `caller` | what callers share beside the word; a caller that records |
//! | `threads`, `schedules`, `processes` | real threads; random schedules, by shuttle; processes over a mapped file |
//! | `corrupt`, `checker` | right histories made wrong; the checker checked |
//! | `figures`, `time` | how much really overlapped; how long all of it takes |
//!
//! Two seconds, and two more for the checker. `ATOMIC_BREAKER_LINEARIZABLE=600` makes it ten minutes, and `--nocapture`
//! prints the figures. Each run draws other rounds, from a seed that it prints; `BREAKER_SEED=<that>` draws them again,
//! though threads and processes meet in another way.

#![cfg(target_pointer_width = "64")]

mod caller;
mod checker;
mod corrupt;
mod figures;
mod history;
mod model;
mod operation;
mod plan;
#[cfg(target_os = "linux")]
mod processes;
mod rules;
mod schedules;
mod search;
mod threads;
mod time;
mod world;
