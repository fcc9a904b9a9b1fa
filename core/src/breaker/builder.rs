// SPDX-License-Identifier: MIT OR Apache-2.0
//! A breaker with more than a word and a clock, put together step by step; rules that are replaced while it is in use.

use core::mem::ManuallyDrop;

use super::Breaker;
use super::known::{Known, StaticBreaker};
use crate::clock::{Clock, SharedClock};
use crate::config::{AsRules, Config, ConfigError, Memory, Rules, check_memory};
use crate::observer::{Observer, OnTransition, Transition};
use crate::tally::{ConstTally, LastCalls, Tally};
use crate::word::{Bits, NativeBits, NativeWord, Word};

/// Builds a breaker step by step; see [`Breaker::builder`]. Works in a `static`, too.
///
/// ```
/// use atomic_breaker::{Breaker, Config, LastCalls, ManualClock, OnTransition, Ratio, Transition};
/// use atomic_breaker::word::NativeWord;
///
/// fn log(transition: &Transition) {
///     println!("{transition}");
/// }
///
/// static CLOCK: ManualClock = ManualClock::new();
/// static DATABASE: Breaker<&ManualClock, NativeWord, LastCalls, OnTransition<fn(&Transition)>> =
///     Breaker::builder(Config::new().failure_ratio(Ratio::percent(50).of_last(20)), &CLOCK)
///         .last_calls(LastCalls::new())
///         .on_transition(log as fn(&Transition))
///         .build();
/// assert!(DATABASE.acquire().is_ok());
/// ```
///
/// A builder that is dropped instead of built does not drop the parts that it was given.
#[derive(Debug)]
#[must_use = "nothing is built before `build`"]
pub struct Builder<C, W = NativeWord, T = (), O = ()> {
    config: Config,
    // Without destructors, so that the parts can be moved out in a `const`.
    clock: ManuallyDrop<C>,
    word: ManuallyDrop<W>,
    tally: ManuallyDrop<T>,
    observer: ManuallyDrop<O>,
    /// The memory that the tally offers.
    memory: Memory,
}

impl<C: Clock> Builder<C> {
    pub(super) const fn new(config: Config, clock: C) -> Self {
        Self {
            config,
            clock: ManuallyDrop::new(clock),
            word: ManuallyDrop::new(NativeWord::new(0)),
            tally: ManuallyDrop::new(()),
            observer: ManuallyDrop::new(()),
            memory: Memory::NONE,
        }
    }
}

impl<C, W, T, O> Builder<C, W, T, O> {
    /// The word that holds the state, instead of a [`NativeWord`] of the breaker's own. It may live anywhere and
    /// may have a history: the breaker continues from the state of the word.
    pub const fn word<V: Word>(self, word: V) -> Builder<C, V, T, O> {
        Builder {
            config: self.config,
            clock: self.clock,
            word: ManuallyDrop::new(word),
            tally: self.tally,
            observer: self.observer,
            memory: self.memory,
        }
    }

    /// [`word`](Self::word) for one that is shared with other programs, in mapped memory or between two cores. It
    /// compiles only with a clock that reads the same in all of them.
    pub const fn shared_word<V: Word>(self, word: V) -> Builder<C, V, T, O>
    where
        C: SharedClock,
    {
        self.word(word)
    }

    /// Memory for the last calls: what [`Config::failure_ratio`] needs.
    pub const fn last_calls<V: Word>(self, calls: LastCalls<V>) -> Builder<C, W, LastCalls<V>, O> {
        self.const_tally(calls)
    }

    /// A [`Tally`] whose type says what it remembers; works in a `static`, too.
    pub const fn const_tally<U: ConstTally>(self, tally: U) -> Builder<C, W, U, O> {
        self.with_tally(tally, U::MEMORY)
    }

    /// A [`Tally`] of any kind: memory beside the word. The memory that it offers is known only at run time, so in a
    /// `static` use [`const_tally`](Self::const_tally).
    pub fn tally<U: Tally>(self, tally: U) -> Builder<C, W, U, O> {
        let memory = tally.memory();
        self.with_tally(tally, memory)
    }

    const fn with_tally<U>(self, tally: U, memory: Memory) -> Builder<C, W, U, O> {
        Builder {
            config: self.config,
            clock: self.clock,
            word: self.word,
            tally: ManuallyDrop::new(tally),
            observer: self.observer,
            memory,
        }
    }

    /// An [`Observer`], which is notified of what happens.
    pub const fn observer<P: Observer>(self, observer: P) -> Builder<C, W, T, P> {
        Builder {
            config: self.config,
            clock: self.clock,
            word: self.word,
            tally: self.tally,
            observer: ManuallyDrop::new(observer),
            memory: self.memory,
        }
    }

    /// A closure as an observer, called with each transition.
    pub const fn on_transition<F>(self, f: F) -> Builder<C, W, T, OnTransition<F>>
    where
        F: Fn(&Transition),
    {
        self.observer(OnTransition(f))
    }
}

