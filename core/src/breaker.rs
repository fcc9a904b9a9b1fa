//! The breaker: a word, its rules, a clock, and how to make one.

use core::fmt;

use crate::clock::Clock;
use crate::config::{Config, ConfigError, check_rules};
use crate::error::CorruptWord;
use crate::machine::Machine;
use crate::observer::Observer;
use crate::tally::Tally;
use crate::word::{self, Bits, NativeWord, Word};

/// A circuit breaker whose whole state is one atomic word.
///
/// Share it by reference: in a `static`, an `Arc`, a field of the client that it guards. It must
/// outlive the calls; a breaker made per request learns nothing.
///
/// | parameter | what | default |
/// |---|---|---|
/// | `C` | [`Clock`]: where the time comes from | |
/// | `W` | [`Word`]: where the state lives | [`NativeWord`] |
/// | `T` | [`Tally`]: memory for rules the word cannot hold | `()`, none |
/// | `O` | [`Observer`]: who is told of what happens | `()`, nobody |
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
/// let refused = breaker.call(|| -> Result<(), &str> { unreachable!() });
/// assert!(matches!(refused, Err(CallError::Rejected(_))));
/// ```
///
/// In a `static`, over a word of its own: the breaker and its rules have no interior mutability and
/// lie in flash, only the four or eight bytes of the word take RAM.
///
/// ```
/// use atomic_breaker::{Breaker, Config, ManualClock, word::AtomicU32};
///
/// static CLOCK: ManualClock = ManualClock::new();
/// static WORD: AtomicU32 = AtomicU32::new(0);
/// static SENSOR: Breaker<&ManualClock, &AtomicU32> =
///     Breaker::over(&WORD, Config::new().consecutive_failures(3), &CLOCK);
/// assert!(SENSOR.acquire().is_ok());
/// ```
#[must_use]
pub struct Breaker<C, W = NativeWord, T = (), O = ()> {
    pub(crate) word: W,
    pub(crate) config: Config,
    pub(crate) clock: C,
    pub(crate) tally: T,
    pub(crate) observer: O,
}

impl<C: Clock> Breaker<C> {
    /// A closed breaker with a word of its own.
    ///
    /// # Panics
    /// At compile time in a `const` or `static`: when the configuration does not fit the word. For
    /// configurations that are not known to be right there is [`try_new`](Self::try_new).
    pub const fn new(config: Config, clock: C) -> Self {
        Self::over(NativeWord::new(0), config, clock)
    }

    /// [`new`](Self::new) for configurations that are not known to be right.
    ///
    /// # Errors
    /// [`ConfigError`] says which setting does not fit the word, and what to do.
    ///
    /// ```
    /// use atomic_breaker::{Breaker, Config, ManualClock};
    ///
    /// let from_a_file = Config::new().probes(0);
    /// let error = Breaker::try_new(from_a_file, ManualClock::new()).unwrap_err();
    /// assert_eq!(error.to_string(), "with 0 probes an open breaker never closes: set at least 1");
    /// ```
    pub fn try_new(config: Config, clock: C) -> Result<Self, ConfigError> {
        Self::try_over(NativeWord::new(0), config, clock)
    }
}

impl<C: Clock, W: Word> Breaker<C, W> {
    /// A breaker over a word that may live anywhere and may have a history: it goes on where the
    /// word stands.
    ///
    /// # Panics
    /// At compile time in a `const` or `static`: when the configuration does not fit the word. For
    /// configurations that are not known to be right there is [`try_over`](Self::try_over).
    pub const fn over(word: W, config: Config, clock: C) -> Self {
        Self::from_parts(word, config, clock, (), ())
    }

    /// [`over`](Self::over) for configurations that are not known to be right.
    ///
    /// # Errors
    /// [`ConfigError`] says which setting does not fit the word, and what to do.
    pub fn try_over(word: W, config: Config, clock: C) -> Result<Self, ConfigError> {
        Self::try_from_parts(word, config, clock, (), ())
    }

