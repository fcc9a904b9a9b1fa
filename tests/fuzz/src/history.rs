// SPDX-License-Identifier: MIT OR Apache-2.0
//! Histories beside the reference: those of `tests/sequences`, with the fuzzer's bytes in place of random numbers.

#[path = "../../tests/sequences/any.rs"]
mod any;
#[expect(dead_code, reason = "strategies, in place of which the bytes decide")]
#[path = "../../tests/sequences/event.rs"]
mod event;
#[path = "../../tests/sequences/pair.rs"]
mod pair;
#[path = "../../tests/sequences/passing.rs"]
mod passing;
#[path = "../../tests/sequences/rules.rs"]
mod rules;

use atomic_breaker::LastCalls;
use atomic_breaker::word::{AtomicU32, AtomicU64, Ticks, Word};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use tests::reference::{Command, Grain, Report};

use crate::draw::Draw;
use event::Event;
use pair::{Memory, Pair};
use rules::{Kind, rule_sets};

/// Of a 64-bit word; the first byte says by which kind of rules.
pub(crate) fn wide(bytes: &[u8]) {
    let word = AtomicU64::new(0);
    let Some((kind, bytes)) = bytes.split_first() else {
        return;
    };
    match kind % 3 {
        0 => play(word, (), Grain::WIDE, Kind::Plain, bytes),
        1 => play(word, (), Grain::WIDE, Kind::WithJitter, bytes),
        _ => {
            let memory = LastCalls::over(AtomicU64::new(0));
            play(word, memory, Grain::WIDE, Kind::WithRatio(59), bytes);
        }
    }
}

/// Of a 32-bit word; the first byte says with which ticks and by which kind of rules.
pub(crate) fn narrow(bytes: &[u8]) {
    let Some((first, bytes)) = bytes.split_first() else {
        return;
    };
    match first % 3 {
        0 => narrow_of::<0>(first / 3, bytes),
        1 => narrow_of::<6>(first / 3, bytes),
        _ => narrow_of::<16>(first / 3, bytes),
    }
}

fn narrow_of<const N: u32>(kind: u8, bytes: &[u8]) {
    let word = Ticks::<_, N>(AtomicU32::new(0));
    let grain = Grain::narrow(1 << N);
    match kind % 3 {
        0 => play(word, (), grain, Kind::Plain, bytes),
        1 => play(word, (), grain, Kind::WithJitter, bytes),
        _ => {
            let memory = LastCalls::over(AtomicU32::new(0));
            play(word, memory, grain, Kind::WithRatio(27), bytes);
        }
    }
}

fn play<W: Word>(word: W, memory: impl Memory, grain: Grain, kind: Kind, bytes: &[u8]) {
    let Some((seed, bytes)) = bytes.split_first_chunk::<4>() else {
        return;
    };
    // The rules are drawn as they are elsewhere; the bytes are the events.
    let mut seed = seed.repeat(8);
    seed[31] ^= 1;
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let rules = rule_sets(grain, kind).new_tree(&mut runner).expect("rules");
    let start = u32::from_le_bytes([seed[0], seed[1], seed[2], seed[3]]);
    let mut pair = Pair::new(word, memory, &rules.current(), start).expect("rules that fit");
    let mut bytes = Draw(bytes);
    while let Some(event) = bytes.event() {
        if let Err(failed) = pair.step(event) {
            panic!("{failed}, at {event:?}");
        }
    }
}

/// Events as bytes: what, and with which numbers.
impl Draw<'_> {
    fn report(&mut self) -> Option<Report> {
        Some(match self.byte()? % 7 {
            0 | 1 => Report::Success,
            2 => Report::Failure(self.byte()?.into()),
            3 => Report::TripAtOnce,
            4 => Report::RetryAfter(self.time()?),
            5 => Report::TripFor(self.time()?),
            _ => Report::Nothing,
        })
    }

    fn command(&mut self) -> Option<Command> {
        Some(match self.byte()? % 9 {
            0 => Command::Trip,
            1 => Command::TripFor(self.time()?),
            2 => Command::ForceOpen,
            3 => Command::Release,
            4 => Command::Reset,
            5 => Command::Disable,
            6 => Command::Enable,
            7 => Command::ProbeNow,
            _ => Command::ProbeEarly,
        })
    }

    /// A few steps to either side.
    fn near(&mut self) -> Option<i64> {
        Some(i64::from(self.byte()? % 5) - 2)
    }

    /// Some wraps later, near the time that the word holds, or as far from it as a clock may step back.
    fn wrap(&mut self) -> Option<Event> {
        const FAR: [i64; 5] = [-65_536, -64, 0, 64, 65_536];
        let wraps = 1 + i64::from(self.byte()? % 3);
        let ticks = FAR[self.small(FAR.len())?] + self.near()?;
        Some(Event::AdvanceToWrap(
            wraps,
            ticks,
            (self.byte()? % 3).into(),
        ))
    }

    fn event(&mut self) -> Option<Event> {
        Some(match self.byte()? % 24 {
            0..6 => Event::Acquire(u32::from(self.byte()?) << 24),
            6..11 => Event::Report(self.small(5)?, self.report()?),
            11 => Event::Renew(self.small(5)?),
            12 => Event::Drop(self.small(5)?),
            13 => Event::DropAttempt(self.small(5)?),
            14 => Event::Lose(self.small(5)?),
            15 => Event::LoseRounds(1 + self.small(20)?),
            16 => Event::Operator(self.command()?),
            17 => Event::Restore(match self.byte()? % 2 {
                0 => None,
                _ => Some(self.time()?),
            }),
            18 => Event::RestoreRunning,
            19 => Event::Rules(self.small(3)?),
            20 => Event::Advance(self.time()?),
            21 => Event::AdvanceToDeadline(self.near()?),
            22 => match self.small(8)? {
                edge @ 0..5 => Event::AdvanceToEdge(edge, self.near()?),
                _ => self.wrap()?,
            },
            _ => Event::StepBack(self.time()?),
        })
    }
}
