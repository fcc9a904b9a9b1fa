//! Stores the rules that are set on one breaker.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};

use atomic_breaker::{
    LaterRules, Rules, SetConfigError,
    word::{Bits, NativeBits},
};

use super::table::{Table, TableFull};

/// Stores the rules that are set on a breaker while it is in use, as in an
/// [`AdjustableBreaker`](crate::AdjustableBreaker). Reading them takes no lock and no write.
///
/// Each set of rules is kept once, until this is dropped: setting the same rules again takes no more memory. There is
/// room for 65,536 different ones.
///
/// This takes 368 bytes, plus up to 200 for each set of rules. A call reads one additional number; once rules have been
/// set, it also looks them up in a table.
///
/// ```
/// use atomic_breaker_std::{
///     AdjustableBreaker, Breaker, Config, KeptRules, LastCalls, Ratio, StdClock, word::NativeWord,
/// };
///
/// // With a tally or an observer.
/// static SEARCH: AdjustableBreaker<StdClock, NativeWord, LastCalls> =
///     Breaker::builder(Config::new(), StdClock)
///         .last_calls(LastCalls::new())
///         .build_adjustable(KeptRules::new());
///
/// SEARCH.set_config(Config::new().failure_ratio(Ratio::percent(50).of_last(40)))?;
/// let too_many = Config::new().failure_ratio(Ratio::percent(50).of_last(1_000));
/// assert!(SEARCH.set_config(too_many).is_err(), "LastCalls remembers fewer, so nothing changes");
/// # Ok::<(), atomic_breaker_std::SetConfigError>(())
/// ```
pub struct KeptRules<B = NativeBits> {
    table: Table<Rules<B>>,
    /// One more than the index of the rules; 0 until some are set.
    current: AtomicU32,
}

impl<B> KeptRules<B> {
    /// None yet.
    pub const fn new() -> Self {
        Self {
            table: Table::new(),
            current: AtomicU32::new(0),
        }
    }
}

impl<B> Default for KeptRules<B> {
    fn default() -> Self {
        Self::new()
    }
}

impl<B: Bits> LaterRules<B> for KeptRules<B> {
    #[inline]
    fn current(&self) -> Option<&Rules<B>> {
        // The rules themselves are published by the table.
        let next = self.current.load(Ordering::Relaxed);
        Some(self.table.get(next.checked_sub(1)? as u16))
    }

    fn set(&self, rules: Rules<B>) -> Result<(), SetConfigError> {
        let inserted = self.table.insert(rules);
        let id = inserted.map_err(|TableFull| SetConfigError::TooManyRules)?;
        self.current.store(u32::from(id) + 1, Ordering::Relaxed);
        Ok(())
    }
}

impl<B: Bits> fmt::Debug for KeptRules<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("KeptRules").field(&self.current()).finish()
    }
}
