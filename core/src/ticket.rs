//! What a permit remembers.

use core::num::NonZeroU32;

use crate::circuit::Circuit;
use crate::state::State;
use crate::word::Bits;

/// The word when the permit was granted and, if slow calls are measured, the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct Ticket<B> {
    pub(crate) granted: B,
    /// Not zero, so that a ticket travels in two registers: a start at 0 is recorded as 1.
    pub(crate) started_ms: Option<NonZeroU32>,
}

impl<B: Bits> Ticket<B> {
    /// Whether it was granted while half-open.
    pub(crate) fn is_probe(self) -> bool {
        Circuit::decode(self.granted).is_some_and(|seen| seen.state() == State::HalfOpen)
    }
}
