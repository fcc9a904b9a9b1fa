// SPDX-License-Identifier: MIT OR Apache-2.0
//! A handle of size zero does what a breaker with the same parts does, which the other histories hold against the
//! reference: same results, same transitions, same bits.

use std::ops::Deref;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use atomic_breaker::word::{AtomicU32, AtomicU64, Ticks, Word};
use atomic_breaker::{
    AnyBreaker, Breaker, Clock, Config, Control, EventLog, Known, LastCalls, ManualClock, Ratio,
    SharedClock, StaticBreaker, Tally, Token, Transition, static_breaker,
};
use proptest::prelude::*;
use tests::reference::{self, outcome};

use super::event::{Event, events};
use super::pair::restore;
use super::seed::check;

/// A clock whose dice a history throws.
struct Chance {
    clock: ManualClock,
    dice: AtomicU32,
}

impl Chance {
    const fn new() -> Self {
        Self {
            clock: ManualClock::new(),
            dice: AtomicU32::new(0),
        }
    }
}

impl Clock for Chance {
    fn now_ms(&self) -> u32 {
        self.clock.now_ms()
    }

    fn random(&self) -> u32 {
        self.dice.load(SeqCst)
    }
}

impl SharedClock for Chance {}

static CLOCK: Chance = Chance::new();
static LOG: EventLog<4> = EventLog::new();
type Log = &'static EventLog<4>;
type Of<W, T = ()> = Breaker<&'static Chance, W, T, Log>;

const PLAIN: Config = Config::new()
    .consecutive_failures(3)
    .probes(2)
    .close_after(2);
const GROWING: Config = PLAIN
    .exponential(2, Duration::from_secs(60))
    .jitter_percent(20);
const WINDOW: Config = Config::new()
    .failures_within(3, Duration::from_secs(5))
    .slow_call(Duration::from_millis(100))
    .linear(Duration::from_secs(1), Duration::from_secs(6))
    .gradual_return(10, Duration::from_secs(10));
const RATIO: Config = Config::new().failure_ratio(Ratio::percent(50).of_last(10).min_calls(4));

static_breaker! {
    struct Plain: Of<AtomicU32> = Breaker::builder(PLAIN, &CLOCK).word(AtomicU32::new(0)).observer(&LOG);
    struct Growing: Of<AtomicU64> = Breaker::builder(GROWING, &CLOCK).word(AtomicU64::new(0)).observer(&LOG);
    struct Window: Of<Ticks<AtomicU32, 2>> =
        Breaker::builder(WINDOW, &CLOCK).word(Ticks(AtomicU32::new(0))).observer(&LOG);
    struct ByRatio: Of<AtomicU64, LastCalls> = Breaker::builder(RATIO, &CLOCK)
        .word(AtomicU64::new(0))
        .last_calls(LastCalls::new())
        .observer(&LOG);
}

/// The events and results of both so far.
struct Side<'a, C, W: Word, T, O, R> {
    breaker: &'a Breaker<C, W, T, O, R>,
    clock: &'a Chance,
    log: &'a EventLog<4>,
    held: Vec<Token<W::Bits>>,
}

impl<
    C: SharedClock,
    W: Word,
    T: Tally,
    O: atomic_breaker::Observer,
    R: atomic_breaker::AsRules<W::Bits>,
> Side<'_, C, W, T, O, R>
where
    Breaker<C, W, T, O, R>: Control,
{
    fn take(&mut self, caller: usize) -> Option<Token<W::Bits>> {
        let count = self.held.len();
        (count != 0).then(|| self.held.remove(count - 1 - caller % count))
    }

    /// The result of the event, in words.
    fn step(&mut self, event: Event) -> String {
        let answer: Option<Transition> = match event {
            Event::Acquire(dice) => {
                self.clock.dice.store(dice, SeqCst);
                match self.breaker.acquire() {
                    Ok(permit) => self.held.push(permit.into_token()),
                    Err(rejected) => return format!("{rejected:?}"),
                }
                None
            }
            Event::Report(caller, report) => self
                .take(caller)
                .and_then(|token| self.breaker.resume(token).report(outcome(report))),
            Event::Drop(caller) => self
                .take(caller)
                .and_then(|token| self.breaker.resume(token).cancel()),
            Event::DropAttempt(caller) => {
                drop(
                    self.take(caller)
                        .map(|token| self.breaker.resume(token).failing_when_dropped()),
                );
                None
            }
            Event::Operator(command) => reference::command(self.breaker, command),
            Event::Restore(asleep) => return format!("{:?}", restore(self.breaker, asleep)),
            Event::RestoreRunning => return format!("{:?}", self.breaker.restore_running()),
            Event::Advance(ms) => {
                self.clock.clock.advance(Duration::from_millis(ms));
                None
            }
            Event::AdvanceToDeadline(more) => {
                if let Some(wait) = self.breaker.snapshot().retry_in() {
                    let ms = wait.as_millis() as i64 + more;
                    self.clock
                        .clock
                        .advance(Duration::from_millis(ms.max(0).cast_unsigned()));
                }
                None
            }
            Event::StepBack(ms) => {
                self.clock.clock.step_back(Duration::from_millis(ms));
                None
            }
            _ => None,
        };
        format!("{answer:?}, reported {:?}", self.log.pop())
    }
}

/// Starts the static one over: other histories have used it.
fn start_over<H: StaticBreaker>(fresh: <H::Word as Word>::Bits) {
    let word = H::word();
    while word
        .compare_exchange_weak(word.load(SeqCst), fresh, SeqCst, SeqCst)
        .is_err()
    {}
}

fn is_the_same<H, W: Word, T: Tally>(
    name: &str,
    handle: &H,
    config: Config,
    word: fn() -> W,
    tally: fn() -> T,
) where
    H: StaticBreaker<Word = W>
        + AnyBreaker<
            Clock = &'static Chance,
            Word = Known<H>,
            Tally = T,
            Observer = Log,
            Rules = Known<H>,
        > + Deref<Target = Breaker<&'static Chance, Known<H>, T, Log, Known<H>>>,
{
    check(name, 2_000, &events(64), |history| {
        let (clock, log) = (Chance::new(), EventLog::new());
        let plain = Breaker::builder(config, &clock)
            .word(word())
            .tally(tally())
            .observer(&log)
            .build();
        start_over::<H>(plain.to_bits());
        CLOCK.clock.set_ms(0);
        CLOCK.dice.store(0, SeqCst);
        handle.tally().clear();
        while LOG.pop().is_some() {}
        let mut one = Side {
            breaker: handle,
            clock: &CLOCK,
            log: &LOG,
            held: Vec::new(),
        };
        let mut other = Side {
            breaker: &plain,
            clock: &clock,
            log: &log,
            held: Vec::new(),
        };
        for event in history {
            prop_assert_eq!(one.step(event), other.step(event));
            prop_assert_eq!(handle.snapshot(), plain.snapshot());
            prop_assert_eq!(handle.to_bits(), plain.to_bits());
        }
        Ok(())
    });
}

/// One test, because all handles have one clock.
#[test]
fn a_history_of_a_handle_is_that_of_a_breaker_with_the_same_parts() {
    is_the_same("plain", &Plain, PLAIN, || AtomicU32::new(0), || ());
    is_the_same("growing", &Growing, GROWING, || AtomicU64::new(0), || ());
    is_the_same(
        "window",
        &Window,
        WINDOW,
        || Ticks::<_, 2>(AtomicU32::new(0)),
        || (),
    );
    is_the_same(
        "ratio",
        &ByRatio,
        RATIO,
        || AtomicU64::new(0),
        LastCalls::new,
    );
}
