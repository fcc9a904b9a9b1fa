// SPDX-License-Identifier: MIT OR Apache-2.0
//! Some calls are special: those of a tenant, a route, writes, uploads; or callers leave.

use atomic_breaker_http::GrpcCode;

use super::{Down, Scenario, elapsed};
use crate::clock::{MS, SECOND, Time};
use crate::reply::Reply;
use crate::world::{Fate, World, is_of_ten};

/// So many of ten calls get this reply.
fn special(of_ten: u64, reply: Reply) -> World {
    World::new(move |ask| {
        if ask.since >= 0 && is_of_ten(ask, of_ten) {
            Fate::of(reply, ask.within(2 * MS, 10 * MS, 8))
        } else {
            ask.healthy()
        }
    })
}

/// So many of ten calls take 1.8 to 2.6 s.
fn uploads(of_ten: u64) -> World {
    World::new(move |ask| {
        if ask.since >= 0 && is_of_ten(ask, of_ten) {
            Fate::of(Reply::Served, ask.within(1_800 * MS, 2_600 * MS, 9))
        } else {
            ask.healthy()
        }
    })
}

/// Half of the calls take 300 ms.
fn half_slow() -> World {
    World::new(|ask| {
        if ask.since >= 0 && ask.percent(50, 10) {
            Fate::of(Reply::Served, 300 * MS)
        } else {
            ask.healthy()
        }
    })
}

fn hung_for(seconds: u64) -> World {
    World::new(move |ask| {
        if elapsed(ask.since, seconds * SECOND).is_some() {
            Fate::hung()
        } else {
            ask.healthy()
        }
    })
}

/// A pool that hands out so many connections in a hundred calls, the others fail after 50 ms.
fn pool(rate: f64, percent: f64) -> World {
    let per_us = rate * percent / 100.0 / SECOND as f64;
    let room = (per_us * (100 * MS) as f64).max(2.0);
    let (mut tokens, mut last) = (room, 0_i64);
    World::new(move |ask| {
        if ask.since < 0 {
            return ask.healthy();
        }
        let filled = (tokens + (ask.since - last) as f64 * per_us).min(room);
        let is_free = filled >= 1.0;
        if !ask.is_peek {
            last = ask.since;
            tokens = if is_free { filled - 1.0 } else { filled };
        }
        if is_free {
            ask.healthy()
        } else {
            Fate::of(Reply::Refused, 50 * MS)
        }
    })
}

/// Latency times so much.
fn browns(base: Time, times: u64) -> World {
    World::new(move |ask| {
        let after = ask.within(base / 2, base * 3 / 2, 7);
        let times = if ask.since >= 0 { times } else { 1 };
        Fate::of(Reply::Served, after * times)
    })
}

pub(super) const SCENARIOS: [Scenario; 26] = [
    Scenario::partial("latency x 2 (to 40 ms)", |_| browns(20 * MS, 2)),
    Scenario::partial("latency x 10 (to 200 ms)", |_| browns(20 * MS, 10)),
    Scenario::partial("latency x 2 (to 1 s)", |_| browns(500 * MS, 2)),
    Scenario::partial("latency x 10 (to 1.8 s)", |_| browns(180 * MS, 10)),
    Scenario::partial("a tenant of 10 over its quota: 429", |_| {
        special(1, Reply::Status(429))
    }),
    Scenario::partial("a tenant of 10: 429, Retry-After 10", |_| {
        special(1, Reply::Later(429, 10))
    }),
    Scenario::partial("5 tenants of 10: 429, Retry-After 10", |_| {
        special(5, Reply::Later(429, 10))
    }),
    Scenario::partial("a tenant of 10: RESOURCE_EXHAUSTED", |_| {
        special(1, Reply::Grpc(GrpcCode::ResourceExhausted))
    })
    .grpc(),
    Scenario::partial(
        "a tenant of 10: RESOURCE_EXHAUSTED, pushed back 10 s",
        |_| special(1, Reply::PushedBack(GrpcCode::ResourceExhausted, 10_000)),
    )
    .grpc(),
    Scenario::partial("1 of 10 calls: UNAVAILABLE, pushed back 10 s", |_| {
        special(1, Reply::PushedBack(GrpcCode::Unavailable, 10_000))
    })
    .grpc(),
    Scenario::partial("1 route of 10: UNKNOWN", |_| {
        special(1, Reply::Grpc(GrpcCode::Unknown))
    })
    .grpc(),
    Scenario::partial("6 routes of 10: UNKNOWN", |_| {
        special(6, Reply::Grpc(GrpcCode::Unknown))
    })
    .grpc(),
    Scenario::partial("5 of 10 calls: INVALID_ARGUMENT", |_| {
        special(5, Reply::Grpc(GrpcCode::InvalidArgument))
    })
    .grpc(),
    Scenario::partial("9 of 10 calls: 404", |_| special(9, Reply::Status(404))),
    Scenario::partial("1 route of 10: 501", |_| special(1, Reply::Status(501))),
    Scenario::partial("6 routes of 10: 501", |_| special(6, Reply::Status(501))),
    Scenario::partial("1 route of 10: 500", |_| special(1, Reply::Status(500))),
    Scenario::partial("a standby refuses writes, 1 of 10: 500", |_| {
        special(1, Reply::Status(500)).writing(1)
    }),
    Scenario::partial("a standby refuses writes, 1 of 10: 503", |_| {
        special(1, Reply::Later(503, 10)).writing(1)
    }),
    Scenario::partial("a pool for 80 % of its callers", |rate| pool(rate, 80.0)),
    Scenario::partial("a pool for 50 % of its callers", |rate| pool(rate, 50.0)),
    Scenario::partial("callers leave after 200 ms, half are slow", |_| {
        half_slow().leaving(200 * MS)
    }),
    Scenario::total(
        "callers leave after 200 ms, hangs 60 s",
        Down::for_seconds(60).hanging(),
        |_| hung_for(60).leaving(200 * MS),
    ),
    Scenario::partial("1 of 10 calls is a slow upload (2 s)", |_| uploads(1)),
    Scenario::partial("5 of 10 calls are slow uploads (2 s)", |_| uploads(5)),
    Scenario::partial("callers leave after 200 ms, latency x 10 (to 1 s)", |_| {
        browns(100 * MS, 10).leaving(200 * MS)
    }),
];
