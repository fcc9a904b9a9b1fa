// SPDX-License-Identifier: MIT OR Apache-2.0
//! The dependencies that the shops share: in good health, or dead, hanging, slow, failing at times, or lying.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::Mutex;
use std::time::Duration;

use http::{Request, Response};
use test_support::dice::Dice;
use tokio::time::sleep;

use crate::net::Unreachable;
use crate::trace;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Health {
    Well,
    /// Refuses every connection.
    Dead,
    /// Never responds.
    Hangs,
    /// Responds after this time.
    Slow(Duration),
    /// This many of a hundred requests are answered with 500.
    Errs(u64),
    /// Alternates between healthy and dead, each for this long.
    Flaps(Duration),
    /// Answers 503, and asks to be left alone for this many seconds.
    Limits(u64),
    /// Answers 429, and asks each caller to wait for this many seconds.
    Quota(u64),
    /// Answers 500 with headers that are forged or make no sense.
    Lies(u64),
}

impl Health {
    pub(crate) fn ill(dice: &mut Dice) -> Self {
        match dice.below(12) {
            0..3 => Self::Dead,
            3 => Self::Hangs,
            4 => Self::Slow(dice.ms(1_600..8_000)),
            5 | 6 => Self::Errs(dice.within(10..95).into()),
            7 => Self::Flaps(dice.ms(500..40_000)),
            8 | 9 => Self::Limits(dice.pick(&[0, 1, 5, 30, 600, 86_400, u64::MAX])),
            10 => Self::Quota(dice.pick(&[1, 30, 86_400, u64::MAX])),
            _ => Self::Lies(dice.next()),
        }
    }
}

/// The longest time for which a healthy one works on a request: half of the time that counts as slow.
const LONGEST_MS: u32 = 700;

pub(crate) struct Host(Mutex<State>);

struct State {
    health: Health,
    dice: Dice,
    reached: u64,
    /// The requests that were done, by key: repeated requests do it once.
    done: BTreeMap<String, u32>,
}

impl Host {
    pub(crate) fn new(dice: Dice) -> Self {
        Self(Mutex::new(State {
            health: Health::Well,
            dice,
            reached: 0,
            done: BTreeMap::new(),
        }))
    }

    pub(crate) fn set(&self, health: Health) {
        self.0.lock().unwrap().health = health;
    }

    pub(crate) fn reached(&self) -> u64 {
        self.0.lock().unwrap().reached
    }

    /// The number of times that a request with this key was done.
    pub(crate) fn done(&self, key: &str) -> u32 {
        self.0.lock().unwrap().done.get(key).copied().unwrap_or(0)
    }

    fn draw(&self) -> (Health, Duration) {
        let state = &mut *self.0.lock().unwrap();
        state.reached += 1;
        let health = match state.health {
            Health::Errs(percent) if state.dice.percent(percent) => Health::Lies(0),
            Health::Flaps(turn) => {
                let turns = trace::time().as_millis() / turn.as_millis();
                if turns.is_multiple_of(2) {
                    Health::Well
                } else {
                    Health::Dead
                }
            }
            Health::Errs(_) => Health::Well,
            health => health,
        };
        (health, state.dice.ms(1..LONGEST_MS))
    }

    /// Handles a request. What is asked for with a key is done even if its answer is never received.
    pub(crate) async fn handle(
        &self,
        request: &Request<()>,
    ) -> Result<Response<String>, Unreachable> {
        let (health, works) = self.draw();
        match health {
            Health::Dead => return Err(Unreachable("connection refused")),
            Health::Hangs => pending().await,
            Health::Slow(time) => sleep(time).await,
            _ => sleep(works).await,
        }
        let response = Response::builder();
        let response = match health {
            Health::Limits(seconds) => response.status(503).header("retry-after", seconds),
            Health::Quota(seconds) => response.status(429).header("retry-after", seconds),
            Health::Lies(how) => {
                let told = [
                    "-1",
                    "1e9",
                    "Fri, 31 Dec 9999 23:59:59 GMT",
                    "18446744073709551616",
                    "soon",
                ];
                let told = told[how as usize % told.len()];
                response
                    .status(500)
                    .header("retry-after", told)
                    .header("x-ratelimit-reset", "0")
            }
            _ => {
                self.note_done(request);
                response
            }
        };
        Ok(response.body(String::new()).expect("constant headers"))
    }

    fn note_done(&self, request: &Request<()>) {
        if let Some(key) = request.headers().get("idempotency-key") {
            let key = key.to_str().expect("a key of ours").to_owned();
            *self.0.lock().unwrap().done.entry(key).or_default() += 1;
        }
    }
}
