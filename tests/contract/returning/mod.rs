// SPDX-License-Identifier: MIT OR Apache-2.0
//! Traffic that comes back gradually.

mod life;
mod shares;
mod windows;

use atomic_breaker::{Breaker, Config, State};

use super::support::{AnyWord, Diary, Diced, ms, rules};

const RAMP: u64 = 1_000;

type Returning<'a, W> = Breaker<&'a Diced, W, (), &'a Diary>;

/// Traffic grows from a tenth to all of it within a second.
fn config() -> Config {
    rules().open_for(ms(10)).gradual_return(10, ms(RAMP))
}

/// A breaker whose traffic has just begun to return, after one trip.
fn returning<'a, W: AnyWord>(
    config: Config,
    clock: &'a Diced,
    diary: &'a Diary,
) -> Returning<'a, W> {
    let breaker = Breaker::builder(config, clock)
        .word(W::fresh())
        .observer(diary)
        .build();
    breaker.trip();
    clock.advance(10);
    for _ in 0..config.needed_successes() {
        breaker.acquire().unwrap().success();
    }
    assert_eq!(breaker.state(), State::Returning);
    diary.transitions.take();
    diary.outcomes.take();
    breaker
}
