//! The breaker: a word, its rules, a clock, and how to make one.

mod adjustable;
mod any;
mod builder;

pub use adjustable::{Adjustable, LaterRules, SetConfigError};
pub use any::{AnyBreaker, BitsOf};
pub use builder::Builder;

use core::fmt;

use crate::clock::{Clock, SharedClock};
use crate::config::{AsRules, Config, ConfigError, Rules, check_memory};
use crate::error::CorruptWord;
use crate::machine::Machine;
use crate::observer::Observer;
use crate::tally::Tally;
use crate::word::{self, Bits, NativeWord, Word};

/// A circuit breaker whose whole state is one atomic word.
///
/// Share it by reference: in a `static`, in an `Arc`, or in a field of the client that it guards. It must
/// outlive the calls; a breaker made per request learns nothing.
///
/// | parameter | what | default |
/// |---|---|---|
/// | `C` | [`Clock`]: where the time comes from | |
/// | `W` | [`Word`]: where the state lives | [`NativeWord`] |
/// | `T` | [`Tally`]: memory for rules the word cannot hold | `()`, none |
/// | `O` | [`Observer`]: what is notified of events | `()`, none |
/// | `R` | [`Rules`], or what [leads to them](AsRules) | rules of its own |
///
/// ```
/// use atomic_breaker::{Breaker, CallError, Config, ManualClock};
///
/// let clock = ManualClock::new();
/// let breaker = Breaker::new(Config::new().consecutive_failures(2), &clock);
///
/// for _ in 0..2 {
///     assert_eq!(breaker.call(|| Err::<(), _>("no answer")), Err(CallError::Failed("no answer")));
/// }
/// // Open: the operation is not run.
/// let rejected = breaker.call(|| -> Result<(), &str> { unreachable!() });
/// assert!(matches!(rejected, Err(CallError::Rejected(_))));
/// ```
///
/// In a `static`, [over](Self::over) a separate word, the breaker and its rules have no interior mutability and lie in
/// flash; only the four or eight bytes of the word take RAM.
#[must_use]
// The word comes first and the rules last: see `Config`.
#[repr(C)]
pub struct Breaker<C, W: Word = NativeWord, T = (), O = (), R = Rules<<W as Word>::Bits>> {
    pub(crate) word: W,
    pub(crate) clock: C,
    pub(crate) tally: T,
    pub(crate) observer: O,
    pub(crate) rules: R,
}

impl<C: Clock> Breaker<C> {
    /// A closed breaker with a word of its own.
    ///
    /// # Panics
    /// When the configuration does not fit the word. In a `const` or `static` that is a compile error; for
    /// configurations that may be invalid, use [`try_new`](Self::try_new).
    pub const fn new(config: Config, clock: C) -> Self {
        Self::builder(config, clock).build()
    }

    /// [`new`](Self::new) for configurations that may be invalid.
    pub fn try_new(config: Config, clock: C) -> Result<Self, ConfigError> {
        Self::builder(config, clock).try_build()
    }

    /// Starts a [`Builder`], for a breaker with an observer, a tally, or a word from elsewhere.
    pub const fn builder(config: Config, clock: C) -> Builder<C> {
        Builder::new(config, clock)
    }
}

impl<C: Clock, W: Word> Breaker<C, W> {
    /// A breaker over a word that may live anywhere in this program and may have a history: the breaker
    /// continues from the state of the word.
    ///
    /// If other programs can reach the word, or it outlives this one, its times mean something only with a
    /// clock that reads the same in all of them: use [`shared`](Self::shared), or [`restore`](Self::restore)
    /// the word.
    ///
    /// # Panics
    /// When the configuration does not fit the word. In a `const` or `static` that is a compile error; for
    /// configurations that may be invalid, use [`Builder::word`].
    pub const fn over(word: W, config: Config, clock: C) -> Self {
        Breaker::builder(config, clock).word(word).build()
    }

    /// A breaker over a word that is shared with other programs, in mapped memory or between two cores. It
    /// compiles only with a clock that reads the same in all of them.
    ///
    /// # Panics
    /// Same as [`over`](Self::over). For configurations that may be invalid, use [`Builder::shared_word`].
    pub const fn shared(word: W, config: Config, clock: C) -> Self
    where
        C: SharedClock,
    {
        Self::over(word, config, clock)
    }

    /// A breaker that continues from the content of a word, as returned by [`to_bits`](Self::to_bits), whether
    /// in another process or before a restart. It is [restored](Self::restore), so that running times start
    /// over on this clock.
    ///
    /// # Errors
    /// [`FromBitsError`] says that the bits are an invalid state, or that the rules need a tally.
    ///
    /// ```
    /// use atomic_breaker::{Breaker, Config, ManualClock, Rules, State};
    ///
    /// let clock = ManualClock::new();
    /// let before = Breaker::new(Config::new(), &clock);
    /// before.trip();
    /// let rules = Rules::new(Config::new());
    /// let after = <Breaker<_>>::from_bits(before.to_bits(), rules, &clock)?;
    /// assert_eq!(after.state(), State::Open);
    /// # Ok::<(), atomic_breaker::FromBitsError>(())
    /// ```
    pub fn from_bits(bits: W::Bits, rules: Rules<W::Bits>, clock: C) -> Result<Self, FromBitsError>
    where
        W: From<W::Bits>,
    {
        let breaker = Self::try_from_parts(bits.check()?.into(), rules, clock, (), ())?;
        breaker.restore()?;
        Ok(breaker)
    }
}

