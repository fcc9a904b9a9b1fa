// SPDX-License-Identifier: MIT OR Apache-2.0
//! The recovery of a word that outlived its users: a reset, a restart, a loss of power.

use super::{Machine, Step};
use crate::circuit::Circuit;
use crate::clock::{Clock, Now};
use crate::config::TripRule;
use crate::observer::Cause;
use crate::state::State;
use crate::time::TimeBase;
use crate::word::{Bits, Peek};

impl<B: Bits> Machine<'_, B> {
    /// A word that outlived its users, but not its clock: no probe is in flight, and times go on.
    pub(crate) fn restore_running(circuit: Circuit<B>) -> Step<B> {
        if !circuit.is_half_open() {
            return Step::Keep;
        }
        let next = Self::probe(circuit).with_probes(0, circuit.successes());
        Step::Transition(next, Cause::Restored)
    }

    /// A word that outlived its users and its clock, at least this many milliseconds ago if that is known. The word's
    /// time means nothing any more, so a running time is over as far as the rest of the word tells.
    pub(crate) fn restore(
        self,
        circuit: Circuit<B>,
        asleep_ms: Option<u32>,
        now: &Now<'_, impl Clock>,
    ) -> Step<B> {
        let next = match circuit.state() {
            State::Open => {
                let kept = circuit
                    .enter(State::Open)
                    .with_trips(circuit.trips())
                    .with_demanded(circuit.is_demanded());
                match self.open_time_after(circuit, asleep_ms) {
                    // Over at once, and not with the next tick: a device may be awake for less.
                    0 => kept.with_time(B::stamp(now.ms() & !B::BELOW_A_TICK)),
                    left => Self::open_until(kept, left, now.ms()),
                }
            }
            // The word cannot tell how much of it has passed, so restored again and again it would never end.
            State::Returning => circuit.enter(State::Closed),
            State::Closed => match self.failures_after(circuit, asleep_ms, now) {
                Some(next) => next,
                None => return Step::Keep,
            },
            State::HalfOpen => return Self::restore_running(circuit),
            State::ForcedOpen | State::Disabled => return Step::Keep,
        };
        Step::Transition(next, Cause::Restored)
    }

    /// The rest of an open time, in ticks: always less than before, or a device that is restored again and again before
    /// the time is over would never probe.
    fn open_time_after(self, circuit: Circuit<B>, asleep_ms: Option<u32>) -> u32 {
        let stored = circuit.open_for();
        match asleep_ms {
            // On average, half of a time has passed when a reset comes. "At least nothing" is no more than that.
            None | Some(0) => stored / 2,
            Some(ms) => {
                // To the next shorter time that the word can hold.
                let least = (stored >> (B::LAYOUT.precision - 1)).max(1);
                let lasted = self.before_rounding(circuit);
                lasted.saturating_sub(least.max(ms >> B::SHIFT))
            }
        }
    }

    /// An open time as it was before it was rounded up to what the word holds, if the rules alone have set it: then they
    /// tell. Otherwise as the word holds it, which is later, never earlier.
    fn before_rounding(self, circuit: Circuit<B>) -> u32 {
        let stored = circuit.open_for();
        let own = B::ticks(self.own_open_ms(circuit.trips()));
        let is_own = self.config.jitter_percent == 0 && !circuit.is_demanded();
        if is_own && circuit.with_open_for(own).1 == stored {
            own
        } else {
            stored
        }
    }

    /// Closed, with a window of failures that began with the sleep, or a row that has lasted; `None` if there is neither.
    fn failures_after(
        self,
        circuit: Circuit<B>,
        asleep_ms: Option<u32>,
        now: &Now<'_, impl Clock>,
    ) -> Option<Circuit<B>> {
        let asleep = asleep_ms.unwrap_or(0) >> B::SHIFT;
        let (ago, is_over) = match self.config.trip {
            TripRule::Within { window_ms, .. } => (asleep, asleep >= B::ticks(window_ms)),
            // Resets that come sooner than that would keep it from tripping for ever.
            TripRule::Lasting { lasting_ms, .. } => (B::ticks(lasting_ms), false),
            TripRule::Consecutive { .. } | TripRule::TallyOnly => return None,
        };
        if circuit.failures() == 0 {
            return None;
        }
        let closed = circuit.enter(State::Closed);
        if is_over {
            return Some(closed);
        }
        let began = B::earlier(B::stamp(now.ms()), ago);
        Some(closed.with_failures(circuit.failures()).with_time(began))
    }

    /// Closed and fresh, whatever the word says.
    pub(crate) fn start_over(circuit: Circuit<B>) -> Step<B> {
        if circuit.bits().is_closed_and_clear() {
            // Already healed, or zeroed: nothing was mistaken for a state.
            return Step::Keep;
        }
        Step::Transition(circuit.enter(State::Closed), Cause::CorruptWord)
    }
}
