// SPDX-License-Identifier: MIT OR Apache-2.0
//! The breaker that a gate looks at before it asks for a permit.

use std::sync::Arc;
use std::time::Duration;

use atomic_breaker::{
    AnyBreaker, AsRules, BitsOf, Breaker, Clock, Observer, Tally,
    wait::Awaited,
    word::{Bits, Word},
};

/// The requirement of a `GateLayer` in addition to [`Admit`](crate::Admit): a look at the breaker that all of its
/// requests go through. Implemented for references and `Arc`s of a breaker or of a [`Resource`](crate::Resource), and
/// for a [`KeyGuard`](crate::KeyGuard) of a registry.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not lead to one breaker for all requests",
    note = "pass a `&'static` reference to, or an `Arc` of, a `Breaker` or a `Resource`; for one key of a registry, a `KeyGuard`"
)]
pub trait OneBreaker {
    /// The state that a request would meet.
    type Awaited: Awaited;

    /// The state that a request would meet.
    fn awaited(&self) -> &Self::Awaited;

    /// The time limit of a probe.
    fn lease(&self) -> Duration;
}

macro_rules! lead_to_breaker {
    ($handle:ty) => {
        impl<C, W, T, O, R> OneBreaker for $handle
        where
            C: Clock,
            W: Word,
            T: Tally,
            O: Observer,
            R: AsRules<W::Bits>,
        {
            type Awaited = Breaker<C, W, T, O, R>;

            fn awaited(&self) -> &Self::Awaited {
                self
            }

            fn lease(&self) -> Duration {
                lease_of(self)
            }
        }
    };
}

lead_to_breaker!(&Breaker<C, W, T, O, R>);
lead_to_breaker!(Arc<Breaker<C, W, T, O, R>>);

pub(crate) fn lease_of<B: AnyBreaker>(breaker: &B) -> Duration {
    let longest_ms = <BitsOf<B> as Bits>::LAYOUT.max_ms();
    let lease_ms = breaker.as_breaker().config().lease_ms(longest_ms);
    Duration::from_millis(lease_ms.into())
}
