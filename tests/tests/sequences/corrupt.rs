//! Any bits are a state, or are healed once; and no history wedges a breaker.

use std::time::Duration;

use atomic_breaker::word::{AtomicU32, AtomicU64, Bits, Word};
use atomic_breaker::{
    Breaker, Cause, Config, EventLog, ManualClock, Permit, State, Token, Transition,
};
use proptest::prelude::*;
use tests::reference::{Grain, Order, Report, Rules};

use super::any;

#[derive(Clone, Copy, Debug)]
enum Event {
    Ask,
    /// Of a permit of this breaker, by number modulo those there are.
    Tell(usize, Report),
    /// Of a permit with any bits whatever.
    TellAnything(u64, u32, Report),
    Drop(usize),
    Operator(Order),
    Advance(u64),
    StepBack(u64),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        12 => Just(Event::Ask),
        8 => (any::<usize>(), any::reports())
            .prop_map(|(caller, report)| Event::Tell(caller, report)),
        4 => (any_bits(), any::<u32>(), any::reports())
            .prop_map(|(bits, started, report)| Event::TellAnything(bits, started, report)),
        2 => any::<usize>().prop_map(Event::Drop),
        2 => any::orders().prop_map(Event::Operator),
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

/// The epoch field of any bits and the number of epochs, by the documented layout: what the breaker
/// itself says of a corrupt word is what is tested.
fn epoch_of<B: Bits>(bits: B) -> (u16, u16) {
    let (shift, epochs) = if size_of::<B>() == 4 {
        (10, 16)
    } else {
        (18, 512)
    };
    ((bits.to_u64() >> shift) as u16 % epochs, epochs)
}

type Real<'a, W> = Breaker<&'a ManualClock, W, (), &'a EventLog<512>>;

fn act<W: Word>(real: &Real<'_, W>, held: &mut Vec<Token<W::Bits>>, event: Event) {
    match event {
        Event::Ask => held.extend(real.acquire().map(Permit::into_token)),
        Event::TellAnything(bits, started, report) => {
            let token = Token::from_raw(W::Bits::from_u64(bits), started);
            real.resume(token).report(any::outcome(report));
        }
        Event::Tell(..) | Event::Drop(_) if held.is_empty() => {}
        Event::Tell(caller, report) => {
            let token = held.swap_remove(caller % held.len());
            real.resume(token).report(any::outcome(report));
        }
        Event::Drop(caller) => {
            let token = held.swap_remove(caller % held.len());
            drop(real.resume(token));
        }
        Event::Operator(Order::Trip) => real.trip(),
        Event::Operator(Order::ForceOpen) => real.force_open(),
        Event::Operator(Order::Release) => real.release(),
        Event::Operator(Order::Reset) => real.reset(),
        Event::Operator(Order::Disable) => real.disable(),
        Event::Operator(Order::Enable) => real.enable(),
        Event::Operator(Order::ProbeNow) => real.probe_now(),
        Event::Advance(ms) => real.clock().advance(Duration::from_millis(ms)),
        Event::StepBack(ms) => real.clock().step_back(Duration::from_millis(ms)),
    }
}

/// A breaker over any word, in use: every pattern that it leaves behind is a state, what it tells
/// joins up, and whoever waits as told gets through.
fn survives<W: Word + From<W::Bits>>(
    bits: W::Bits,
    rules: &Rules,
    now: u32,
    events: &[Event],
) -> Result<(), TestCaseError> {
    let clock = ManualClock::starting_at(now);
    let log = EventLog::<512>::new();
    let real = Breaker::from_parts(W::from(bits), rules.config(), &clock, (), &log);
    let is_corrupt = bits.check().is_err();
    prop_assert_eq!(real.check().is_err(), is_corrupt);
    let mut state = real.state();
    let (mut epoch, epochs) = epoch_of(bits);
    if is_corrupt {
        prop_assert_eq!(state, State::Closed, "reads as what takes its place");
    }
    let mut held = Vec::new();
    for &event in events {
        act(&real, &mut held, event);
        prop_assert!(
            real.check().is_ok() || real.to_bits() == bits,
            "{:?}",
            event
        );
    }
    // All permits are lost. Whoever waits as told gets through, in two turns at most: an open
    // breaker, then probes that are lost.
    let forced = |state| state == State::ForcedOpen;
    for _ in 0..2 {
        let Err(rejected) = real.acquire() else { break };
        let wait = rejected.retry_in();
        prop_assert_eq!(wait.is_none(), forced(rejected.state()));
        clock.advance(wait.unwrap_or_default());
    }
    prop_assert!(real.acquire().is_ok() || forced(real.state()));
    real.reset();
    prop_assert!(real.check().is_ok());

    let told: Vec<Transition> = std::iter::from_fn(|| log.pop()).collect();
    for told in &told {
        prop_assert_eq!(told.from, state);
        prop_assert_eq!(told.epoch, (epoch + 1) % epochs);
        (state, epoch) = (told.to, told.epoch);
    }
    prop_assert_eq!(state, real.state());
    let mut causes = told.iter().map(|told| told.cause);
    prop_assert_eq!(causes.next() == Some(Cause::CorruptWord), is_corrupt);
    prop_assert!(
        causes.all(|cause| cause != Cause::CorruptWord),
        "healed twice"
    );
    Ok(())
}

/// One call over a corrupt word: it is admitted, and after its report the breaker is a fresh one.
fn is_healed_by_a_call<W: Word + From<W::Bits>>(
    bits: W::Bits,
    report: Report,
) -> Result<(), TestCaseError> {
    let clock = ManualClock::new();
    let log = EventLog::<512>::new();
    let real = Breaker::over(W::from(bits), Config::new(), &clock).with_observer(&log);
    let (epoch, epochs) = epoch_of(bits);
    prop_assert_eq!(real.snapshot().epoch(), (epoch + 1) % epochs);
    prop_assert_eq!(real.snapshot().failures(), 0);
    let permit = real.acquire();
    prop_assert!(permit.is_ok());
    permit.unwrap().report(any::outcome(report));
    // A report of nothing leaves a word alone that looks closed; a failure does not.
    if let Ok(permit) = real.acquire() {
        permit.failure();
    }
    let healed = log.pop();
    prop_assert_eq!(healed.map(|told| told.cause), Some(Cause::CorruptWord));
    prop_assert_eq!(
        healed.map(|told| (told.from, told.to)),
        Some((State::Closed, State::Closed))
    );
    prop_assert_eq!(healed.map(|told| told.epoch), Some((epoch + 1) % epochs));
    prop_assert_ne!(log.pop().map(|told| told.cause), Some(Cause::CorruptWord));
    prop_assert_eq!(real.check(), Ok(()));
    Ok(())
}

proptest! {
    #![proptest_config(any::config(5_000))]

    #[test]
    fn any_64_bits_are_a_state_or_are_healed_and_never_wedge(
        bits in any_bits(),
        rules in any::rules(Grain::WIDE),
        now in any::<u32>(),
        events in prop::collection::vec(event(), 0..300),
    ) {
        survives::<AtomicU64>(bits, &rules, now, &events)?;
    }

    #[test]
    fn any_32_bits_are_a_state_or_are_healed_and_never_wedge(
        bits in any_bits(),
        rules in any::ticks().prop_flat_map(|n| any::rules(Grain::narrow(1 << n))),
        now in any::<u32>(),
        events in prop::collection::vec(event(), 0..300),
    ) {
        survives::<AtomicU32>(bits as u32, &rules, now, &events)?;
    }

    #[test]
    fn a_corrupt_word_is_healed_by_a_call(
        bits in any_bits().prop_filter("corrupt", |bits| bits.check().is_err()),
        report in any::reports(),
    ) {
        is_healed_by_a_call::<AtomicU64>(bits, report)?;
    }

    #[test]
    fn a_corrupt_narrow_word_is_healed_by_a_call(
        bits in any_bits()
            .prop_map(|bits| bits as u32)
            .prop_filter("corrupt", |bits| bits.check().is_err()),
        report in any::reports(),
    ) {
        is_healed_by_a_call::<AtomicU32>(bits, report)?;
    }
}
