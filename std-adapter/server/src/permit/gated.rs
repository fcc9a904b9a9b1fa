//! What a gate looks at before it asks for a permit.

use std::task::Waker;
use std::time::Duration;

use atomic_breaker::{AnyBreaker, BitsOf, Clock, Observer, State, word::Bits};

use super::OneBreaker;

/// What `GateLayer` requires in addition to [`Admit`](crate::Admit): a look at the breaker that all of its requests go
/// through. Each [`OneBreaker`] allows it, and `Key` of a registry.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not lead to one breaker for all requests",
    note = "pass a `&'static` reference to, or an `Arc` of, a `Breaker` or a `Resource`; for one key of a registry, a `Key`"
)]
pub trait Gated {
    /// The state of the breaker.
    fn state(&self) -> State;

    /// The epoch of its word.
    fn epoch(&self) -> u16;

    /// Wakes this task at the next transition, if it can, and returns whether it will:
    /// [`Observer::wake_on_change`](crate::Observer::wake_on_change).
    fn wake_on_change(&self, waker: &Waker) -> bool;

    /// A random number, spread evenly over all its values.
    fn random(&self) -> u32;

    /// How long a probe may take.
    fn lease(&self) -> Duration;
}

impl<S: OneBreaker> Gated for S {
    #[inline]
    fn state(&self) -> State {
        self.one_breaker().as_breaker().state()
    }

    fn epoch(&self) -> u16 {
        self.one_breaker().as_breaker().snapshot().epoch()
    }

    fn wake_on_change(&self, waker: &Waker) -> bool {
        let breaker = self.one_breaker().as_breaker();
        breaker.observer().wake_on_change(waker)
    }

    fn random(&self) -> u32 {
        self.one_breaker().as_breaker().clock().random()
    }

    fn lease(&self) -> Duration {
        lease_of(self.one_breaker())
    }
}

fn lease_of<B: AnyBreaker>(breaker: &B) -> Duration {
    let longest_ms = <BitsOf<B> as Bits>::LAYOUT.max_ms();
    let lease_ms = breaker.as_breaker().config().lease_ms(longest_ms);
    Duration::from_millis(lease_ms.into())
}
