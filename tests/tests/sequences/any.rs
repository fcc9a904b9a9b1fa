// SPDX-License-Identifier: MIT OR Apache-2.0
//! The values that the properties draw from.

use proptest::prelude::*;
use tests::reference::{Command, Report};

/// Times of all sizes, from milliseconds to weeks.
pub(crate) fn times() -> impl Strategy<Value = u64> + Clone {
    (0_u32..31).prop_flat_map(|bits| 0..=1_u64 << bits)
}

pub(crate) fn reports() -> impl Strategy<Value = Report> {
    prop_oneof![
        16 => Just(Report::Success),
        6 => (0_u32..5).prop_map(Report::Failure),
        1 => Just(Report::TripAtOnce),
        2 => times().prop_map(Report::TripFor),
        2 => times().prop_map(Report::RetryAfter),
        2 => Just(Report::Nothing),
    ]
}

pub(crate) fn commands() -> impl Strategy<Value = Command> {
    prop_oneof![
        3 => Just(Command::Trip),
        2 => times().prop_map(Command::TripFor),
        1 => Just(Command::ForceOpen),
        2 => Just(Command::Release),
        3 => Just(Command::Reset),
        1 => Just(Command::Disable),
        2 => Just(Command::Enable),
        2 => Just(Command::ProbeNow),
        2 => Just(Command::ProbeEarly),
    ]
}

/// The dice of a clock: anything, and both ends.
pub(crate) fn dice() -> impl Strategy<Value = u32> {
    prop_oneof![4 => any::<u32>(), 1 => Just(0), 1 => Just(u32::MAX)]
}