    /// A breaker that starts with the given content of a word, as [`to_bits`](Self::to_bits) gave
    /// it.
    ///
    /// # Errors
    /// [`CorruptWord`] when the bits are no state.
    ///
    /// # Panics
    /// As [`over`](Self::over).
    ///
    /// ```
    /// use atomic_breaker::{Breaker, Config, ManualClock, State};
    ///
    /// let clock = ManualClock::new();
    /// let before = Breaker::new(Config::new(), &clock);
    /// before.trip();
    /// let after = <Breaker<_>>::from_bits(before.to_bits(), Config::new(), &clock)?;
    /// assert_eq!(after.state(), State::Open);
    /// # Ok::<(), atomic_breaker::CorruptWord>(())
    /// ```
    pub fn from_bits(bits: W::Bits, config: Config, clock: C) -> Result<Self, CorruptWord>
    where
        W: From<W::Bits>,
    {
        Ok(Self::over(bits.check()?.into(), config, clock))
    }

    /// Adds a [`Tally`]. In a `static`, use [`from_parts`](Breaker::from_parts).
    pub fn with_tally<T: Tally>(self, tally: T) -> Breaker<C, W, T> {
        Breaker::from_parts(self.word, self.config, self.clock, tally, ())
    }
}

impl<C: Clock, W: Word, T: Tally> Breaker<C, W, T> {
    /// Adds an [`Observer`]. In a `static`, use [`from_parts`](Breaker::from_parts).
    pub fn with_observer<O: Observer>(self, observer: O) -> Breaker<C, W, T, O> {
        Breaker::from_parts(self.word, self.config, self.clock, self.tally, observer)
    }
}

impl<C: Clock, W: Word, T: Tally, O: Observer> Breaker<C, W, T, O> {
    /// A breaker of all its parts, for a `static` with a tally or an observer.
    ///
    /// # Panics
    /// As [`over`](Breaker::over), and when nothing can trip: neither the configuration nor a tally.
    ///
    /// ```
    /// use atomic_breaker::{Breaker, Config, LastCalls, ManualClock, word::NativeWord};
    ///
    /// static CLOCK: ManualClock = ManualClock::new();
    /// static API: Breaker<&ManualClock, NativeWord, LastCalls> = Breaker::from_parts(
    ///     NativeWord::new(0),
    ///     Config::new().tally_only(),
    ///     &CLOCK,
    ///     LastCalls::new(20, 10, 50),
    ///     (),
    /// );
    /// assert!(API.acquire().is_ok());
    /// ```
    pub const fn from_parts(word: W, config: Config, clock: C, tally: T, observer: O) -> Self {
        if let Err(error) = Self::check_parts(&config) {
            panic!("{}", error.message());
        }
        Self {
            word,
            config,
            clock,
            tally,
            observer,
        }
    }

    /// [`from_parts`](Self::from_parts) for configurations that are not known to be right.
    ///
    /// # Errors
    /// [`ConfigError`] says which setting does not fit, and what to do.
    pub fn try_from_parts(
        word: W,
        config: Config,
        clock: C,
        tally: T,
        observer: O,
    ) -> Result<Self, ConfigError> {
        Self::check_parts(&config)?;
        Ok(Self::from_parts(word, config, clock, tally, observer))
    }

    const fn check_parts(config: &Config) -> Result<(), ConfigError> {
        match config.check(<W::Bits as Bits>::LAYOUT) {
            Ok(()) => check_rules(config, T::ENABLED),
            Err(error) => Err(error),
        }
    }

    /// The configuration.
    pub const fn config(&self) -> &Config {
        &self.config
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

    /// The content of the word, to be stored: one load.
    pub fn to_bits(&self) -> W::Bits {
        word::read(&self.word)
    }

    /// Whether the word holds a state that a breaker can be in, before its first use where the word
    /// comes from outside. A breaker that meets a corrupt word in use replaces it by a fresh, closed
    /// one.
    ///
    /// In RAM that survives a reset the word meets a clock that begins anew: where the breaker is
    /// open, [`trip`](Self::trip) lets its open time begin anew, too.
    ///
    /// # Errors
    /// [`CorruptWord`] says what is wrong with it.
    pub fn check(&self) -> Result<(), CorruptWord> {
        self.to_bits().check().map(drop)
    }

    pub(crate) fn machine(&self) -> Machine<'_, W::Bits> {
        Machine::new(&self.config)
    }
}

impl<C: Clock, W: Word, T: Tally, O: Observer> fmt::Debug for Breaker<C, W, T, O> {
    /// Shows a [`Snapshot`](crate::Snapshot) and the configuration.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Breaker")
            .field("snapshot", &self.snapshot())
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
