// SPDX-License-Identifier: MIT OR Apache-2.0
//! Any bits are a state or are healed once, and no history wedges a breaker.

use std::time::Duration;

use atomic_breaker::word::{AtomicU32, AtomicU64, Bits, Ticks, Word};
use atomic_breaker::{
    Breaker, Cause, Config, EventLog, ManualClock, Permit, State, Token, Transition, Wait,
};
use proptest::prelude::*;
use tests::reference::{self, Command, Grain, Report, Rules, outcome};

use super::any;
use super::pair::restore;
use super::rules::{Kind, rules};
use super::seed::check;

#[derive(Clone, Copy, Debug)]
enum Event {
    Acquire,
    /// The report of a permit of this breaker, by number modulo their count.
    Report(usize, Report),
    /// The report of a permit with any bits.
    ReportAnything(u64, u32, Report),
    Drop(usize),
    /// A permit with any bits is dropped.
    DropAnything(u64, u32),
    Operator(Command),
    /// After this many milliseconds, if they are known.
    Restore(Option<u64>),
    RestoreRunning,
    Advance(u64),
    StepBack(u64),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        12 => Just(Event::Acquire),
        8 => (any::<usize>(), any::reports())
            .prop_map(|(caller, report)| Event::Report(caller, report)),
        4 => (any_bits(), any::<u32>(), any::reports())
            .prop_map(|(bits, started, report)| Event::ReportAnything(bits, started, report)),
        2 => any::<usize>().prop_map(Event::Drop),
        1 => (any_bits(), any::<u32>())
            .prop_map(|(bits, started)| Event::DropAnything(bits, started)),
        2 => any::commands().prop_map(Event::Operator),
        1 => prop::option::of(any::times()).prop_map(Event::Restore),
        1 => Just(Event::RestoreRunning),
        5 => any::times().prop_map(Event::Advance),
        1 => any::times().prop_map(Event::StepBack),
    ]
}

/// Any bits; half of them with few bits set beside the state, so that both layouts meet small counts
/// and empty fields.
fn any_bits() -> impl Strategy<Value = u64> {
    let sparse = (any::<u64>(), any::<u64>(), any::<u64>(), 0_u64..4)
        .prop_map(|(a, b, c, state)| a & b & c & !3 | state);
    prop_oneof![any::<u64>(), sparse]
}

/// The epoch field of any bits and the number of epochs, by the documented layout, as the breaker's own report
/// of a corrupt word is under test.
fn epoch_of<B: Bits>(bits: B) -> (u16, u16) {
    let (shift, epochs) = if size_of::<B>() == 4 {
        (28, 16)
    } else {
        (55, 512)
    };
    ((bits.to_u64() >> shift) as u16 % epochs, epochs)
}

type Real<'a, W> = Breaker<&'a ManualClock, W, (), &'a EventLog<512>>;

/// Lets the event happen. Returns whether the word was found corrupt.
fn act<W: Word>(real: &Real<'_, W>, held: &mut Vec<Token<W::Bits>>, event: Event) -> bool {
    let any_token = |bits, started| Token::from_raw(W::Bits::from_u64(bits), started);
    match event {
        Event::Acquire => held.extend(real.acquire().map(Permit::into_token)),
        Event::ReportAnything(bits, started, report) => {
            real.resume(any_token(bits, started))
                .report(outcome(report));
        }
        Event::DropAnything(bits, started) => drop(real.resume(any_token(bits, started))),
        Event::Report(..) | Event::Drop(_) if held.is_empty() => {}
        Event::Report(caller, report) => {
            let token = held.swap_remove(caller % held.len());
            real.resume(token).report(outcome(report));
        }
        Event::Drop(caller) => {
            let token = held.swap_remove(caller % held.len());
            drop(real.resume(token));
        }
        Event::Operator(command) => {
            reference::command(real, command);
        }
        Event::Restore(asleep) => return restore(real, asleep).is_err(),
        Event::RestoreRunning => return real.restore_running().is_err(),
        Event::Advance(ms) => real.clock().advance(Duration::from_millis(ms)),
        Event::StepBack(ms) => real.clock().step_back(Duration::from_millis(ms)),
    }
    false
}

/// Uses a breaker over any word: every pattern that it leaves behind is a state, the transitions that it
/// reports join up, and a caller that waits as long as demanded gets through.
fn survives<W: Word + From<W::Bits>>(
    bits: W::Bits,
    rules: &Rules,
    now: u32,
    events: &[Event],
) -> Result<(), TestCaseError> {
    let clock = ManualClock::starting_at(now);
    let log = EventLog::<512>::new();
    let builder = Breaker::builder(rules.config(), &clock).word(W::from(bits));
    let real = builder.observer(&log).build();
    let is_corrupt = bits.check().is_err();
    prop_assert_eq!(real.check().is_err(), is_corrupt);
    let begun = (real.snapshot().entered(), epoch_of(bits));
    if is_corrupt {
        prop_assert_eq!(begun.0, State::Closed, "reads as what takes its place");
    }
    let mut held = Vec::new();
    for &event in events {
        let was_corrupt = real.check().is_err();
        let found_corrupt = act(&real, &mut held, event);
        prop_assert!(!found_corrupt || was_corrupt, "restored a state as corrupt");
        let is_left_alone = real.to_bits() == bits && was_corrupt;
        prop_assert!(real.check().is_ok() || is_left_alone, "{:?}", event);
    }
    gets_through(&real, &clock, rules.grain.wrapping())?;
    real.reset();
    prop_assert!(real.check().is_ok());
    joins_up(&log, begun, real.snapshot().entered(), is_corrupt)
}

