// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory beside the word, for trip rules that the word cannot hold.

mod last_calls;

pub use last_calls::LastCalls;

use crate::config::{Memory, Ratio};

/// Remembers outcomes of closed calls and says when they trip the breaker. `()` remembers nothing
/// and costs nothing.
///
/// The word decides, the tally informs: the verdict and the word's own rule are joined by "or", and the
/// word makes the transition. The rules say which share of failures trips
/// ([`Config::failure_ratio`](crate::Config::failure_ratio)); a tally may also have a [rule of its
/// own](Memory::has_rule).
///
/// # What an implementation must do
///
/// - Never mix outcomes of different epochs: nothing learned before a trip counts after it. It is
///   [cleared](Self::clear) before the breaker closes, and shown the epoch of each call.
/// - Be shared without blocking, by any number of threads and handlers.
/// - Return [`Verdict::Trip`] only for failures, and for [slow calls](Call::slow); the verdict on any other success is
///   ignored.
pub trait Tally {
    /// The memory that it offers the rules. Rules that ask for more are rejected when the breaker is built. If it is
    /// [`NONE`](Memory::NONE), nothing is recorded.
    fn memory(&self) -> Memory;

    /// Records how a call went, and says whether it trips by the given ratio.
    fn record(&self, call: Call, ratio: Option<Ratio>) -> Verdict;

    /// Forgets everything: the breaker is about to close, or to let traffic return.
    fn clear(&self);
}

/// A [`Tally`] whose type alone says what it remembers: the kind that a breaker in a `static` may have,
/// through [`Builder::const_tally`](crate::Builder::const_tally).
pub trait ConstTally: Tally {
    /// The memory that [`Tally::memory`] returns.
    const MEMORY: Memory;
}

/// The outcome of a call made while closed or returning, as a [`Tally`] sees it. Ignored calls and
/// failures of weight 0 are not shown to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Call {
    /// The epoch of the call. At least the low four bits are significant.
    pub epoch: u16,
    /// The weight of the failure, or `None` for a success.
    pub failure: Option<u16>,
    /// `true` if the call was slow, success or failure. Only where slow calls have a
    /// [share of their own](crate::Ratio::slow_percent); otherwise a slow call is a failure.
    pub is_slow: bool,
}

impl Call {
    /// A successful call.
    pub const fn success(epoch: u16) -> Self {
        Self {
            epoch,
            failure: None,
            is_slow: false,
        }
    }

    /// A failed call.
    pub const fn failure(epoch: u16, weight: u16) -> Self {
        Self {
            epoch,
            failure: Some(weight),
            is_slow: false,
        }
    }

    /// This call as a slow one.
    #[must_use]
    pub const fn slow(self) -> Self {
        Self {
            is_slow: true,
            ..self
        }
    }
}

/// The verdict of a [`Tally`] on a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// Stay closed.
    Keep,
    /// Trip.
    Trip,
}

impl Tally for () {
    #[inline]
    fn memory(&self) -> Memory {
        Memory::NONE
    }

    #[inline]
    fn record(&self, _call: Call, _ratio: Option<Ratio>) -> Verdict {
        Verdict::Keep
    }

    #[inline]
    fn clear(&self) {}
}

/// Tallies that lead to another, or to none.
macro_rules! forward_tally {
    ([$($generics:tt)*] $whole:ty: |$it:ident| $tally:expr) => {
        impl<$($generics)*> Tally for $whole {
            fn memory(&self) -> Memory {
                let $it = self;
                $tally.map_or(Memory::NONE, |tally| tally.memory())
            }

            fn record(&self, call: Call, ratio: Option<Ratio>) -> Verdict {
                let $it = self;
                $tally.map_or(Verdict::Keep, |tally| tally.record(call, ratio))
            }

            fn clear(&self) {
                let $it = self;
                if let Some(tally) = $tally {
                    tally.clear();
                }
            }
        }
    };
    ($pointer:ty) => {
        forward_tally!([T: Tally + ?Sized] $pointer: |it| Some(&**it));
    };
}

forward_tally!([T: Tally] Option<T>: |it| it.as_ref());
for_pointers!(forward_tally);