impl<C: Clock, W: Word, T: Tally, O: Observer> Builder<C, W, T, O> {
    /// The breaker.
    ///
    /// # Panics
    /// When the configuration does not fit the word or the tally. In a `const` or `static` that is a compile
    /// error; for configurations that may be invalid, use [`try_build`](Self::try_build).
    pub const fn build(self) -> Breaker<C, W, T, O> {
        match self.rules() {
            Ok(rules) => self.with(rules),
            Err(error) => panic!("{}", error.message()),
        }
    }

    /// [`build`](Self::build) for configurations that may be invalid.
    pub fn try_build(self) -> Result<Breaker<C, W, T, O>, ConfigError> {
        self.try_with(|rules| rules)
    }

    /// [`build`](Self::build) for a breaker whose rules can be [replaced](Breaker::set_config) while it is in use.
    /// Rules that are set later are kept in `later`. Works in a `static`, too.
    ///
    /// # Panics
    /// Same as [`build`](Self::build). For configurations that may be invalid, use
    /// [`try_build_adjustable`](Self::try_build_adjustable).
    pub const fn build_adjustable<L: LaterRules<W::Bits>>(
        self,
        later: L,
    ) -> Breaker<C, W, T, O, Adjustable<L, W::Bits>> {
        // Without a destructor, because a `const` that fails cannot run one.
        let later = ManuallyDrop::new(later);
        match self.rules() {
            Ok(first) => self.with(Adjustable::new(first, ManuallyDrop::into_inner(later))),
            Err(error) => panic!("{}", error.message()),
        }
    }

    /// [`build_adjustable`](Self::build_adjustable) for configurations that may be invalid.
    #[expect(clippy::type_complexity, reason = "all the parts of a breaker")]
    pub fn try_build_adjustable<L: LaterRules<W::Bits>>(
        self,
        later: L,
    ) -> Result<Breaker<C, W, T, O, Adjustable<L, W::Bits>>, ConfigError> {
        self.try_with(|first| Adjustable::new(first, later))
    }

    /// Builds the breaker of a [`static_breaker!`](crate::static_breaker): its word and rules are those of `H`.
    #[doc(hidden)]
    pub const fn build_known<H: StaticBreaker>(self) -> Breaker<C, Known<H>, T, O, Known<H>> {
        // Checked here, too, so that rules that do not fit are an error before they are used.
        match self.rules() {
            Ok(_) => self.word(Known::new()).with(Known::new()),
            Err(error) => panic!("{}", error.message()),
        }
    }

    #[doc(hidden)]
    pub const fn into_word(self) -> W {
        ManuallyDrop::into_inner(self.word)
    }

    #[doc(hidden)]
    pub const fn into_rules(self) -> Rules<W::Bits> {
        match self.rules() {
            Ok(rules) => rules,
            Err(error) => panic!("{}", error.message()),
        }
    }

    fn try_with<R>(
        self,
        rules: impl FnOnce(Rules<W::Bits>) -> R,
    ) -> Result<Breaker<C, W, T, O, R>, ConfigError> {
        match self.rules() {
            Ok(checked) => Ok(self.with(rules(checked))),
            Err(error) => {
                drop(ManuallyDrop::into_inner(self.word));
                drop(ManuallyDrop::into_inner(self.clock));
                drop(ManuallyDrop::into_inner(self.tally));
                drop(ManuallyDrop::into_inner(self.observer));
                Err(error)
            }
        }
    }

    const fn rules(&self) -> Result<Rules<W::Bits>, ConfigError> {
        match check_memory(&self.config, self.memory) {
            Ok(()) => Rules::try_new(self.config),
            Err(error) => Err(error),
        }
    }

    const fn with<R>(self, rules: R) -> Breaker<C, W, T, O, R> {
        Breaker {
            word: ManuallyDrop::into_inner(self.word),
            rules,
            clock: ManuallyDrop::into_inner(self.clock),
            tally: ManuallyDrop::into_inner(self.tally),
            observer: ManuallyDrop::into_inner(self.observer),
        }
    }
}

/// A store for the rules that a breaker is given while in use; see [`Builder::build_adjustable`]. `KeptRules` of
/// atomic-breaker-std is one, for programs with threads.
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
    const fn new(first: Rules<B>, later: L) -> Self {
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
    /// Each call, report and command follows one set of rules, never a mixture. With an error nothing changes.
    pub fn set_config(&self, config: Config) -> Result<(), ConfigError> {
        let rules = self.checked(config)?;
        self.rules.later.set(rules)
    }

    /// Checks that [`set_config`](Self::set_config) would accept these rules; nothing changes.
    pub fn check_config(&self, config: Config) -> Result<(), ConfigError> {
        self.checked(config).map(drop)
    }

    fn checked(&self, config: Config) -> Result<Rules<W::Bits>, ConfigError> {
        check_memory(&config, self.tally.memory())?;
        Rules::try_new(config)
    }
}
