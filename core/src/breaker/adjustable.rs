//! Rules that are replaced while the breaker is in use.

use super::Breaker;
use crate::clock::Clock;
use crate::config::{AsRules, Config, ConfigError, Rules, check_memory};
use crate::observer::Observer;
use crate::tally::Tally;
use crate::word::{Bits, NativeBits, Word};

/// Where a breaker keeps the rules that it is given while in use; see
/// [`Builder::build_adjustable`](super::Builder::build_adjustable). `KeptRules` of atomic-breaker-std is one, for
/// programs with threads.
///
/// An implementation must:
///
/// - return from [`current`](Self::current) without waiting, because every call asks for it;
/// - return the same rules until others are set. A returned reference stays valid for as long as the handle is
///   borrowed, so replaced rules must stay where they are;
/// - start empty, because rules that it already held would be unchecked.
pub trait LaterRules<B: Bits> {
    /// The rules that were set last; `None` until some are.
    fn current(&self) -> Option<&Rules<B>>;

    /// Sets rules. They fit: [`Breaker::set_config`] has checked them.
    ///
    /// # Errors
    /// [`ConfigError::TOO_MANY_RULES`] if they cannot be kept; nothing changes then.
    fn set(&self, rules: Rules<B>) -> Result<(), ConfigError>;
}

/// The rules of an adjustable breaker: those that it was built with, until others are
/// [set](Breaker::set_config).
#[derive(Debug)]
pub struct Adjustable<L, B = NativeBits> {
    first: Rules<B>,
    later: L,
}

impl<L, B> Adjustable<L, B> {
    pub(super) const fn new(first: Rules<B>, later: L) -> Self {
        Self { first, later }
    }
}

impl<B: Bits, L: LaterRules<B>> AsRules<B> for Adjustable<L, B> {
    fn as_rules(&self) -> &Rules<B> {
        self.later.current().unwrap_or(&self.first)
    }
}

impl<C: Clock, W: Word, T: Tally, O: Observer, L: LaterRules<W::Bits>>
    Breaker<C, W, T, O, Adjustable<L, W::Bits>>
{
    /// Replaces the rules while calls are under way. The state and a running open time are kept; the new rules apply
    /// from the next event on. [`Rules`] explains what else a change of rules means.
    ///
    /// Each call, report and command follows one set of rules, never a mixture.
    ///
    /// # Errors
    /// [`ConfigError`] says which setting does not fit the word or the tally of this breaker, and what to do. Nothing
    /// changes then.
    pub fn set_config(&self, config: Config) -> Result<(), ConfigError> {
        let rules = self.checked(config)?;
        self.rules.later.set(rules)
    }

    /// Whether [`set_config`](Self::set_config) would accept these rules; nothing changes.
    pub fn check_config(&self, config: Config) -> Result<(), ConfigError> {
        self.checked(config).map(drop)
    }

    fn checked(&self, config: Config) -> Result<Rules<W::Bits>, ConfigError> {
        check_memory(&config, self.tally.memory())?;
        Rules::try_new(config)
    }
}
