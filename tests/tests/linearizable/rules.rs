// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rules of a round: each kind reaches other arrows of the life cycle.

use tests::reference::{Grain, Growth, Return, Rules, Trip};

/// The start of the reference's own time, a multiple of every wrap.
pub(crate) const ORIGIN: u64 = 1 << 44;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    OneProbe,
    ManyProbes,
    Window,
    Lasting,
    Returning,
    WindowWhileReturning,
    LastingWhileReturning,
    Jitter,
    Slow,
    Replaced,
}

impl Kind {
    pub(crate) const ALL: [Self; 10] = [
        Self::OneProbe,
        Self::ManyProbes,
        Self::Window,
        Self::Lasting,
        Self::Returning,
        Self::WindowWhileReturning,
        Self::LastingWhileReturning,
        Self::Jitter,
        Self::Slow,
        Self::Replaced,
    ];

    pub(crate) fn has_jitter(self) -> bool {
        self == Self::Jitter
    }

    /// Returns whether the clock stands still during an operation: one that measures calls reads it twice, and the
    /// reference has one time.
    pub(crate) fn stands_still(self) -> bool {
        matches!(self, Self::Slow | Self::Replaced)
    }

    /// Times are no multiples of a tick, so that both words round.
    pub(crate) fn rules(self, grain: Grain) -> Vec<Rules> {
        let base = Rules {
            trip: Trip::InARow(2),
            ratio: None,
            slow: None,
            open_for: 44,
            growth: None,
            jitter: (0, 0),
            max_retry_after: Some(100),
            probes: 1,
            close_after: 1,
            lease: 30,
            cancel_limit: 10,
            returning: None,
            grain,
        };
        let many = Rules {
            trip: Trip::InARow(1),
            probes: 3,
            close_after: 4,
            lease: 25,
            cancel_limit: 0,
            ..base
        };
        let window = Rules {
            trip: Trip::Within(3, 60),
            growth: Some(Growth::Times(2, 300)),
            probes: 2,
            close_after: 2,
            ..base
        };
        let over = Return {
            first_percent: 30,
            over: 80,
        };
        let returning = Rules {
            open_for: 10,
            returning: Some(over),
            ..base
        };
        let slow = Rules {
            slow: Some(12),
            cancel_limit: 5,
            probes: 2,
            close_after: 3,
            ..base
        };
        let lasting = Rules {
            trip: Trip::Lasting(2, 12),
            ..base
        };
        match self {
            Self::Lasting => vec![lasting],
            Self::LastingWhileReturning => vec![Rules {
                trip: Trip::Lasting(2, 12),
                growth: Some(Growth::Times(2, 40)),
                ..returning
            }],
            Self::OneProbe => vec![base],
            Self::ManyProbes => vec![many],
            Self::Window => vec![window],
            Self::Returning => vec![returning],
            Self::WindowWhileReturning => vec![Rules {
                returning: Some(over),
                close_after: 3,
                ..window
            }],
            Self::Jitter => vec![Rules {
                jitter: (50, 7),
                growth: Some(Growth::Plus(16, 120)),
                ..base
            }],
            Self::Slow => vec![slow],
            Self::Replaced => vec![base, many, window, returning, slow, lasting],
        }
    }
}
