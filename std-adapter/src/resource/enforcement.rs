//! Shadow mode: everything happens as usual, yet calls pass.

use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

/// The share of rejections that are enforced, to be changed while running: 100 % by default; 0 % is shadow
/// mode, in which a breaker goes through its whole life (trips, open times, probes, events, counters), yet
/// all calls pass.
///
/// A call that should have been rejected and passes nevertheless is not reported to the breaker: it is not a
/// call that the breaker admitted. So what it learns in shadow mode is what it would learn when enforced:
/// in particular, probes decide when it closes.
///
/// ```
/// use atomic_breaker_std::{Config, Resource, breaker};
///
/// static SEARCH: Resource = Resource::new(breaker(Config::new()));
///
/// SEARCH.enforcement().set_percent(0)?; // first see what it would do
/// SEARCH.breaker().trip();
/// assert!(SEARCH.acquire().is_ok());
/// SEARCH.enforcement().set_percent(100)?;
/// assert!(SEARCH.acquire().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Enforcement {
    /// How many percent are not enforced, so that zeroed memory enforces.
    shadowed: AtomicU8,
}

impl Enforcement {
    /// Every rejection is enforced.
    pub const fn new() -> Self {
        Self {
            shadowed: AtomicU8::new(0),
        }
    }

    /// The share that is enforced, in percent.
    pub fn percent(&self) -> u8 {
        // A setting, with no other memory that depends on it: here and below.
        100 - self.shadowed.load(Ordering::Relaxed)
    }

    /// Sets the share of rejections that are enforced, in percent.
    ///
    /// # Errors
    /// [`PercentError`] if it is more than 100.
    pub fn set_percent(&self, percent: u8) -> Result<(), PercentError> {
        let shadowed = 100_u8.checked_sub(percent).ok_or(PercentError(percent))?;
        self.shadowed.store(shadowed, Ordering::Relaxed);
        Ok(())
    }

    /// Whether this rejection is enforced; `random` is spread evenly over all its values.
    pub(crate) fn is_enforced(&self, random: impl FnOnce() -> u32) -> bool {
        match self.shadowed.load(Ordering::Relaxed) {
            0 => true,
            100.. => false,
            shadowed => (u64::from(random()) * 100) >> 32 >= u64::from(shadowed),
        }
    }
}

impl Default for Enforcement {
    fn default() -> Self {
        Self::new()
    }
}

/// A share of more than 100 percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PercentError(u8);

impl fmt::Display for PercentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} percent is more than all: set 0 to 100", self.0)
    }
}

impl Error for PercentError {}
