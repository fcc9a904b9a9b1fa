//! Memory beside the word, for trip rules that the word cannot hold.

mod last_calls;

pub use last_calls::LastCalls;

/// Remembers outcomes of closed calls and says when they trip the breaker. `()` remembers nothing
/// and costs nothing.
///
/// The word decides, the tally informs: the verdict and the word's own rule are joined by "or", and
/// the word makes the transition.
///
/// # What an implementation must do
///
/// - Never mix outcomes of different epochs: nothing learned before a trip counts after it. Between
///   two closed times lie any number of transitions, so a tally that keeps only some bits of the
///   epoch can tell "another" from "the same", but not "newer" from "older".
/// - Be shared without blocking, by any number of threads and handlers.
/// - Answer [`Verdict::Trip`] only to failures; the verdict on a success is not asked for.
pub trait Tally {
    /// Whether outcomes are recorded at all.
    const ENABLED: bool = true;

    /// Records how a call went.
    fn record(&self, call: Call) -> Verdict;
}

/// The outcome of a call made while closed, as a [`Tally`] sees it. Ignored calls and failures of
/// weight 0 are not shown to it.
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

/// What a [`Tally`] says to a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// Stay closed.
    Keep,
    /// Trip.
    Trip,
}

impl Tally for () {
    const ENABLED: bool = false;

    #[inline]
    fn record(&self, _call: Call) -> Verdict {
        Verdict::Keep
    }
}

impl<T: Tally + ?Sized> Tally for &T {
    const ENABLED: bool = T::ENABLED;

    #[inline]
    fn record(&self, call: Call) -> Verdict {
        (**self).record(call)
    }
}
