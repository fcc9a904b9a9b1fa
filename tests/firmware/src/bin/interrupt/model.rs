// SPDX-License-Identifier: MIT OR Apache-2.0
//! The breaker of the storm once more, as a plain struct whose rounds never wrap.

use atomic_breaker_embassy::State;

pub const FAILURES: u16 = 2;
pub const PROBES: u8 = 3;
pub const CLOSE_AFTER: u8 = 4;
pub const OPEN_MS: u32 = 1;
/// The epochs of a 32-bit word.
pub const EPOCHS: u32 = 16;
const MOST_TRIPS: u8 = 7;
/// The open time in the word: a number this small stands for itself.
const OPEN_CODE: u32 = OPEN_MS;
/// All but the time.
pub const TIMELESS: u32 = !(0x7FFF << 13);

/// The end of a permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Success,
    Failure,
    Tripping,
    Ignored,
    Cancelled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Acquire,
    /// Of a permit that was granted in this round.
    Report {
        round: u32,
        end: End,
    },
    ProbeNow,
    Reset,
}

/// The answer to the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Admitted {
        epoch: u16,
        is_probe: bool,
    },
    Rejected(State),
    /// The transition that it made: to which state, and in which epoch.
    Made(Option<(State, u16)>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model {
    pub state: State,
    /// Transitions so far.
    pub round: u32,
    /// The transitions to each [kind](kind) of state.
    pub made: [u32; 3],
    /// While open: when a call is admitted again.
    pub due_ms: u32,
    failures: u16,
    trips: u8,
    in_flight: u8,
    successes: u8,
}

/// 0 closed, 1 open, 2 half-open.
pub fn kind(state: State) -> usize {
    match state {
        State::Closed => 0,
        State::Open => 1,
        State::HalfOpen => 2,
        other => panic!("{other}"),
    }
}

impl Model {
    /// Closed after these transitions, with nothing counted.
    pub const fn new(made: [u32; 3]) -> Self {
        Self {
            state: State::Closed,
            round: made[0] + made[1] + made[2],
            made,
            due_ms: 0,
            failures: 0,
            trips: 0,
            in_flight: 0,
            successes: 0,
        }
    }

    pub fn epoch(&self) -> u16 {
        (self.round % EPOCHS) as u16
    }

    /// The word as [its table](atomic_breaker_embassy::word) says, but for the time.
    pub fn word(&self) -> u32 {
        let (state, payload) = match self.state {
            State::Open => (1, OPEN_CODE),
            State::HalfOpen => (
                2,
                u32::from(self.in_flight) << 4 | u32::from(self.successes),
            ),
            _ => (0, u32::from(self.failures)),
        };
        state | u32::from(self.trips) << 2 | payload << 5 | (self.round % EPOCHS) << 28
    }

    /// The next state of the model, and the answer.
    pub fn after(&self, operation: Operation, now_ms: u32) -> (Self, Answer) {
        match operation {
            Operation::Acquire => self.acquire(now_ms),
            Operation::Report { round, end } if round == self.round => self.report(end, now_ms),
            Operation::Report { .. } => self.nothing(),
            Operation::ProbeNow if self.state == State::Closed => self.nothing(),
            Operation::ProbeNow => self.made(State::HalfOpen, self.trips),
            Operation::Reset => self.made(State::Closed, 0),
        }
    }

    fn acquire(&self, now_ms: u32) -> (Self, Answer) {
        let mut next = *self;
        match self.state {
            State::Closed => {}
            State::Open if now_ms.wrapping_sub(self.due_ms).cast_signed() >= 0 => {
                next = self.enter(State::HalfOpen, self.trips);
                next.in_flight = 1;
            }
            State::HalfOpen if self.in_flight < (CLOSE_AFTER - self.successes).min(PROBES) => {
                next.in_flight += 1;
            }
            state => return (next, Answer::Rejected(state)),
        }
        let answer = Answer::Admitted {
            epoch: next.epoch(),
            is_probe: next.state == State::HalfOpen,
        };
        (next, answer)
    }

    fn report(&self, end: End, now_ms: u32) -> (Self, Answer) {
        let mut next = *self;
        let is_probe = self.state == State::HalfOpen;
        match end {
            End::Failure if !is_probe && self.failures + 1 < FAILURES => next.failures += 1,
            End::Failure | End::Tripping => {
                let (mut opened, answer) = self.made(State::Open, MOST_TRIPS.min(self.trips + 1));
                opened.due_ms = now_ms.wrapping_add(OPEN_MS);
                return (opened, answer);
            }
            End::Success if is_probe && self.successes + 1 == CLOSE_AFTER => {
                return self.made(State::Closed, 0);
            }
            End::Success if is_probe => {
                next.successes += 1;
                next.in_flight -= 1;
            }
            End::Success => next.failures = 0,
            End::Ignored | End::Cancelled if is_probe => next.in_flight -= 1,
            End::Ignored | End::Cancelled => {}
        }
        (next, Answer::Made(None))
    }

    fn nothing(&self) -> (Self, Answer) {
        (*self, Answer::Made(None))
    }

    fn made(&self, to: State, trips: u8) -> (Self, Answer) {
        let next = self.enter(to, trips);
        (next, Answer::Made(Some((to, next.epoch()))))
    }

    fn enter(&self, state: State, trips: u8) -> Self {
        let mut made = self.made;
        made[kind(state)] += 1;
        Self {
            state,
            trips,
            ..Self::new(made)
        }
    }
}
