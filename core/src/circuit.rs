// SPDX-License-Identifier: MIT OR Apache-2.0
//! The content of a word as a value: what the machine works on.

use crate::state::State;
use crate::word::code::{
    CLOSED, DISABLED, DISABLED_OVER_FORCED_OPEN, FORCED_OPEN, FORCED_OPEN_OVER_DISABLED, HALF_OPEN,
    OPEN, OTHER,
};
use crate::word::{self, Bits, Field, Peek, open_time};

/// The content of a word, sound by construction. Read and changed field by field, so that a step of
/// the machine is a few shifts and masks. Times and durations are in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Circuit<B>(B);

impl<B: Bits> Circuit<B> {
    /// The circuit of a word that is known to be valid.
    pub(crate) const fn of_valid(word: B) -> Self {
        Self(word)
    }

    /// The circuit of a word, if a breaker could have written it.
    pub(crate) fn decode(word: B) -> Option<Self> {
        word::is_valid(word).then_some(Self(word))
    }

    /// The circuit of a word. One that no breaker writes counts as healed.
    pub(crate) fn of(word: B) -> Self {
        Self::decode(word).unwrap_or_else(|| Self::healed(word))
    }

    /// The replacement for a word that no breaker writes: fresh and closed, in the next epoch, so that permits granted
    /// before are stale.
    pub(crate) fn healed(corrupt: B) -> Self {
        Self(corrupt).enter(State::Closed)
    }

    /// The word.
    pub(crate) fn bits(self) -> B {
        self.0
    }

    pub(crate) fn state(self) -> State {
        let has_trips = self.trips() != 0;
        match self.get(B::LAYOUT.state) {
            CLOSED if has_trips => State::Returning,
            CLOSED => State::Closed,
            OPEN => State::Open,
            OTHER if !has_trips => match self.get(B::LAYOUT.payload) {
                DISABLED | DISABLED_OVER_FORCED_OPEN => State::Disabled,
                _ => State::ForcedOpen,
            },
            _ => State::HalfOpen,
        }
    }

    /// Closed or returning: failures are counted.
    pub(crate) fn counts_failures(self) -> bool {
        self.get(B::LAYOUT.state) == CLOSED
    }

    pub(crate) fn is_open(self) -> bool {
        self.get(B::LAYOUT.state) == OPEN
    }

    /// Half-open, in the first round or after lost ones.
    pub(crate) fn is_half_open(self) -> bool {
        self.0.to_u64() & const { B::LAYOUT.state.put(HALF_OPEN) } != 0 && !self.0.is_held()
    }

    /// A few bits that identify the state, for [`state_of`](Self::state_of).
    pub(crate) fn trace(self) -> u32 {
        let payload = self.get(B::LAYOUT.payload) & 7;
        self.get(B::LAYOUT.state) | payload << 2 | u32::from(self.trips() != 0) << 5
    }

    /// The state of a circuit with this [`trace`](Self::trace).
    pub(crate) fn state_of(trace: u32) -> State {
        let layout = B::LAYOUT;
        let bits = layout.state.put(trace & 3)
            | layout.payload.put(trace >> 2 & 7)
            | layout.trips.put(trace >> 5 & 1);
        Self(B::from_u64(bits)).state()
    }

    pub(crate) fn epoch(self) -> u32 {
        self.get(B::LAYOUT.epoch)
    }

    pub(crate) fn trips(self) -> u32 {
        self.get(B::LAYOUT.trips)
    }

    /// Closed: start of the window of failures, 0 when none is open. Otherwise as [the table](crate::word) says.
    pub(crate) fn time(self) -> u32 {
        self.get(B::LAYOUT.time)
    }

    /// While closed or returning.
    pub(crate) fn failures(self) -> u32 {
        self.get(B::LAYOUT.payload)
    }

    /// While open.
    pub(crate) fn open_for(self) -> u32 {
        open_time::ticks(B::LAYOUT.precision, self.get(B::LAYOUT.open_for))
    }

    /// While open.
    pub(crate) fn is_demanded(self) -> bool {
        self.get(B::LAYOUT.demanded) != 0
    }

    /// Rounds of probes lost in a row, while half-open.
    pub(crate) fn lost(self) -> u32 {
        if self.has_lost() {
            self.get(B::LAYOUT.lost) + 1
        } else {
            0
        }
    }

    /// Returns whether this is half-open after lost rounds. Only asked while half-open.
    pub(crate) fn has_lost(self) -> bool {
        self.get(B::LAYOUT.state) == OTHER
    }

