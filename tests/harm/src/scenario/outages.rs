// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nothing works.

use super::{Down, Scenario, elapsed};
use crate::clock::{MS, SECOND};
use crate::reply::Reply;
use crate::world::{Fate, World};

fn down(seconds: u64, fate: Fate) -> World {
    World::new(move |ask| match elapsed(ask.since, seconds * SECOND) {
        Some(_) => fate,
        None => ask.healthy(),
    })
}

fn refuses(seconds: u64) -> World {
    down(seconds, Fate::refused())
}

fn hangs(seconds: u64) -> World {
    down(seconds, Fate::hung())
}

fn sheds(seconds: u64) -> World {
    down(seconds, Fate::of(Reply::Later(503, 10), 2 * MS))
}

pub(super) const SCENARIOS: [Scenario; 11] = [
    Scenario::total("down for 3 s: refuses", Down::for_seconds(3), |_| {
        refuses(3)
    }),
    Scenario::total("down for 10 s: refuses", Down::for_seconds(10), |_| {
        refuses(10)
    }),
    Scenario::total("down for 60 s: refuses", Down::for_seconds(60), |_| {
        refuses(60)
    }),
    Scenario::total("down for 10 min: refuses", Down::for_seconds(600), |_| {
        refuses(600)
    }),
    Scenario::total(
        "down for 10 s: hangs",
        Down::for_seconds(10).hanging(),
        |_| hangs(10),
    ),
    Scenario::total(
        "down for 60 s: hangs",
        Down::for_seconds(60).hanging(),
        |_| hangs(60),
    ),
    Scenario::total(
        "down for 10 min: hangs",
        Down::for_seconds(600).hanging(),
        |_| hangs(600),
    )
    .at(&[1, 10, 100]),
    Scenario::total(
        "down for 60 s: slow (10 s)",
        Down::for_seconds(60).hanging(),
        |_| down(60, Fate::of(Reply::Served, 10 * SECOND)),
    ),
    Scenario::total(
        "all shed for 10 s, Retry-After 10",
        Down::for_seconds(10).asking(10),
        |_| sheds(10),
    ),
    Scenario::total(
        "all shed for 60 s, Retry-After 10",
        Down::for_seconds(60).asking(10),
        |_| sheds(60),
    ),
    Scenario::total(
        "down for 3 h, a call a minute",
        Down::for_seconds(10_800),
        |_| refuses(10_800),
    )
    .at(&[0]),
];
