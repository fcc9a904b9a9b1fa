// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several replicas behind one name, of which some are bad.

use super::{Scenario, elapsed};
use crate::clock::{MS, SECOND, Time};
use crate::reply::Reply;
use crate::world::{Ask, Fate, World};

fn is_on(ask: &Ask, bad: u64, of: u64) -> bool {
    ask.since >= 0 && ask.draw(6) % of < bad
}

fn replicas(bad: u64, of: u64, fate: impl Fn(&Ask) -> Fate + Send + 'static) -> World {
    World::new(move |ask| {
        if is_on(ask, bad, of) {
            fate(ask)
        } else {
            ask.healthy()
        }
    })
}

fn refuses(bad: u64, of: u64) -> World {
    replicas(bad, of, |_| Fate::refused())
}

fn hangs(bad: u64, of: u64) -> World {
    replicas(bad, of, |_| Fate::hung())
}

/// Ten times as long; `base` is the usual time.
fn slow(bad: u64, of: u64, base: Time) -> World {
    World::new(move |ask| {
        let after = ask.within(base / 2, base * 3 / 2, 7);
        let after = if is_on(ask, bad, of) {
            after * 10
        } else {
            after
        };
        Fate::of(Reply::Served, after)
    })
}

fn sheds(bad: u64, of: u64) -> World {
    replicas(bad, of, |_| Fate::of(Reply::Later(503, 10), 2 * MS))
}

fn errs(bad: u64, of: u64) -> World {
    replicas(bad, of, |_| Fate::of(Reply::Status(500), 5 * MS))
}

/// Not balanced by chance: in turn, as connections are used.
fn refuses_in_turn(bad: u64, of: u64) -> World {
    let mut turn = 0;
    World::new(move |ask| {
        turn += u64::from(!ask.is_peek);
        if ask.since >= 0 && turn % of < bad {
            Fate::refused()
        } else {
            ask.healthy()
        }
    })
}

/// One after the other is gone for ten seconds.
fn rolls(of: u64) -> World {
    World::new(move |ask| {
        let gone = elapsed(ask.since, of * 10 * SECOND).map(|since| since / (10 * SECOND));
        if gone == Some(ask.draw(6) % of) {
            Fate::refused()
        } else {
            ask.healthy()
        }
    })
}

pub(super) const SCENARIOS: [Scenario; 19] = [
    Scenario::partial("1 of 4 replicas refuses", |_| refuses(1, 4)),
    Scenario::partial("1 of 4 replicas hangs", |_| hangs(1, 4)),
    Scenario::partial("1 of 4 replicas is slow (200 ms)", |_| slow(1, 4, 20 * MS)),
    Scenario::partial("1 of 4 replicas is slow (2 s)", |_| slow(1, 4, 200 * MS)),
    Scenario::partial("1 of 4 replicas sheds", |_| sheds(1, 4)),
    Scenario::partial("1 of 4 replicas answers 500", |_| errs(1, 4)),
    Scenario::partial("1 of 20 replicas refuses", |_| refuses(1, 20)),
    Scenario::partial("1 of 20 replicas hangs", |_| hangs(1, 20)),
    Scenario::partial("1 of 20 replicas is slow (2 s)", |_| slow(1, 20, 200 * MS)),
    Scenario::partial("1 of 20 replicas sheds", |_| sheds(1, 20)),
    Scenario::partial("2 of 20 replicas refuse", |_| refuses(2, 20)),
    Scenario::partial("2 of 20 replicas shed", |_| sheds(2, 20)),
    Scenario::partial("1 of 2 replicas refuses", |_| refuses(1, 2)),
    Scenario::partial("1 of 2 replicas refuses, in turn", |_| {
        refuses_in_turn(1, 2)
    }),
    Scenario::partial("1 of 2 replicas hangs", |_| hangs(1, 2)),
    Scenario::partial("3 of 4 replicas refuse", |_| refuses(3, 4)),
    Scenario::partial("3 of 4 replicas shed", |_| sheds(3, 4)),
    Scenario::partial("4 replicas are deployed in turn", |_| rolls(4)).lasting(40),
    Scenario::partial("2 replicas are deployed in turn", |_| rolls(2)).lasting(20),
];