impl<C: Clock, W: Word, T: Tally, O: Observer, R: AsRules<W::Bits>> Breaker<C, W, T, O, R> {
    /// A breaker made from all its parts, for rules that are shared, for example by thousands of words. Costs
    /// next to nothing, so it may be put together for each call. Anything else is easier with the
    /// [`builder`](Breaker::builder).
    ///
    /// # Panics
    /// When the rules need a tally and there is none, or one that remembers more: a failure ratio without
    /// memory would never trip. For rules that may not fit, use [`try_from_parts`](Self::try_from_parts).
    #[inline]
    pub fn from_parts(word: W, rules: R, clock: C, tally: T, observer: O) -> Self {
        if let Err(error) = check_tally(rules.as_rules(), &tally) {
            panic!("{}", error.message());
        }
        Self {
            word,
            clock,
            tally,
            observer,
            rules,
        }
    }

    /// [`from_parts`](Self::from_parts) for rules that may not fit the tally.
    pub fn try_from_parts(
        word: W,
        rules: R,
        clock: C,
        tally: T,
        observer: O,
    ) -> Result<Self, ConfigError> {
        check_tally(rules.as_rules(), &tally)?;
        Ok(Self::from_parts(word, rules, clock, tally, observer))
    }

    /// This breaker under other rules: a view of the same word, clock, tally and observer. Permits of one can
    /// be [resumed](Self::resume) by the other. See [`Rules`] for what a change of rules means.
    ///
    /// # Panics
    /// Same as [`from_parts`](Self::from_parts). For rules from a file, use
    /// [`try_with_rules`](Self::try_with_rules).
    #[inline]
    pub fn with_rules<S: AsRules<W::Bits>>(&self, rules: S) -> Breaker<&C, &W, &T, &O, S> {
        Breaker::from_parts(&self.word, rules, &self.clock, &self.tally, &self.observer)
    }

    /// [`with_rules`](Self::with_rules) for rules that may not fit the tally.
    pub fn try_with_rules<S: AsRules<W::Bits>>(
        &self,
        rules: S,
    ) -> Result<Breaker<&C, &W, &T, &O, S>, ConfigError> {
        Breaker::try_from_parts(&self.word, rules, &self.clock, &self.tally, &self.observer)
    }

    /// The configuration that its rules were made from.
    pub fn config(&self) -> &Config {
        self.rules.as_rules().config()
    }

    /// The word.
    pub const fn word(&self) -> &W {
        &self.word
    }

    /// The clock.
    pub const fn clock(&self) -> &C {
        &self.clock
    }

    /// The tally.
    pub const fn tally(&self) -> &T {
        &self.tally
    }

    /// The observer.
    pub const fn observer(&self) -> &O {
        &self.observer
    }

    /// The content of the word, to store it: one load.
    pub fn to_bits(&self) -> W::Bits {
        word::load_acquire(&self.word)
    }

    /// Whether the word holds a state that a breaker can be in. A breaker that meets an invalid state in use
    /// replaces it with a fresh, closed one.
    pub fn check(&self) -> Result<(), CorruptWord> {
        self.to_bits().check().map(drop)
    }

    #[inline]
    pub(crate) fn machine(&self) -> Machine<'_, W::Bits> {
        Machine::new(self.rules.as_rules())
    }
}

impl<C: Clock, W: Word, T: Tally, O: Observer, R: AsRules<W::Bits>> fmt::Debug
    for Breaker<C, W, T, O, R>
{
    /// Shows a [`Snapshot`](crate::Snapshot) and the configuration.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Breaker")
            .field("snapshot", &self.snapshot())
            .field("config", self.config())
            .finish_non_exhaustive()
    }
}

/// Why bits were not taken up by [`Breaker::from_bits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum FromBitsError {
    /// The bits are an invalid state.
    Corrupt(CorruptWord),
    /// The rules need a tally, which a breaker made from bits does not have.
    Config(ConfigError),
}

impl From<CorruptWord> for FromBitsError {
    fn from(corrupt: CorruptWord) -> Self {
        Self::Corrupt(corrupt)
    }
}

impl From<ConfigError> for FromBitsError {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

impl fmt::Display for FromBitsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Corrupt(corrupt) => corrupt.fmt(f),
            Self::Config(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for FromBitsError {}

/// Whether the tally remembers what the rules need. One comparison if they need none, because a breaker may be
/// put together for each call.
#[inline]
fn check_tally<B>(rules: &Rules<B>, tally: &impl Tally) -> Result<(), ConfigError>
where
    B: Bits,
{
    let config = rules.config();
    if config.needs_tally() {
        check_memory(config, builder::memory_of(tally))
    } else {
        Ok(())
    }
}