    /// While half-open.
    pub(crate) fn in_flight(self) -> u32 {
        self.get(self.in_flight_field())
    }

    /// After lost rounds there is one probe at a time.
    fn in_flight_field(self) -> Field {
        if self.has_lost() {
            B::LAYOUT.busy
        } else {
            B::LAYOUT.in_flight
        }
    }

    /// While half-open.
    pub(crate) fn successes(self) -> u32 {
        self.get(B::LAYOUT.successes)
    }

    /// Returns whether the time is the same as in `other`.
    pub(crate) fn is_same_time(self, other: B) -> bool {
        B::LAYOUT.time.get(self.0.to_u64() ^ other.to_u64()) == 0
    }

    /// Returns whether a held breaker is both forced open and disabled.
    pub(crate) fn is_held_twice(self) -> bool {
        self.get(B::LAYOUT.payload) >= DISABLED_OVER_FORCED_OPEN
    }

    /// The next epoch, in `state`, with nothing counted yet.
    pub(crate) fn enter(self, state: State) -> Self {
        match state {
            State::Closed | State::Returning => self.begin(CLOSED, 0),
            State::Open => self.begin(OPEN, 0),
            State::HalfOpen => self.begin(HALF_OPEN, 0),
            State::ForcedOpen => self.begin(OTHER, FORCED_OPEN),
            State::Disabled => self.begin(OTHER, DISABLED),
        }
    }

    /// [`enter`](Self::enter) the later of two commands; the other shows again when it ends.
    pub(crate) fn hold_over(self, later: State) -> Self {
        match later {
            State::Disabled => self.begin(OTHER, DISABLED_OVER_FORCED_OPEN),
            _ => self.begin(OTHER, FORCED_OPEN_OVER_DISABLED),
        }
    }

    /// The next epoch, half-open after this many lost rounds, with one probe in flight. Successes of the rounds before
    /// still count.
    pub(crate) fn enter_round(self, lost: u32) -> Self {
        let layout = B::LAYOUT;
        if lost == 0 {
            let one = layout.in_flight.put(1);
            return self.begin(HALF_OPEN, layout.payload.get(one));
        }
        let rounds = layout.lost.put(lost.min(layout.max_lost) - 1) | layout.busy.put(1);
        let kept = self.0.to_u64() & (layout.successes.mask() | layout.epoch.mask());
        let next = kept | rounds | layout.state.put(OTHER);
        // The epoch is the topmost field, so that it wraps without a carry: 8 bytes less than `begin` on a Cortex-M0.
        Self(B::from_u64(next.wrapping_add(layout.epoch.put(1))))
    }

    fn begin(self, state: u32, payload: u32) -> Self {
        let layout = B::LAYOUT;
        let epoch = (self.epoch() + 1) & layout.epoch.max();
        let bits = layout.state.put(state) | layout.payload.put(payload) | layout.epoch.put(epoch);
        Self(B::from_u64(bits))
    }

    pub(crate) fn with_trips(self, trips: u32) -> Self {
        self.set(B::LAYOUT.trips, trips)
    }

    pub(crate) fn with_time(self, time: u32) -> Self {
        self.set(B::LAYOUT.time, time)
    }

    pub(crate) fn with_failures(self, failures: u32) -> Self {
        self.set(B::LAYOUT.payload, failures)
    }

    /// With this many more failures: no more in all than fit.
    pub(crate) fn with_more_failures(self, weight: u32) -> Self {
        Self(B::from_u64(self.0.to_u64() + B::LAYOUT.payload.put(weight)))
    }

    /// With an open time of at least this many ticks, and how many were stored: it is rounded up.
    pub(crate) fn with_open_for(self, ticks: u32) -> (Self, u32) {
        let (code, stored) = open_time::encode(B::LAYOUT.precision, ticks);
        (self.set(B::LAYOUT.open_for, code), stored)
    }

    pub(crate) fn with_demanded(self, is_demanded: bool) -> Self {
        self.set(B::LAYOUT.demanded, is_demanded.into())
    }

    pub(crate) fn with_probes(self, in_flight: u32, successes: u32) -> Self {
        self.set(self.in_flight_field(), in_flight)
            .set(B::LAYOUT.successes, successes)
    }

    fn get(self, field: Field) -> u32 {
        field.get(self.0.to_u64())
    }

    /// Every value that the machine sets fits: counts are bounded by the checked configuration,
    /// times are masked by [`TimeBase`](crate::time::TimeBase).
    fn set(self, field: Field, value: u32) -> Self {
        let others = self.0.to_u64() & !field.mask();
        Self(B::from_u64(others | field.put(value)))
    }
}
