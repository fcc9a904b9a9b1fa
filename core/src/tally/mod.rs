//! Memory beside the word, for trip rules that the word cannot hold.

mod last_calls;

pub use last_calls::LastCalls;

use crate::config::Ratio;

/// Remembers outcomes of closed calls and says when they trip the breaker. `()` remembers nothing
/// and costs nothing.
///
/// The word decides, the tally informs: the verdict and the word's own rule are joined by "or", and the
/// word makes the transition. The rules say which share of failures trips
/// ([`Config::failure_ratio`](crate::Config::failure_ratio)); a tally may also have a [rule of its
/// own](Self::has_rule).
///
/// # What an implementation must do
///
/// - Never mix outcomes of different epochs: nothing learned before a trip counts after it. It is
///   [cleared](Self::clear) before the breaker closes, and shown the epoch of each call, so that a call
///   whose report comes late at worst begins a new history.
/// - Be shared without blocking, by any number of threads and handlers.
/// - Return [`Verdict::Trip`] only for failures; the verdict on a success is ignored.
pub trait Tally {
    /// How many calls it remembers at most, for a failure ratio to look at. Always the same. Rules that ask
    /// for more are rejected when the breaker is built. Where it is 0, and there is neither
    /// [a time](Self::max_within_ms) nor a [rule](Self::has_rule), nothing is recorded.
    fn max_calls(&self) -> u32;

    /// The longest time in milliseconds for which it remembers calls, for a failure ratio [within a
    /// time](Ratio::within) to look at; 0 if it remembers no times. Always the same. Rules that ask for
    /// more are rejected when the breaker is built.
    fn max_within_ms(&self) -> u32 {
        0
    }

    /// Whether it may trip by a rule of its own, without a failure ratio in the rules. Always the same.
    fn has_rule(&self) -> bool {
        false
    }

    /// Records how a call went, and says whether it trips by the given ratio.
    fn record(&self, call: Call, ratio: Option<Ratio>) -> Verdict;

    /// Forgets everything: the breaker is about to close, or to let traffic return.
    fn clear(&self);
}

/// A [`Tally`] whose type alone says what it remembers: the kind that a breaker in a `static` may have,
/// through [`Builder::const_tally`](crate::Builder::const_tally).
pub trait ConstTally: Tally {
    /// What [`Tally::max_calls`] returns.
    const MAX_CALLS: u32;
    /// What [`Tally::max_within_ms`] returns.
    const MAX_WITHIN_MS: u32;
    /// What [`Tally::has_rule`] returns.
    const HAS_RULE: bool = false;
}

/// The outcome of a call made while closed or returning, as a [`Tally`] sees it. Ignored calls and
/// failures of weight 0 are not shown to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Call {
    /// The epoch of the call. At least the low four bits are significant.
    pub epoch: u16,
    /// What the failure weighs, or `None` for a success.
    pub failure: Option<u16>,
}

impl Call {
    /// A successful call.
    pub const fn success(epoch: u16) -> Self {
        Self {
            epoch,
            failure: None,
        }
    }

    /// A failed call.
    pub const fn failure(epoch: u16, weight: u16) -> Self {
        Self {
            epoch,
            failure: Some(weight),
        }
    }
}

/// What a [`Tally`] says about a failure.
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
    fn max_calls(&self) -> u32 {
        0
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
    ($($(#[$meta:meta])* [$($generics:tt)*] $whole:ty: |$it:ident| $tally:expr;)*) => {$(
        $(#[$meta])*
        impl<$($generics)*> Tally for $whole {
            fn max_calls(&self) -> u32 {
                let $it = self;
                $tally.map_or(0, |tally| tally.max_calls())
            }

            fn max_within_ms(&self) -> u32 {
                let $it = self;
                $tally.map_or(0, |tally| tally.max_within_ms())
            }

            fn has_rule(&self) -> bool {
                let $it = self;
                $tally.is_some_and(|tally| tally.has_rule())
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
    )*};
}

forward_tally! {
    [T: Tally] Option<T>: |it| it.as_ref();
    [T: Tally + ?Sized] &T: |it| Some(&**it);
    #[cfg(feature = "alloc")] [T: Tally + ?Sized] alloc::boxed::Box<T>: |it| Some(&**it);
    #[cfg(feature = "alloc")] [T: Tally + ?Sized] alloc::rc::Rc<T>: |it| Some(&**it);
    #[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
    [T: Tally + ?Sized] alloc::sync::Arc<T>: |it| Some(&**it);
}
