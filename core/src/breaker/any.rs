//! Any breaker, whatever its parts, and anything that leads to one.

use super::Breaker;
use crate::clock::Clock;
use crate::config::AsRules;
use crate::observer::Observer;
use crate::tally::Tally;
use crate::word::Word;

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
