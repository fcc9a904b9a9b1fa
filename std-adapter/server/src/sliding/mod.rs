// SPDX-License-Identifier: MIT OR Apache-2.0
//! The share of failures within a sliding time window: [`SlidingRatio`].
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
//! | `slice`, `slow` | what was counted in a slice; its slow calls |
//! | `shard` | counting and summing up |
//! | `margin` | how many failures cannot trip yet |
//! | `thread_number` | a number for each thread, which chooses its shard |
//! | `ratio` | the tally |
use crate::{Breaker, StdClock, word};

mod head;
mod margin;
mod ratio;
mod shard;
mod slice;
mod slow;
mod thread_number;

pub use ratio::SlidingRatio;

/// A [`Breaker`] that trips on the failure ratio within a sliding time window.
pub type SlidingBreaker<C = StdClock, const SHARDS: usize = 16> =
    Breaker<C, word::NativeWord, SlidingRatio<C, SHARDS>>;
