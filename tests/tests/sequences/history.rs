//! Histories on either word come out as the reference's.
//!
//! The reference knows where the time of the word wraps ([`Grain::wrapping`]), so histories go on past
//! it, and clocks step back as far as they like. Permits are lost before their epoch comes round.

use std::time::Duration;

use atomic_breaker::word::{AtomicU32, AtomicU64, Word};
use atomic_breaker::{Breaker, EventLog, ManualClock, State, Token};
use proptest::prelude::*;
use tests::reference::{Grain, Mode, Order, Pass, Reference, Report, Rules, View};

use super::any;

/// What can happen in a history. Callers are numbers modulo those there are.
#[derive(Clone, Copy, Debug)]
enum Event {
    Ask,
    Tell(usize, Report),
    /// A permit is dropped.
    Drop(usize),
    /// A token is forgotten.
    Lose(usize),
    Operator(Order),
    /// Milliseconds.
    Advance(u64),
    /// To just before, at or after what a caller would be told to wait.
    AdvanceToDeadline(i64),
    /// To so many wraps and ticks, and a few milliseconds, after the time that the word holds.
    AdvanceToWrap(i64, i64, u64),
    StepBack(u64),
}

/// Distances from the wrap at which something ends or begins, in ticks, and the ticks beside them.
fn edges(guard: i64) -> impl Strategy<Value = i64> {
    (prop::sample::select(vec![-guard, 0, guard]), -2_i64..=2).prop_map(|(edge, near)| edge + near)
}

fn events(guard: i64) -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        24 => Just(Event::Ask),
        20 => (any::<usize>(), any::reports())
            .prop_map(|(caller, report)| Event::Tell(caller, report)),
        3 => any::<usize>().prop_map(Event::Drop),
        1 => any::<usize>().prop_map(Event::Lose),
        2 => any::orders().prop_map(Event::Operator),
        6 => (0_u64..2_000).prop_map(Event::Advance),
        2 => any::times().prop_map(Event::Advance),
        8 => (-1_i64..3).prop_map(Event::AdvanceToDeadline),
        2 => (1_i64..4, edges(guard), 0_u64..3)
            .prop_map(|(wraps, ticks, ms)| Event::AdvanceToWrap(wraps, ticks, ms)),
        2 => (0_u64..3_000).prop_map(Event::StepBack),
        1 => any::times().prop_map(Event::StepBack),
    ];
    prop::collection::vec(event, 1..300)
}

/// The real breaker and the reference, and the permits that both granted.
struct Pair<'a, W: Word> {
    real: Breaker<&'a ManualClock, W, (), &'a EventLog<4>>,
    reference: Reference,
    held: Vec<(Token<W::Bits>, Pass)>,
    /// Permits alias after so many transitions.
    epochs: u64,
}

