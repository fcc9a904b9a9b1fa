// SPDX-License-Identifier: MIT OR Apache-2.0
//! The events of the services, and the registrations.

use super::registration::Registration;
use super::service::Mood::{self, Busy, Dead, Hangs, Slow, Well};

/// The number of users who register.
pub(crate) const REGISTRATIONS: u64 = 48;

/// The time at which the user with this number registers, in milliseconds.
pub(crate) const fn begins_ms(number: u64) -> u64 {
    (number - 1) * 500
}

/// Two of three users wait for the result; the third request is kept for the workers.
pub(crate) const fn is_at_once(number: u64) -> bool {
    !number.is_multiple_of(3)
}

/// Two of them cannot be done.
pub(crate) fn registration(number: u64) -> Registration {
    let address = match number {
        21 => "nobody".to_owned(),
        _ => format!("user-{number}@example.com"),
    };
    let card = if number == 31 { "expired" } else { "valid" };
    Registration::new(address, card.to_owned(), String::new())
}

pub(crate) fn key(number: u64) -> String {
    format!("user-{number}")
}

/// Moods and their start times, in milliseconds.
pub(crate) type Timeline = &'static [(u64, Mood)];

pub(crate) const SERVICES: [(&str, Timeline); 3] = [
    (
        "accounts",
        &[
            (0, Well),
            (8_000, Slow),
            (10_000, Well),
            (19_000, Dead),
            (21_500, Well),
        ],
    ),
    (
        "bank",
        &[
            (0, Well),
            (5_000, Dead),
            (9_000, Well),
            (16_000, Busy),
            (18_000, Well),
        ],
    ),
    (
        "office",
        &[
            (0, Well),
            (10_000, Hangs),
            (12_500, Well),
            (21_000, Busy),
            (23_500, Well),
        ],
    ),
];

pub(crate) fn mood_at(timeline: Timeline, at_ms: u64) -> Mood {
    let before = timeline.iter().take_while(|(from, _)| *from <= at_ms);
    before.last().map_or(Well, |(_, mood)| *mood)
}