/// All permits are lost. A caller that waits as long as demanded gets through at once: no later than the longest time that
/// the word holds and the guard band.
fn gets_through<W: Word>(
    real: &Real<'_, W>,
    clock: &ManualClock,
    grain: Grain,
) -> Result<(), TestCaseError> {
    let guard = grain.wrap.map_or(0, |wrap| wrap.guard.unsigned_abs());
    let longest = Duration::from_millis(grain.longest_ms() + guard * grain.tick);
    // A token is forgotten: a permit that is dropped might count as failed.
    let acquire = || real.acquire().map(Permit::into_token);
    let Err(rejected) = acquire() else {
        return Ok(());
    };
    match rejected.wait() {
        Wait::For(time) | Wait::AtMost(time) => {
            prop_assert!(time <= longest, "{:?}", time);
            clock.advance(time);
            prop_assert!(acquire().is_ok(), "after {:?}", time);
        }
        Wait::UntilReleased => prop_assert_eq!(rejected.state(), State::ForcedOpen),
    }
    Ok(())
}

/// The reports begin with the healing of a corrupt word, and each transition begins with the state and the
/// epoch in which the one before ended.
fn joins_up(
    log: &EventLog<512>,
    (mut state, (mut epoch, epochs)): (State, (u16, u16)),
    end: State,
    is_corrupt: bool,
) -> Result<(), TestCaseError> {
    let reported: Vec<Transition> = std::iter::from_fn(|| log.pop()).collect();
    for transition in &reported {
        prop_assert_eq!(transition.from, state);
        prop_assert_eq!(transition.epoch, (epoch + 1) % epochs);
        (state, epoch) = (transition.to, transition.epoch);
    }
    prop_assert_eq!(state, end);
    let mut causes = reported.iter().map(|transition| transition.cause);
    prop_assert_eq!(causes.next() == Some(Cause::CorruptWord), is_corrupt);
    prop_assert!(
        causes.all(|cause| cause != Cause::CorruptWord),
        "healed twice"
    );
    Ok(())
}

/// One call over a corrupt word is admitted, and after its report the breaker is a fresh one.
fn is_healed_by_a_call<W: Word + From<W::Bits>>(
    bits: W::Bits,
    report: Report,
) -> Result<(), TestCaseError> {
    let clock = ManualClock::new();
    let log = EventLog::<512>::new();
    let builder = Breaker::builder(Config::new(), &clock).word(W::from(bits));
    let real = builder.observer(&log).build();
    let (epoch, epochs) = epoch_of(bits);
    prop_assert_eq!(real.snapshot().epoch(), (epoch + 1) % epochs);
    prop_assert_eq!(real.snapshot().failures(), 0);
    let permit = real.acquire();
    prop_assert!(permit.is_ok());
    permit.unwrap().report(outcome(report));
    // An ignored call does not touch a word that looks closed; a failure does.
    if let Ok(permit) = real.acquire() {
        permit.failure();
    }
    let healed = log.pop();
    prop_assert_eq!(
        healed.map(|transition| transition.cause),
        Some(Cause::CorruptWord)
    );
    prop_assert_eq!(
        healed.map(|transition| (transition.from, transition.to)),
        Some((State::Closed, State::Closed))
    );
    prop_assert_eq!(
        healed.map(|transition| transition.epoch),
        Some((epoch + 1) % epochs)
    );
    prop_assert_ne!(
        log.pop().map(|transition| transition.cause),
        Some(Cause::CorruptWord)
    );
    prop_assert_eq!(real.check(), Ok(()));
    Ok(())
}

/// Plays this many histories over any bits.
#[track_caller]
fn check_survival<W: Word + From<W::Bits>>(name: &str, cases: u32, grain: Grain) {
    let events = prop::collection::vec(event(), 0..300);
    let cases_of = (any_bits(), rules(grain, Kind::Plain), any::<u32>(), events);
    check(name, cases, &cases_of, |(bits, rules, now, events)| {
        survives::<W>(W::Bits::from_u64(bits), &rules, now, &events)
    });
}

#[test]
fn any_64_bits_are_a_state_or_are_healed_and_never_wedge() {
    check_survival::<AtomicU64>("any 64 bits", 5_000, Grain::WIDE);
}

#[test]
fn any_32_bits_are_a_state_or_are_healed_and_never_wedge() {
    check_survival::<Ticks<AtomicU32, 0>>("any, 1 ms", 2_000, Grain::narrow(1));
    check_survival::<AtomicU32>("any, 64 ms", 2_000, Grain::narrow(64));
    check_survival::<Ticks<AtomicU32, 16>>("any, 65 s", 1_000, Grain::narrow(1 << 16));
}

#[test]
fn a_corrupt_word_is_healed_by_a_call() {
    let corrupt = any_bits().prop_filter("corrupt", |bits| bits.check().is_err());
    check(
        "corrupt, 64 bits",
        5_000,
        &(corrupt, any::reports()),
        |(bits, report)| is_healed_by_a_call::<AtomicU64>(bits, report),
    );
    let corrupt = any_bits()
        .prop_map(|bits| bits as u32)
        .prop_filter("corrupt", |bits| bits.check().is_err());
    check(
        "corrupt, 32 bits",
        5_000,
        &(corrupt, any::reports()),
        |(bits, report)| is_healed_by_a_call::<AtomicU32>(bits, report),
    );
}
