// SPDX-License-Identifier: MIT OR Apache-2.0
//! An outage in which calls hang until their limit, and so are few: what a share of failures sees of it.

use atomic_breaker_server::{Breaker, Config, ManualClock, SlidingRatio};

use crate::sliding::{ms, ratio};

/// Eight callers, each of which calls again when its call has ended after 30 s, twenty times. Returns how many calls reached the
/// resource.
fn wasted(config: Config) -> u32 {
    let clock = ManualClock::new();
    let breaker = Breaker::builder(config, &clock)
        .tally(SlidingRatio::<_, 1>::by(&clock))
        .try_build()
        .unwrap();
    let mut made = 0;
    for _ in 0..20 {
        let permits: Vec<_> = (0..8).filter_map(|_| breaker.acquire().ok()).collect();
        clock.advance(ms(30_000));
        for permit in permits {
            permit.failure();
            made += 1;
        }
    }
    made
}

/// As Polly and seatbelt have it: 10 % of at least 100 calls within 30 s.
#[test]
fn a_share_alone_never_sees_it_and_a_row_beside_it_does() {
    let share = Config::new().failure_ratio(ratio(10, 30_000, 100));
    assert_eq!(wasted(share.tally_only()), 160);
    let row = wasted(share.consecutive_failures(5).lasting(ms(1_000)));
    // Two rounds, and then a probe a minute: it takes 30 s, and the callers come each 30 s.
    assert_eq!(row, 16 + 9);
}
