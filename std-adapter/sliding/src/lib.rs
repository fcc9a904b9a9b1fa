//! The share of failures within a sliding time window, for [`atomic-breaker`](atomic_breaker) circuit breakers:
//! [`SlidingRatio`].
//!
//! It includes everything in [`atomic_breaker_std`].
//!
//! ```text
//! shards[0]  head │ slice slice slice slice slice slice slice slice │ margin
//! shards[1]  head │ slice slice slice slice slice slice slice slice │
//!    ⋮        which slice is the present one      one is an eighth of the span
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `head` | which slice of time a shard is in |
//! | `slice` | what was counted in a slice |
//! | `shard` | counting and summing up |
//! | `margin` | how many failures cannot trip yet |
//! | `ratio` | the tally |
#![cfg_attr(docsrs, feature(doc_cfg))]
#![doc(test(attr(deny(warnings), allow(dead_code))))]
#![forbid(unsafe_code)]

#[cfg(not(target_has_atomic = "64"))]
compile_error!("atomic-breaker-sliding needs 64-bit atomics, which this target does not have");

mod head;
mod margin;
mod ratio;
mod shard;
mod slice;

#[doc(no_inline)]
pub use atomic_breaker_std::*;
pub use ratio::SlidingRatio;

/// A [`Breaker`] that trips on the failure ratio within a sliding time window.
pub type SlidingBreaker<C = StdClock, const SHARDS: usize = 16> =
    Breaker<C, word::NativeWord, SlidingRatio<C, SHARDS>>;

/// The README, whose code is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
