//! The word, unpacked: what the machine works on.

use crate::error::{CorruptWord, Fault};
use crate::state::State;
use crate::word::{Bits, Layout, open_time};

/// The content of a word as a value. The machine maps one circuit to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Circuit {
    pub(crate) epoch: u32,
    pub(crate) trips: u32,
    pub(crate) phase: Phase,
}

/// The state with what belongs to it. Times and durations are in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Calls pass. `since` is the start of the window of failures, 0 when none is open.
    Closed { failures: u32, since: u32 },
    /// Calls are refused until `open_for` has passed since `since`.
    Open { open_for: u32, since: u32 },
    /// Probes pass. `last` is the time of the last admission.
    HalfOpen {
        in_flight: u32,
        successes: u32,
        last: u32,
    },
    /// An operator refuses every call.
    ForcedOpen,
    /// An operator lets every call pass.
    Disabled,
}

impl Phase {
    /// Closed with nothing counted.
    pub(crate) const CLEAR: Self = Self::Closed {
        failures: 0,
        since: 0,
    };
}

const CLOSED: u32 = 0;
const OPEN: u32 = 1;
const HALF_OPEN: u32 = 2;
const HELD: u32 = 3;

const FORCED_OPEN: u32 = 1;
const DISABLED: u32 = 2;

impl Circuit {
    pub(crate) fn state(self) -> State {
        match self.phase {
            Phase::Closed { .. } => State::Closed,
            Phase::Open { .. } => State::Open,
            Phase::HalfOpen { .. } => State::HalfOpen,
            Phase::ForcedOpen => State::ForcedOpen,
            Phase::Disabled => State::Disabled,
        }
    }

    /// Packs the circuit. Every circuit that the machine makes fits: counts are bounded by the
    /// checked configuration, times are masked by [`Timeline`](crate::time::Timeline).
    pub(crate) fn encode<B: Bits>(self) -> B {
        let layout = B::LAYOUT;
        let (state, load, time) = match self.phase {
            Phase::Closed { failures, since } => (CLOSED, failures, since),
            Phase::Open { open_for, since } => {
                (OPEN, open_time::code(layout.precision, open_for), since)
            }
            Phase::HalfOpen {
                in_flight,
                successes,
                last,
            } => (HALF_OPEN, in_flight << layout.half_load() | successes, last),
            Phase::ForcedOpen => (HELD, FORCED_OPEN, 0),
            Phase::Disabled => (HELD, DISABLED, 0),
        };
        B::from_u64(
            layout.state.put(state)
                | layout.load.put(load)
                | layout.epoch.put(self.epoch)
                | layout.trips.put(self.trips)
                | layout.time.put(time),
        )
    }

    /// Unpacks a word. Total: every pattern is a circuit or says what is wrong with it.
    pub(crate) fn decode<B: Bits>(word: B) -> Result<Self, CorruptWord> {
        let layout = B::LAYOUT;
        let bits = word.to_u64();
        let trips = layout.trips.get(bits);
        let load = layout.load.get(bits);
        let time = layout.time.get(bits);
        let phase = match layout.state.get(bits) {
            CLOSED => closed(load, trips, time),
            OPEN => open::<B>(load, trips, time),
            HALF_OPEN => Ok(Phase::HalfOpen {
                in_flight: load >> layout.half_load(),
                successes: load & layout.max_probes(),
                last: time,
            }),
            _ => held(load, trips, time),
        };
        Ok(Self {
            epoch: layout.epoch.get(bits),
            trips,
            phase: phase.map_err(|fault| CorruptWord::new(bits, fault))?,
        })
    }

    /// The fresh circuit that takes the place of a corrupt word: closed, in the next epoch.
    pub(crate) fn healed<B: Bits>(corrupt: B) -> Self {
        let epoch = B::LAYOUT.epoch;
        Self {
            epoch: (epoch.get(corrupt.to_u64()) + 1) & epoch.max(),
            trips: 0,
            phase: Phase::CLEAR,
        }
    }
}

fn closed(failures: u32, trips: u32, since: u32) -> Result<Phase, Fault> {
    if trips != 0 {
        return Err(Fault::ClosedWithTrips);
    }
    if failures == 0 && since != 0 {
        return Err(Fault::WindowWithoutFailures);
    }
    Ok(Phase::Closed { failures, since })
}

fn open<B: Bits>(code: u32, trips: u32, since: u32) -> Result<Phase, Fault> {
    let precision = B::LAYOUT.precision;
    if trips == 0 {
        return Err(Fault::OpenWithoutTrips);
    }
    if code > const { longest_code(B::LAYOUT) } {
        return Err(Fault::OpenTooLong);
    }
    Ok(Phase::Open {
        open_for: open_time::ticks(precision, code),
        since,
    })
}

const fn longest_code(layout: Layout) -> u32 {
    open_time::code(layout.precision, layout.max_ticks())
}

fn held(which: u32, trips: u32, time: u32) -> Result<Phase, Fault> {
    match which {
        _ if trips != 0 || time != 0 => Err(Fault::NotHeld),
        FORCED_OPEN => Ok(Phase::ForcedOpen),
        DISABLED => Ok(Phase::Disabled),
        _ => Err(Fault::NotHeld),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All 2³² narrow words would take a minute; the time field has no invalid values outside the
    /// cases below, so four of them stand for the rest.
    #[test]
    fn every_narrow_word_decodes_to_itself_or_to_an_error() {
        let mut valid = 0_u32;
        for low in 0..1_u32 << 17 {
            for time in [0, 1, 0x3FFF, 0x7FFF] {
                let word = time << 17 | low;
                if let Ok(circuit) = Circuit::decode(word) {
                    assert_eq!(circuit.encode::<u32>(), word, "{word:#x} is not canonical");
                    valid += 1;
                }
            }
        }
        // Per epoch: closed 1 + 4 · 255, open 7 trips · 177 codes · 4 times, half-open 8 · 256 · 4,
        // held 2.
        assert_eq!(valid, 16 * (1021 + 7 * 177 * 4 + 8 * 256 * 4 + 2));
    }

    #[test]
    fn the_zero_word_is_fresh_and_closed_in_both_layouts() {
        let fresh = Circuit {
            epoch: 0,
            trips: 0,
            phase: Phase::CLEAR,
        };
        assert_eq!(Circuit::decode(0_u32), Ok(fresh));
        assert_eq!(Circuit::decode(0_u64), Ok(fresh));
    }
}
