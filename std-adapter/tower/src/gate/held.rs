//! A permit that is held until the call.

use atomic_breaker::Outcome;

use crate::AnyPermit;

/// A permit whose call has not begun. Dropping it gives it back, however long it was held: a permit cancelled late
/// would count as a call that hung.
#[derive(Debug)]
pub(super) struct Held<P: AnyPermit>(Option<P>);

impl<P: AnyPermit> Held<P> {
    pub(super) const fn new(permit: P) -> Self {
        Self(Some(permit))
    }

    /// Whether it is still valid; if so, its time starts again.
    pub(super) fn renew(&mut self) -> bool {
        self.0.as_mut().is_some_and(AnyPermit::renew)
    }

    /// Takes the permit for the call.
    pub(super) fn into_permit(mut self) -> Option<P> {
        self.0.take()
    }
}

impl<P: AnyPermit> Drop for Held<P> {
    fn drop(&mut self) {
        if let Some(permit) = self.0.take() {
            permit.report(Outcome::Ignored);
        }
    }
}
