// SPDX-License-Identifier: MIT OR Apache-2.0
//! Breakers with one arrow of the drawing mutated: the properties must find each.
//!
//! A mutated breaker does what the right one does, until it takes that arrow: then another word is left behind, or another
//! transition is told.

use atomic_breaker::{Cause, State, Transition};

use crate::arrows::Arrow;
use crate::form::Form;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutation {
    /// The word stays, and nothing is told.
    NotTaken,
    /// The word changes, and nothing is told.
    Silent,
    SameEpoch,
    TwoEpochs,
    /// To another state, and the right one is told.
    Elsewhere,
    /// To another state, which is told.
    ToldElsewhere,
    ToldFromElsewhere,
    ToldOtherCause,
    OneTripMore,
    NoTrips,
    OneTickLater,
    OneTickEarlier,
    /// One more failure counted, success counted, or step of the open time.
    OnePayloadMore,
    /// One more probe in flight.
    OneProbeMore,
}

impl Mutation {
    pub(crate) const ALL: [Self; 14] = [
        Self::NotTaken,
        Self::Silent,
        Self::SameEpoch,
        Self::TwoEpochs,
        Self::Elsewhere,
        Self::ToldElsewhere,
        Self::ToldFromElsewhere,
        Self::ToldOtherCause,
        Self::OneTripMore,
        Self::NoTrips,
        Self::OneTickLater,
        Self::OneTickEarlier,
        Self::OnePayloadMore,
        Self::OneProbeMore,
    ];
}

/// A mutation of one arrow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) arrow: Arrow,
    pub(crate) mutation: Mutation,
}

impl Fault {
    pub(crate) fn hits(self, made: &Transition) -> bool {
        self.arrow == (made.from, made.to, made.cause)
    }

    /// The word that is left behind.
    pub(crate) fn word<F: Form>(self, before: u64, after: u64) -> u64 {
        let field = |at: u32, width: u32, by: i64| {
            let mask = ((1 << width) - 1) << at;
            let value = (after & mask) >> at;
            let next = value.wrapping_add_signed(by) << at & mask;
            after & !mask | next
        };
        match self.mutation {
            Mutation::NotTaken => before,
            Mutation::SameEpoch => F::earlier(after, 1),
            Mutation::TwoEpochs => F::later(after, 1),
            Mutation::Elsewhere | Mutation::ToldElsewhere => self.elsewhere::<F>(after),
            Mutation::OneTripMore => field(2, F::TRIPS, 1),
            Mutation::NoTrips => field(2, F::TRIPS, -(after >> 2).cast_signed()),
            Mutation::OneTickLater => field(F::TIME_AT, F::TIME, 1),
            Mutation::OneTickEarlier => field(F::TIME_AT, F::TIME, -1),
            Mutation::OnePayloadMore => field(F::PAYLOAD_AT, F::PAYLOAD, 1),
            Mutation::OneProbeMore => {
                let half = F::PAYLOAD / 2;
                field(F::PAYLOAD_AT + half, half, 1)
            }
            Mutation::Silent | Mutation::ToldFromElsewhere | Mutation::ToldOtherCause => after,
        }
    }

    /// Half-open without a probe in flight, or closed: in the same epoch.
    fn elsewhere<F: Form>(self, after: u64) -> u64 {
        let epoch = after >> F::EPOCH_AT << F::EPOCH_AT;
        epoch | self.other_state().1
    }

    fn other_state(self) -> (State, u64) {
        match self.arrow.1 {
            State::HalfOpen => (State::Closed, 0),
            _ => (State::HalfOpen, 2),
        }
    }

    /// What the observer is told.
    pub(crate) fn told(self, made: Transition) -> Option<Transition> {
        let mut told = made;
        match self.mutation {
            Mutation::NotTaken | Mutation::Silent => return None,
            Mutation::ToldElsewhere => {
                told.to = self.other_state().0;
                told.trips = 0;
            }
            Mutation::ToldFromElsewhere => {
                told.from = match made.from {
                    State::Closed => State::HalfOpen,
                    _ => State::Closed,
                };
            }
            Mutation::ToldOtherCause => {
                told.cause = match made.cause {
                    Cause::Manual => Cause::FailureLimit,
                    _ => Cause::Manual,
                };
            }
            Mutation::OneTripMore => told.trips = made.trips.wrapping_add(1),
            Mutation::NoTrips => told.trips = 0,
            _ => {}
        }
        Some(told)
    }
}
