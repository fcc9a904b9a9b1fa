// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls that fail by chance, one by one or in bursts.

use super::{Down, Scenario};
use crate::clock::{MS, SECOND};
use crate::reply::Reply;
use crate::world::{Ask, Fate, World};

fn error(ask: &Ask) -> Fate {
    Fate::of(Reply::Status(500), ask.within(5 * MS, 20 * MS, 5))
}

fn failing(percent: u64) -> World {
    World::new(move |ask| {
        if ask.since >= 0 && ask.percent(percent, 4) {
            error(ask)
        } else {
            ask.healthy()
        }
    })
}

fn hanging(percent: u64) -> World {
    World::new(move |ask| {
        if ask.since >= 0 && ask.percent(percent, 4) {
            Fate::hung()
        } else {
            ask.healthy()
        }
    })
}

/// A second of each five.
fn in_bursts(percent: u64) -> World {
    World::new(move |ask| {
        let is_bad = ask.since >= 0 && (ask.since.cast_unsigned() / SECOND).is_multiple_of(5);
        if is_bad && ask.percent(percent, 4) {
            error(ask)
        } else {
            ask.healthy()
        }
    })
}

/// A tenth of a second of each second, and nothing gets through.
fn stuttering() -> World {
    World::new(|ask| {
        if ask.since >= 0 && ask.since.cast_unsigned() % SECOND < 100 * MS {
            Fate::refused()
        } else {
            ask.healthy()
        }
    })
}

macro_rules! by_chance {
    ($($percent:literal),*) => {
        [$(Scenario::partial(concat!("fails by chance: ", $percent, " %"), |_| failing($percent))),*]
    };
}

const BY_CHANCE: [Scenario; 9] = by_chance!(1, 5, 10, 20, 25, 33, 50, 60, 80);

pub(super) const SCENARIOS: [Scenario; 17] = [
    BY_CHANCE[0],
    BY_CHANCE[1],
    BY_CHANCE[2],
    BY_CHANCE[3],
    BY_CHANCE[4],
    BY_CHANCE[5],
    BY_CHANCE[6],
    BY_CHANCE[7],
    BY_CHANCE[8],
    Scenario::total("fails by chance: 100 %", Down::for_seconds(120), |_| {
        World::new(|ask| {
            if super::elapsed(ask.since, 120 * SECOND).is_some() {
                error(ask)
            } else {
                ask.healthy()
            }
        })
    }),
    Scenario::partial("hangs by chance: 5 %", |_| hanging(5)),
    Scenario::partial("hangs by chance: 25 %", |_| hanging(25)),
    Scenario::partial("a second of each five: half fail", |_| in_bursts(50)),
    Scenario::partial("a second of each five: 80 % fail", |_| in_bursts(80)),
    Scenario::partial("100 ms of each second: all refused", |_| stuttering()),
    Scenario::partial("a call a minute, 10 % fail", |_| failing(10)).at(&[0]),
    Scenario::partial("a call a minute, 33 % fail", |_| failing(33)).at(&[0]),
];
