// SPDX-License-Identifier: MIT OR Apache-2.0
//! The macro that makes a breaker which is known when the program is compiled.

/// A breaker in a `static`, behind a handle of size zero: code that is made for the handle knows the rules, the word and
/// the observer, so that the compiler folds them into it, also in futures, which are polled through a pointer.
///
/// The type names the parts of the breaker, the value is a [`Builder`](crate::Builder) that is not built yet. The macro
/// makes a unit struct that is an [`AnyBreaker`](crate::AnyBreaker) and has all methods of
/// [`Breaker`](crate::Breaker):
///
/// ```
/// use atomic_breaker::{Breaker, Config, ManualClock, OnTransition, State, Transition, static_breaker};
/// use atomic_breaker::word::AtomicU32;
///
/// static CLOCK: ManualClock = ManualClock::new();
///
/// static_breaker! {
///     /// The radio. Its state takes four bytes of RAM.
///     pub struct Radio: Breaker<&'static ManualClock, AtomicU32> =
///         Breaker::builder(Config::new().consecutive_failures(3), &CLOCK).word(AtomicU32::new(0));
///
///     /// With an observer.
///     struct Modem: Breaker<&'static ManualClock, AtomicU32, (), OnTransition<fn(&Transition)>> =
///         Breaker::builder(Config::new(), &CLOCK).word(AtomicU32::new(0)).on_transition(|_| ());
/// }
///
/// assert_eq!(Radio.call(|| Ok::<_, ()>(7)), Ok(7));
/// Modem.trip();
/// assert_eq!((Radio.state(), Modem.state()), (State::Closed, State::Open));
/// assert_eq!(size_of_val(&Radio), 0);
/// ```
///
/// With `#[cfg(..)]` before a handle, its breaker is there only under that condition.
///
/// # When not to
///
/// Each handle has a copy of its own of the code that its breaker runs. One breaker makes a program smaller; two are often
/// larger than two `static` breakers of one type, which share that code: see
/// [the figures](crate::pages::performance). A breaker whose rules come at run time cannot be one.
///
/// # Errors
/// Rules that do not fit the word or the tally are a compile error with the message of the
/// [`ConfigError`](crate::ConfigError). A value that is built already, such as `Breaker::new(..)`, does not compile.
#[macro_export]
macro_rules! static_breaker {
    ($($(#[$($meta:tt)*])* $visibility:vis struct $name:ident: $breaker:ty = $builder:expr;)+) => {$(
        $crate::static_breaker! {
            @ [] [$([$($meta)*])*]
            $(#[$($meta)*])* $visibility struct $name: $breaker = $builder;
        }
    )+};

    // Picks the conditions out of the attributes: they hold for the parts of the handle, too.
    (@ [$($cfg:tt)*] [[cfg $condition:tt] $($rest:tt)*] $($handle:tt)*) => {
        $crate::static_breaker! { @ [$($cfg)* #[cfg $condition]] [$($rest)*] $($handle)* }
    };
    (@ [$($cfg:tt)*] [[$($other:tt)*] $($rest:tt)*] $($handle:tt)*) => {
        $crate::static_breaker! { @ [$($cfg)*] [$($rest)*] $($handle)* }
    };

    (@ [$($cfg:tt)*] [] $(#[$($meta:tt)*])* $visibility:vis struct $name:ident: $breaker:ty = $builder:expr;) => {
        $(#[$($meta)*])*
        #[derive(Clone, Copy)]
        $visibility struct $name;

        // Nothing in here may have a name that the type and the value could mean: names of items are not hygienic.
        $($cfg)*
        const _: () = {
            type __Known = $crate::Known<$name>;
            type __Breaker = $crate::Breaker<
                <$breaker as $crate::AnyBreaker>::Clock,
                __Known,
                <$breaker as $crate::AnyBreaker>::Tally,
                <$breaker as $crate::AnyBreaker>::Observer,
                __Known,
            >;

            // Not a constant: one may not refer to a `static` that changes.
            const fn __builder() -> $crate::Builder<
                <$breaker as $crate::AnyBreaker>::Clock,
                <$breaker as $crate::AnyBreaker>::Word,
                <$breaker as $crate::AnyBreaker>::Tally,
                <$breaker as $crate::AnyBreaker>::Observer,
            > {
                $builder
            }

            static __WORD: <$breaker as $crate::AnyBreaker>::Word = __builder().into_word();
            static __BREAKER: __Breaker = __builder().build_known();

            impl $crate::StaticBreaker for $name {
                type Word = <$breaker as $crate::AnyBreaker>::Word;

                const RULES: $crate::Rules<$crate::BitsOf<$breaker>> = __builder().into_rules();

                #[inline]
                fn word() -> &'static Self::Word {
                    &__WORD
                }
            }

            impl $crate::AnyBreaker for $name {
                type Clock = <$breaker as $crate::AnyBreaker>::Clock;
                type Word = __Known;
                type Tally = <$breaker as $crate::AnyBreaker>::Tally;
                type Observer = <$breaker as $crate::AnyBreaker>::Observer;
                type Rules = __Known;

                #[inline]
                fn as_breaker(&self) -> &__Breaker {
                    &__BREAKER
                }
            }

            impl ::core::ops::Deref for $name {
                type Target = __Breaker;

                #[inline]
                fn deref(&self) -> &__Breaker {
                    &__BREAKER
                }
            }

            impl ::core::fmt::Debug for $name {
                fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    ::core::fmt::Debug::fmt(&__BREAKER, f)
                }
            }
        };
    };
}
