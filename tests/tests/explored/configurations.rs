// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rules that are explored. Their numbers are small, so that all of them can be reached.

use tests::reference::{Grain, Growth, Return, Rules, Trip};

/// The name of a search and its rules: it starts with the first ones, and can switch to the others at any time.
pub(crate) type Named = (&'static str, Vec<Rules>);

fn base(grain: Grain) -> Rules {
    Rules {
        trip: Trip::InARow(2),
        ratio: None,
        slow: None,
        open_for: 2,
        growth: None,
        jitter: (0, 0),
        max_retry_after: None,
        probes: 1,
        close_after: 1,
        lease: 2,
        cancel_limit: 2,
        returning: None,
        grain,
    }
}

/// Rules of every kind with short times.
pub(crate) fn small(grain: Grain) -> Vec<Named> {
    let base = base(grain);
    vec![
        ("2 in a row, 1 probe", vec![base]),
        ("3 in a row, 1 of 2 probes, growth", vec![growing(base)]),
        ("2 in a window of 2, 2 of 3 probes", vec![windowed(base)]),
        (
            "1 in a row, open for 0, 2 probes, limited hint, each drop counts",
            vec![impatient(base)],
        ),
        ("2 in a window of 2, slow at 2", vec![slow(base)]),
        ("2 in a row, back from 30 % in 4", vec![returning(base)]),
        ("2 in a row that last 2", vec![lasting(base)]),
        (
            "2 in a row that last 2, growth, back from 30 % in 4",
            vec![lasting_while_returning(base)],
        ),
    ]
}

fn growing(base: Rules) -> Rules {
    Rules {
        trip: Trip::InARow(3),
        growth: Some(Growth::Percent(150, 4)),
        close_after: 2,
        cancel_limit: 1,
        ..base
    }
}

fn windowed(base: Rules) -> Rules {
    Rules {
        trip: Trip::Within(2, 2),
        open_for: 1,
        probes: 2,
        close_after: 3,
        lease: 3,
        cancel_limit: 1,
        ..base
    }
}

fn impatient(base: Rules) -> Rules {
    Rules {
        trip: Trip::InARow(1),
        open_for: 0,
        growth: Some(Growth::Plus(1, 2)),
        max_retry_after: Some(2),
        probes: 2,
        close_after: 2,
        lease: 1,
        cancel_limit: 0,
        ..base
    }
}

fn slow(base: Rules) -> Rules {
    Rules {
        trip: Trip::Within(2, 2),
        open_for: 1,
        lease: 1,
        slow: Some(2),
        ..base
    }
}

fn returning(base: Rules) -> Rules {
    Rules {
        open_for: 1,
        lease: 1,
        returning: Some(Return {
            first_percent: 30,
            over: 4,
        }),
        ..base
    }
}

fn lasting(base: Rules) -> Rules {
    Rules {
        trip: Trip::Lasting(2, 2),
        open_for: 1,
        lease: 1,
        ..base
    }
}

fn lasting_while_returning(base: Rules) -> Rules {
    Rules {
        trip: Trip::Lasting(2, 2),
        growth: Some(Growth::Times(2, 2)),
        ..returning(base)
    }
}

/// Rounds are lost again and again, so the lease grows as far as the word can count.
pub(crate) fn losing(grain: Grain) -> Named {
    let rules = Rules {
        trip: Trip::InARow(1),
        open_for: 1,
        probes: 2,
        close_after: 2,
        lease: 1,
        cancel_limit: 1,
        ..base(grain)
    };
    ("probes lost again and again", vec![rules])
}

/// The 32-bit word cannot hold the open time exactly, so its stored start lies before the trip.
pub(crate) fn inexact(grain: Grain) -> Named {
    let rules = Rules {
        trip: Trip::InARow(1),
        open_for: 17,
        growth: Some(Growth::Times(2, 33)),
        lease: 1,
        ..base(grain)
    };
    ("open for 17 and 33", vec![rules])
}

/// Rules that replace each other. Failures that one counts without a time look to the other like those of a
/// window that began when the word's time was 0, so the reference must know the wraps.
pub(crate) fn pairs(grain: Grain) -> Vec<Named> {
    let base = base(grain.wrapping());
    vec![
        (
            "2 in a row and 2 in a window with 2 of 3 probes",
            vec![base, windowed(base)],
        ),
        (
            "2 in a window with 2 of 3 probes and back from 30 % in 4",
            vec![windowed(base), returning(base)],
        ),
        (
            "2 in a row that last 2, back from 30 % in 4, and 2 in a row",
            vec![lasting_while_returning(base), base],
        ),
        (
            "2 in a row that last 2 and 2 in a window with 2 of 3 probes",
            vec![lasting(base), windowed(base)],
        ),
        (
            "back from 30 % in 4 and from 100 % in 1 by a window",
            vec![
                returning(base),
                Rules {
                    trip: Trip::Within(3, 2),
                    returning: Some(Return {
                        first_percent: 100,
                        over: 1,
                    }),
                    ..base
                },
            ],
        ),
    ]
}

/// The same with rules under which calls have an age, too.
pub(crate) fn slow_pair(grain: Grain) -> Named {
    let base = base(grain.wrapping());
    (
        "slow at 2 and each drop counts",
        vec![slow(base), impatient(base)],
    )
}
