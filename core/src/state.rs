// SPDX-License-Identifier: MIT OR Apache-2.0
//! The state of a breaker, and its life cycle.
//!
//! ```text
//!                   1 failures reach the limit
//!        ┌──────────┐────────────────────────►┌──────────┐
//!   ────►│  Closed  │   2 trip at once        │   Open   │◄─┐
//!        └──────────┘────────────────────────►└──────────┘  │
//!         ▲ ▲    ▲                             3 │ ▲  ▲     │
//!         │ │    │                    open time  │ │  │ 5 a probe fails,
//!         │ │    │ 4 enough probes    is over    ▼ │  │   or is cancelled late
//!         │ │    │   succeed          ┌────────────────┐    │
//!         │ │    └────────────────────│   Half-open    │──┐ │
//!         │ │    ┌────────────────────└────────────────┘◄─┘ 6 a probe was lost
//!         │ │    ▼ 4 or, by rule:          ▲   │            │
//!         │ │   ┌───────────┐              │   │ 1, 2       │
//!         │ └───│ Returning │──────────────┼───┘            │
//!         │  11 └───────────┘              │                │
//!         │ 8 reset, enable                │ 9 release      │
//!        ┌┴─────────────────────┐ 7   ┌────┴─────────┐      │ 10 trip
//!        │ Disabled             │◄───►│ Forced open  │ (from closed, half-open, returning, open)
//!        └──────────────────────┘     └──────────────┘
//! ```
//!
//! | arrow | taken by | cause |
//! |---|---|---|
//! | 1 | [`Permit::failure`](crate::Permit::failure) | `FailureLimit`, `FailureRatio` |
//! | 2 | [`Permit::report`](crate::Permit::report) of a failure that trips | `TripDemanded`, `RetryAfter` |
//! | 3 | [`Breaker::acquire`](crate::Breaker::acquire) | `OpenTimeOver` |
//! | 4 | [`Permit::success`](crate::Permit::success) | `ProbesSucceeded` |
//! | 5 | [`Permit::failure`](crate::Permit::failure) of a probe, or its drop | `ProbeFailed`, `ProbeCancelled` |
//! | 6 | [`Breaker::acquire`](crate::Breaker::acquire) after the lease | `ProbeLost` |
//! | 7 | [`Breaker::disable`](crate::Breaker::disable), [`force_open`](crate::Breaker::force_open), from any state | `Manual` |
//! | 8 | [`Breaker::reset`](crate::Breaker::reset) from any state, [`enable`](crate::Breaker::enable) | `Manual` |
//! | 9 | [`Breaker::release`](crate::Breaker::release) | `Manual` |
//! | 10 | [`Breaker::trip`](crate::Breaker::trip), [`trip_for`](crate::Breaker::trip_for) | `Manual` |
//! | 11 | [`Breaker::acquire`](crate::Breaker::acquire) after the time of the return | `TrafficReturned` |
//!
//! Under manual control, [`Breaker::probe_now`](crate::Breaker::probe_now) and
//! [`probe_early`](crate::Breaker::probe_early) take arrow 3, without a probe, and `probe_now` takes arrow 6.

/// An enum whose variants have names: each stands once, with its name.
macro_rules! named {
    (
        $(#[$meta:meta])*
        $kind:ident, $(#[$name_meta:meta])* $name:ident;
        $($(#[$variant_meta:meta])* $variant:ident = $text:literal,)*
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        #[cfg_attr(
            feature = "serde",
            derive(serde::Serialize, serde::Deserialize),
            serde(rename_all = "kebab-case")
        )]
        #[non_exhaustive]
        pub enum $kind {
            $($(#[$variant_meta])* $variant,)*
        }

        impl $kind {
            /// All of them, for a gauge or a table of each.
            // In the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            $(#[$name_meta])*
            pub const fn $name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }

        impl core::fmt::Display for $kind {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(self.$name())
            }
        }
    };
}

pub(crate) use named;

named! {
    /// The state of a breaker.
    ///
    /// A breaker whose open time is over is half-open for those who look, although no event tells: the next call takes arrow 3
    /// of the drawing. [`Snapshot::entered`](crate::Snapshot::entered) is the state to which the last event led.
    #[derive(Default)]
    State,
    /// The name in lower case: `closed`, `open`, `half-open`, `returning`, `forced open`, `disabled`.
    name;

    /// Every call passes.
    #[default]
    Closed = "closed",
    /// Every call is rejected until the open time is over.
    Open = "open",
    /// A few probes pass, everything else is rejected.
    HalfOpen = "half-open",
    /// Enough probes have succeeded, and trips are not forgotten yet. With a [gradual
    /// return](crate::Config::gradual_return) a growing share of the calls passes, and the rest are rejected; otherwise
    /// every call passes.
    Returning = "returning",
    /// Every call is rejected until an operator releases the breaker.
    ForcedOpen = "forced open",
    /// Every call passes, and nothing is learned from it.
    Disabled = "disabled",
}
