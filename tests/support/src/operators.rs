// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operators, who command breakers at random.

use atomic_breaker::{Control, State};

use crate::dice::Dice;

/// Does one of the acts that an operator may do to one breaker.
pub fn command(breaker: &dyn Control, dice: &mut Dice) {
    match dice.below(9) {
        0 => breaker.trip(),
        1 => breaker.trip_for(dice.ms(1..DEMANDED_MS)),
        2 => breaker.force_open(),
        3 => breaker.release(),
        4 => breaker.reset(),
        5 => breaker.disable(),
        6 => breaker.enable(),
        7 => breaker.probe_now(),
        _ => breaker.probe_early(),
    };
}

/// The longest open time that an operator requests, in milliseconds.
pub const DEMANDED_MS: u32 = 20_000;

/// The operator ends every hold, with two commands at most.
pub fn let_go(breaker: &dyn Control) {
    for _ in 0..2 {
        match breaker.state() {
            State::ForcedOpen => breaker.release(),
            State::Disabled => breaker.enable(),
            _ => None,
        };
    }
}