impl<W: Word> Pair<'_, W> {
    fn step(&mut self, event: Event) -> Result<(), TestCaseError> {
        self.reference.told = None;
        match event {
            Event::Ask => match (self.real.acquire(), self.reference.ask()) {
                (Ok(permit), Ok(pass)) => {
                    prop_assert_eq!(permit.is_probe(), pass.is_probe);
                    self.held.push((permit.into_token(), pass));
                }
                (Err(rejected), Err(wait)) => {
                    prop_assert_eq!(rejected.retry_in_ms().map(u64::from), wait);
                    prop_assert_eq!(rejected.state(), self.reference.state());
                }
                (real, wait) => prop_assert!(false, "{:?}, reference {:?}", real, wait),
            },
            Event::Tell(caller, report) => {
                if let Some((token, pass)) = self.take(caller) {
                    self.real.resume(token).report(any::outcome(report));
                    self.reference.hear(pass, report);
                }
            }
            Event::Drop(caller) => {
                if let Some((token, pass)) = self.take(caller) {
                    drop(self.real.resume(token));
                    self.reference.hear(pass, Report::Nothing);
                }
            }
            Event::Lose(caller) => drop(self.take(caller)),
            Event::Operator(order) => self.obey(order),
            Event::Advance(ms) => self.advance(ms),
            Event::AdvanceToDeadline(more) => {
                let wait = self.reference.wait().unwrap_or(0);
                self.advance(wait.saturating_add_signed(more));
            }
            Event::AdvanceToWrap(wraps, ticks, ms) => self.advance_to_wrap(wraps, ticks, ms),
            Event::StepBack(ms) => {
                self.reference.now -= ms;
                self.real.clock().step_back(Duration::from_millis(ms));
            }
        }
        self.compare()?;
        let generation = self.reference.generation;
        let epochs = self.epochs;
        self.held
            .retain(|(_, pass)| generation - pass.generation < epochs);
        Ok(())
    }

    fn take(&mut self, caller: usize) -> Option<(Token<W::Bits>, Pass)> {
        let count = self.held.len();
        (count != 0).then(|| self.held.swap_remove(caller % count))
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Trip => self.real.trip(),
            Order::ForceOpen => self.real.force_open(),
            Order::Release => self.real.release(),
            Order::Reset => self.real.reset(),
            Order::Disable => self.real.disable(),
            Order::Enable => self.real.enable(),
            Order::ProbeNow => self.real.probe_now(),
        }
        self.reference.obey(order);
    }

    fn advance(&mut self, ms: u64) {
        self.reference.now += ms;
        self.real.clock().advance(Duration::from_millis(ms));
    }

    fn advance_to_wrap(&mut self, wraps: i64, ticks: i64, ms: u64) {
        let grain = self.reference.rules.grain;
        let stored = match self.reference.mode {
            Mode::Closed {
                failures,
                window_began,
            } if failures != 0 => window_began,
            Mode::Open { began, .. } => began,
            Mode::Probing { last, .. } => last,
            _ => self.reference.now / grain.tick,
        };
        let far = wraps * grain.wrap.map_or(0, |wrap| wrap.ticks) + ticks;
        let to = stored.saturating_add_signed(far) * grain.tick + ms;
        self.advance(to.saturating_sub(self.reference.now).min(MOST_AT_ONCE));
    }

    fn compare(&mut self) -> Result<(), TestCaseError> {
        let told = self.real.observer().pop();
        prop_assert_eq!(self.real.observer().pop(), None, "told twice");
        let expected = self.reference.told;
        prop_assert_eq!(told.is_some(), expected.is_some(), "{:?}", expected);
        if let (Some(told), Some(expected)) = (told, expected) {
            prop_assert_eq!((told.from, told.to), (expected.from, expected.to));
            prop_assert_eq!(told.cause, expected.cause);
            prop_assert_eq!(u32::from(told.trips), expected.trips);
            prop_assert_eq!(told.at_ms, self.reference.now as u32);
            let opened = u64::from(told.open_for_ms);
            let bounds = expected.open_for..=expected.longest.max(expected.open_for);
            prop_assert!(bounds.contains(&opened), "{} in {:?}", opened, bounds);
            if told.to == State::Open {
                self.reference.stay_open_for(opened);
            }
        }

        let snapshot = self.real.snapshot();
        prop_assert_eq!(View::from(snapshot), self.reference.view());
        let epoch = self.reference.generation % self.epochs;
        prop_assert_eq!(u64::from(snapshot.epoch()), epoch);
        prop_assert_eq!(self.real.check(), Ok(()));
        Ok(())
    }
}

/// No single event moves the clock further, so that the whole history stays in range: 200 days, which
/// is four wraps of the 64-bit word.
const MOST_AT_ONCE: u64 = 200 * 86_400_000;

/// Where the reference's own time starts, a multiple of every wrap: a history cannot step back to 0.
const ORIGIN: u64 = 1 << 44;

fn play<W: Word>(
    word: W,
    rules: &Rules,
    start: u32,
    epochs: u64,
    events: &[Event],
) -> Result<(), TestCaseError> {
    let rules = Rules {
        grain: rules.grain.wrapping(),
        ..*rules
    };
    let clock = ManualClock::starting_at(start);
    let log = EventLog::new();
    let real = Breaker::try_from_parts(word, rules.config(), &clock, (), &log)
        .map_err(|error| TestCaseError::fail(error.to_string()))?;
    let mut pair = Pair {
        real,
        reference: Reference::new(rules, ORIGIN + u64::from(start)),
        held: Vec::new(),
        epochs,
    };
    for &event in events {
        pair.step(event)?;
    }
    Ok(())
}

fn jitter() -> impl Strategy<Value = (u64, u32)> {
    (1_u64..=100, any::<u32>())
}

proptest! {
    #![proptest_config(any::config(10_000))]

    #[test]
    fn a_history_on_the_64_bit_word_is_the_references(
        rules in any::rules(Grain::WIDE),
        start in any::<u32>(),
        events in events(1 << 16),
    ) {
        play(AtomicU64::new(0), &rules, start, 512, &events)?;
    }

    #[test]
    fn a_history_on_the_32_bit_word_is_the_references(
        rules in any::ticks().prop_flat_map(|n| any::rules(Grain::narrow(1 << n))),
        start in any::<u32>(),
        events in events(64),
    ) {
        play(AtomicU32::new(0), &rules, start, 16, &events)?;
    }

    #[test]
    fn a_history_with_jitter_on_the_64_bit_word_stays_within_the_references_bounds(
        rules in any::rules_with_jitter(Grain::WIDE, jitter()),
        start in any::<u32>(),
        events in events(1 << 16),
    ) {
        play(AtomicU64::new(0), &rules, start, 512, &events)?;
    }

    #[test]
    fn a_history_with_jitter_on_the_32_bit_word_stays_within_the_references_bounds(
        rules in any::ticks()
            .prop_flat_map(|n| any::rules_with_jitter(Grain::narrow(1 << n), jitter())),
        start in any::<u32>(),
        events in events(64),
    ) {
        play(AtomicU32::new(0), &rules, start, 16, &events)?;
    }
}
