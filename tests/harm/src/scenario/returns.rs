// SPDX-License-Identifier: MIT OR Apache-2.0
//! Blips, fail-overs, and resources that come back badly.

use super::{Down, Scenario, elapsed};
use crate::clock::{MS, SECOND, Time};
use crate::reply::Reply;
use crate::world::{Ask, Fate, World};

/// So many calls at once are lost, each so many seconds.
fn blips(calls: u32, each: u64, times: u64) -> World {
    let lost = move |ask: &Ask| {
        let since = Time::try_from(ask.since).ok()?;
        let in_turn = since % (each * SECOND);
        (since / (each * SECOND) < times && in_turn < MS).then(Fate::refused)
    };
    let world = World::new(move |ask| lost(ask).unwrap_or_else(|| ask.healthy()));
    (0..times).fold(world, |world, time| {
        world.burst(time * each * SECOND, calls)
    })
}

/// Everything is refused for this long, each so many seconds.
fn fails_over(lasts: Time, each: u64) -> World {
    World::new(move |ask| {
        let is_gone = Time::try_from(ask.since).is_ok_and(|since| since % (each * SECOND) < lasts);
        if is_gone {
            Fate::refused()
        } else {
            ask.healthy()
        }
    })
}

/// Answers the first call after a pause in which it got none, and fails all others.
fn flaps(seconds: u64, pause: Time) -> World {
    let mut last = i64::MIN / 2;
    World::new(move |ask| {
        if elapsed(ask.since, seconds * SECOND).is_none() {
            return ask.healthy();
        }
        let has_rested = ask.since - last >= pause.cast_signed();
        if !ask.is_peek {
            last = ask.since;
        }
        if has_rested {
            ask.healthy()
        } else {
            Fate::of(Reply::Status(500), 5 * MS)
        }
    })
}

/// Down, and then with a capacity that grows from a tenth of the calls to 1.2 times as many; what exceeds it fails.
fn starts_cold(rate: f64, down: u64, grows: u64) -> World {
    let mut tokens = 0.0;
    let mut last = 0;
    World::new(move |ask| {
        let Some(since) = elapsed(ask.since, (down + grows) * SECOND) else {
            return ask.healthy();
        };
        let Some(warm) = since.checked_sub(down * SECOND) else {
            return Fate::refused();
        };
        let share = 0.1 + 1.1 * warm as f64 / (grows * SECOND) as f64;
        let per_us = rate * share / SECOND as f64;
        let room = (per_us * (200 * MS) as f64).max(1.0);
        let filled = f64::min(tokens + (warm - last) as f64 * per_us, room);
        let is_free = filled >= 1.0;
        if !ask.is_peek {
            last = warm;
            tokens = if is_free { filled - 1.0 } else { filled };
        }
        if is_free {
            ask.healthy()
        } else {
            Fate::of(Reply::Status(503), ask.within(20 * MS, 100 * MS, 11))
        }
    })
}

/// Down, and then so many of a hundred calls fail.
fn comes_back_partly(down: u64, percent: u64) -> World {
    World::new(move |ask| match Time::try_from(ask.since) {
        Ok(since) if since < down * SECOND => Fate::refused(),
        Ok(_) if ask.percent(percent, 12) => Fate::of(Reply::Status(500), 5 * MS),
        _ => ask.healthy(),
    })
}

const fn partly(name: &'static str, world: fn(f64) -> World) -> Scenario {
    let mut new = Scenario::total(name, Down::for_seconds(10).ending_badly(), world);
    new.is_partial = true;
    new.lasting(70)
}

const fn cold(name: &'static str, world: fn(f64) -> World) -> Scenario {
    let mut new = Scenario::total(name, Down::for_seconds(10).ending_badly(), world);
    new.is_partial = true;
    new.lasting(40)
}

pub(super) const SCENARIOS: [Scenario; 14] = [
    Scenario::partial("5 calls at once are lost", |_| blips(5, 30, 1)).lasting(30),
    Scenario::partial("50 calls at once are lost", |_| blips(50, 30, 1)).lasting(30),
    Scenario::partial("50 calls at once are lost, each 10 s", |_| blips(50, 10, 6)).lasting(60),
    Scenario::partial("a fail-over of 300 ms", |_| fails_over(300 * MS, 30)).lasting(30),
    Scenario::partial("a fail-over of 300 ms, each 10 s", |_| {
        fails_over(300 * MS, 10)
    })
    .lasting(60),
    Scenario::partial("a fail-over of 1 s", |_| fails_over(SECOND, 60)).lasting(60),
    partly("down for 10 s, then 10 % fail", |_| {
        comes_back_partly(10, 10)
    }),
    partly("down for 10 s, then 25 % fail", |_| {
        comes_back_partly(10, 25)
    }),
    partly("down for 10 s, then 50 % fail", |_| {
        comes_back_partly(10, 50)
    }),
    cold("down for 10 s, then a cold start of 30 s", |rate| {
        starts_cold(rate, 10, 30)
    }),
    cold("down for 10 s, then a cold start of 5 s", |rate| {
        starts_cold(rate, 10, 5)
    }),
    Scenario::total(
        "answers the first call after 300 ms of rest",
        Down::for_seconds(600),
        |_| flaps(600, 300 * MS),
    )
    .at(&[10, 100, 1_000]),
    Scenario::total(
        "answers the first call after 900 ms of rest",
        Down::for_seconds(600),
        |_| flaps(600, 900 * MS),
    )
    .at(&[10, 100, 1_000]),
    Scenario::total(
        "answers the first call after 5 s of rest",
        Down::for_seconds(600),
        |_| flaps(600, 5 * SECOND),
    ),
];
