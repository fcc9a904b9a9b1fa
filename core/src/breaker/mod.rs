// SPDX-License-Identifier: MIT OR Apache-2.0
//! The breaker: a word, its rules, a clock, and how to make one; any breaker, and anything that leads to one.

mod builder;
mod known;
mod static_breaker;

pub use builder::{Adjustable, Builder, LaterRules};
pub use known::{Known, StaticBreaker};

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
/// ```
/// use atomic_breaker::{Breaker, Config, ManualClock};
///
/// let breaker = Breaker::new(Config::new(), ManualClock::new());
/// assert_eq!(breaker.call(|| Ok::<_, ()>(7)), Ok(7));
/// ```
///
/// | you want to | use |
/// |---|---|
/// | guard a closure or a future | [`call`](Self::call), [`call_async`](Self::call_async) |
/// | say which results are failures | [`call_with`](Self::call_with), [`call_async_with`](Self::call_async_with) |
/// | limit the time of a call, wait, retry, ping | [`call_timeout`](Self::call_timeout) and the others that [`wait`](crate::wait) describes |
/// | report later, or from elsewhere | [`acquire`](Self::acquire), and the [`Permit`](crate::Permit) that it returns |
/// | make one | [`new`](Self::new), [`builder`](Self::builder), [`over`](Self::over) a word of yours |
/// | see its state | [`state`](Self::state), [`snapshot`](Self::snapshot) |
/// | control it | [`trip`](Self::trip), [`reset`](Self::reset), [`force_open`](Self::force_open) and [`release`](Self::release) |
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
    /// If other programs can reach the word, use [`shared`](Self::shared); if it outlives this one, such as the
    /// [bits](Self::to_bits) of a breaker that were stored, [`restore`](Self::restore) it.
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
        match Self::try_from_parts(word, rules, clock, tally, observer) {
            Ok(breaker) => breaker,
            Err(error) => panic!("{}", error.message()),
        }
    }

    /// [`from_parts`](Self::from_parts) for rules that may not fit the tally.
    #[inline]
    pub fn try_from_parts(
        word: W,
        rules: R,
        clock: C,
        tally: T,
        observer: O,
    ) -> Result<Self, ConfigError> {
        let config = rules.as_rules().config();
        // One comparison if they need none, because a breaker may be put together for each call.
        if config.needs_tally() {
            check_memory(config, tally.memory())?;
        }
        Ok(Self {
            word,
            clock,
            tally,
            observer,
            rules,
        })
    }

    /// This breaker under other rules: a view of the same word, clock, tally and observer. Permits of one can
    /// be [resumed](Self::resume) by the other. See [`Rules`] for what a change of rules means.
    ///
    /// # Panics
    /// Same as [`from_parts`](Self::from_parts). Rules that may not fit go through
    /// [`try_from_parts`](Self::try_from_parts), with references to the parts of this breaker.
    #[inline]
    pub fn with_rules<S: AsRules<W::Bits>>(&self, rules: S) -> Breaker<&C, &W, &T, &O, S> {
        Breaker::from_parts(&self.word, rules, &self.clock, &self.tally, &self.observer)
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

    /// Checks that the word holds a state that a breaker can be in. A breaker that meets an invalid state in use
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

/// Any breaker, whatever its parts: the bound for functions and types that take one.
///
/// Implemented for [`Breaker`], for references, and with the feature `alloc` for `Arc`, `Rc` and `Box`. Implement it for
/// your own handle that always leads to the same breaker, and permits can own that handle.
///
/// ```
/// use atomic_breaker::{AnyBreaker, Breaker, Config, ManualClock};
///
/// fn send(breaker: &impl AnyBreaker, bytes: &[u8]) -> Option<usize> {
///     breaker.as_breaker().call(|| Ok::<_, ()>(bytes.len())).ok()
/// }
///
/// let breaker = Breaker::new(Config::new(), ManualClock::new());
/// assert_eq!(send(&breaker, b"hello"), Some(5));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a circuit breaker",
    note = "pass a `Breaker`, a reference to one, or, with the feature `alloc`, an `Arc` of one"
)]
#[expect(clippy::type_complexity, reason = "all the parts of a breaker")]
pub trait AnyBreaker {
    /// Its clock.
    type Clock: Clock;
    /// Its word.
    type Word: Word;
    /// Its tally.
    type Tally: Tally;
    /// Its observer.
    type Observer: Observer;
    /// Its rules.
    type Rules: AsRules<BitsOf<Self>>;

    /// The breaker itself.
    fn as_breaker(
        &self,
    ) -> &Breaker<Self::Clock, Self::Word, Self::Tally, Self::Observer, Self::Rules>;
}

/// The bits of a breaker's word.
pub type BitsOf<B> = <<B as AnyBreaker>::Word as Word>::Bits;

impl<C: Clock, W: Word, T: Tally, O: Observer, R: AsRules<W::Bits>> AnyBreaker
    for Breaker<C, W, T, O, R>
{
    type Clock = C;
    type Word = W;
    type Tally = T;
    type Observer = O;
    type Rules = R;

    #[inline]
    fn as_breaker(&self) -> &Self {
        self
    }
}

macro_rules! forward_breaker {
    ($pointer:ty) => {
        impl<T: AnyBreaker> AnyBreaker for $pointer {
            type Clock = T::Clock;
            type Word = T::Word;
            type Tally = T::Tally;
            type Observer = T::Observer;
            type Rules = T::Rules;

            #[inline]
            fn as_breaker(
                &self,
            ) -> &Breaker<Self::Clock, Self::Word, Self::Tally, Self::Observer, Self::Rules> {
                (**self).as_breaker()
            }
        }
    };
}

for_pointers!(forward_breaker);
