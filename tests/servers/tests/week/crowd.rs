// SPDX-License-Identifier: MIT OR Apache-2.0
//! A registry of 4,096 slots and 20,000 keys, all of which fail occasionally; five of them go down.

use std::cell::Cell;

use atomic_breaker_http::{Guard, Registry, ServiceError};
use atomic_breaker_server::{ManualClock, WhenFull};

use test_support::week::{Host, config, protects, week_by_hand};

const KEYS: u32 = 20_000;
const DYING: u32 = 5;
/// The number of other keys that are called with each request.
const OTHERS: u32 = 10;

/// The number of calls of healthy keys that were rejected.
fn week_of(when_full: WhenFull) -> u32 {
    let (host, clock) = (Host::default(), ManualClock::new());
    let keys = Registry::<u32>::builder(config())
        .clock(&clock)
        .capacity(4_096)
        .when_full(when_full)
        .build()
        .unwrap();
    let (drawn, rejected) = (Cell::new(1_u32), Cell::new(0));
    let draw = |below| {
        let next = drawn
            .get()
            .wrapping_mul(747_796_405)
            .wrapping_add(2_891_336_453);
        drawn.set(next);
        (next >> 8) % below
    };
    let ask = || {
        for _ in 0..OTHERS {
            let key = DYING + draw(KEYS - DYING);
            let fails = draw(100) < 10;
            let answer = keys
                .of(key)
                .call(|| if fails { Err("busy") } else { Ok(()) });
            if let Err(ServiceError::Rejected(_)) = answer {
                rejected.set(rejected.get() + 1);
            }
        }
        // All five are called, even if the first one fails.
        let failed = (0..DYING).filter(|key| keys.of(*key).call(|| host.answer_at_once()).is_err());
        failed.count() == 0
    };
    let seen = week_by_hand(&host, &clock, ask);
    protects(&seen, DYING * 75);
    assert_eq!(keys.entries().count(), 4_096, "{:?}", keys.stats());
    rejected.get()
}

#[test]
fn five_of_20_000_keys_that_die_are_guarded_and_no_other_is_rejected() {
    for when_full in [WhenFull::Pass, WhenFull::Reject] {
        assert_eq!(week_of(when_full), 0, "{when_full:?}");
    }
}
