// SPDX-License-Identifier: MIT OR Apache-2.0
//! A model of the protocol: the code that ships, in every state that a few faults lead to.
//!
//! A world has instances, each with a `Member` and a breaker that trips on one failure, a
//! `Ledger` as their engine, and messages between them. At each tick one event may happen:
//! the resource fails or recovers, messages are lost, duplicated or forged, the engine is gone, empty or back to older
//! data, instances are killed, started again, paused, or sick, and probes hang. The search is breadth first, so whatever it finds comes
//! by the shortest path.
//!
//! The sources of the package are compiled into this program, as it compares every field of a state.
//!
//! In every state, fewer than a quorum of machines have opened no others; a period that an instance was told has ended
//! has not tripped it; and one instance has probed in a period, unless something was lost. And from every state, if
//! nothing more happens, every instance that is well is served within the bound of the scenario, with or without the
//! engine.
//!
//! | file | what |
//! |---|---|
//! | `world` | instances and their engine |
//! | `asking` | how an instance acts, and its requests to the engine |
//! | `mail` | messages between them |
//! | `word` | the breaker of an instance |
//! | `events` | possible events |
//! | `explore` | the search |
//! | `key`, `keys` | the fields that distinguish two states: every one that decides what happens next |
//! | `mutation` | faults of the protocol, which must be found |
//! | `scenarios` | which events, how often; the tests |

#![allow(
    dead_code,
    unreachable_pub,
    reason = "the sources of the package, of which not all is modelled"
)]

mod asking;
#[path = "../../src/config.rs"]
mod config;
#[path = "../../src/error.rs"]
mod error;
mod events;
mod explore;
mod key;
mod keys;
#[path = "../../src/ledger/mod.rs"]
mod ledger;
mod mail;
#[path = "../../src/member/mod.rs"]
mod member;
#[path = "../../src/message.rs"]
mod message;
mod mutation;
#[path = "../../src/name.rs"]
mod name;
mod scenarios;
mod word;
mod world;

use std::time::Duration;

use atomic_breaker::Config;

use config::FleetConfig;
use ledger::Ledger;
use member::{Action, Context, Input, Local, Member};
use message::{Answer, Ask, Finding, Message, Notice, Period, PeriodId, Reading};
use name::{InstanceId, Name};

const TICK_MS: u64 = 250;
/// The open time, and the longest one.
const OPEN_MS: u32 = 2_000;
const LONGEST_MS: u32 = 4_000;
/// The lease of a probe.
const LEASE_MS: u64 = 1_000;
const POLL_TICKS: u64 = 8;
const WINDOW_MS: u64 = 1_500;

/// The grace is 1 s, the right to probe 500 ms: two ticks.
fn fleet(quorum: u32) -> FleetConfig {
    FleetConfig::new(quorum)
        .window(Duration::from_millis(WINDOW_MS))
        .grace_percent(25)
        .time_limit(Duration::from_millis(TICK_MS))
        .poll(Duration::from_millis(POLL_TICKS * TICK_MS))
}

fn rules() -> Config {
    Config::new()
        .consecutive_failures(1)
        .open_for(Duration::from_millis(OPEN_MS.into()))
        .probe_lease(Duration::from_millis(LEASE_MS))
        .exponential(2, Duration::from_millis(LONGEST_MS.into()))
        .max_retry_after(Duration::from_millis(LONGEST_MS.into()))
}
