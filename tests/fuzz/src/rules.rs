// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules as text: taken as they are written, or a message that says what to do; and rules that are taken work.

use std::time::Duration;

use atomic_breaker::word::{AtomicU32, AtomicU64, Word};
use atomic_breaker::{Breaker, Config, Failure, ManualClock, Outcome, Rules, State, TripRule};
use toml::Table;

use crate::reading::rules;
use crate::text;

pub(crate) fn of_a_breaker(bytes: &[u8]) {
    let Some(text) = text(bytes) else {
        return;
    };
    let table = text.parse::<Table>().ok();
    let said = table.and_then(|table| rules(&table, Config::new(), None));
    match toml::from_str::<Config>(text) {
        Ok(config) => {
            assert_eq!(Some(config), said);
            work(AtomicU64::new(0), config);
            work(AtomicU32::new(0), config);
            let written = toml::to_string(&config).expect("as text");
            assert_eq!(toml::from_str::<Config>(&written), Ok(config), "{written}");
        }
        Err(error) => {
            assert!(!error.message().is_empty());
            assert_eq!(said, None, "{error}");
        }
    }
}

/// Opens with the last of as many failures as the rules say, and closes with the last success.
fn work<W: Word>(word: W, config: Config) {
    let rules = match Rules::<W::Bits>::try_new(config) {
        Ok(rules) => rules,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let clock = ManualClock::starting_at(u32::MAX - 5_000);
    // One with a failure ratio needs a tally.
    let Ok(breaker) = Breaker::try_from_parts(word, rules, &clock, (), ()) else {
        return;
    };
    let (TripRule::Consecutive { failures } | TripRule::Within { failures, .. }) = config.trip
    else {
        panic!("{config:?} without a tally");
    };
    let weight = u16::try_from(failures - 1).expect("no more than a word counts");
    let fail = |weight| {
        let permit = breaker.acquire().expect("still closed");
        permit.report(Failure::with_weight(weight))
    };
    assert_eq!(fail(weight), None, "{config:?}");
    assert!(fail(1).is_some(), "{config:?}");
    // For as long as the word holds.
    breaker.trip_for(Duration::MAX);
    assert_eq!(breaker.snapshot().entered(), State::Open, "{config:?}");
    for _ in 0..config.needed_successes() {
        if let Err(rejected) = breaker.acquire() {
            clock.advance(rejected.retry_in().expect("nobody holds it"));
        }
        let permit = breaker.acquire().expect("due");
        assert!(permit.is_probe(), "{config:?}");
        permit.report(Outcome::Success);
    }
    assert_ne!(breaker.snapshot().entered(), State::HalfOpen, "{config:?}");
}
