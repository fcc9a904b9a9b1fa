//! A breaker behind the C interface and the reference side by side.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

use atomic_breaker::word::{Retained, Word};
use atomic_breaker::{Breaker, Clock as _, Config, ManualClock};
use atomic_breaker_c::at::At;
use atomic_breaker_c::types::{CRules, CSettings, CToken, Raw, UNTIL_RELEASED};
use proptest::prelude::*;
use tests::reference::{Command, Growth, Permit, Reference, Report, Rules, Trip, View, retry_in};

use super::event::Event;
use super::through::{How, Side, Since};

/// What `passing.rs` moves.
pub(crate) struct Chance {
    pub(crate) clock: ManualClock,
}

/// For `passing.rs`, which knows breakers with memory.
pub(crate) trait Memory {}
impl Memory for () {}

type Token<W> = CToken<<<W as Word>::Bits as Raw>::Number>;

fn bytes<N: Copy>(token: CToken<N>) -> Vec<u8> {
    let at = (&raw const token).cast::<u8>();
    // A token of 64 bits ends with bytes that say nothing.
    (0..size_of::<N>() + 4)
        .map(|byte| unsafe { *at.add(byte) })
        .collect()
}

fn token<N: Copy + Default>(bytes: &[u8]) -> CToken<N> {
    let mut token = CToken::default();
    let at = (&raw mut token).cast::<u8>();
    for (byte, value) in bytes.iter().enumerate() {
        unsafe { *at.add(byte) = *value };
    }
    token
}

/// A breaker that only C changes, and the reference; and the permits that both granted.
pub(crate) struct Pair<W: Word, T> {
    kept: Box<Retained<W>>,
    pub(crate) clock: Chance,
    sets: Vec<(Rules, Box<CRules<W::Bits>>)>,
    rules: usize,
    pub(crate) reference: Reference,
    /// The tokens as bytes, because `passing.rs` knows nothing of them.
    pub(crate) held: Vec<(Vec<u8>, Permit)>,
    /// Permits alias after this many transitions.
    epochs: u64,
    pub(crate) seen: HashMap<String, usize>,
    memory: PhantomData<T>,
}

/// Where the reference's own time starts, a multiple of every wrap: a history cannot step back to 0.
const ORIGIN: u64 = 1 << 44;

/// Without a setting, a failure may demand at most 5 minutes.
const MAX_RETRY_AFTER: u64 = 300_000;

/// The rules as C sets them.
fn settings(rules: &Rules) -> CSettings {
    let (failures, window_ms) = match rules.trip {
        Trip::InARow(failures) => (failures, 0),
        Trip::Within(failures, window) => (failures, window as u32),
        Trip::ByRatio => unreachable!("needs memory"),
    };
    let (growth_percent, growth_step_ms, max_open_ms) = match rules.growth {
        Some(Growth::Times(factor, max)) => (100 * factor as u32, 0, max as u32),
        Some(Growth::Percent(percent, max)) => (percent as u32, 0, max as u32),
        Some(Growth::Plus(step, max)) => (0, step as u32, max as u32),
        None => (0, 0, 0),
    };
    CSettings {
        failures,
        window_ms,
        open_ms: rules.open_for as u32,
        growth_percent,
        growth_step_ms,
        max_open_ms,
        jitter_percent: rules.jitter.0 as u32,
        seed: rules.jitter.1,
        max_retry_after_ms: rules.max_retry_after.unwrap_or(MAX_RETRY_AFTER) as u32,
        probes: rules.probes as u32,
        close_after: rules.close_after,
        probe_lease_ms: rules.lease as u32,
        cancel_limit_ms: rules.cancel_limit as u32,
        slow_call_ms: rules.slow.unwrap_or(0) as u32,
        return_first_percent: rules.returning.map_or(0, |back| back.first_percent as u32),
        return_over_ms: rules.returning.map_or(0, |back| back.over as u32),
    }
}

/// Rules that C has checked.
fn checked<B: Side>(settings: &CSettings) -> Result<Box<CRules<B>>, String> {
    let mut rules = Box::new(MaybeUninit::<CRules<B>>::uninit());
    match B::init(rules.as_mut_ptr(), settings) {
        None => Ok(unsafe { rules.assume_init() }),
        Some(message) => Err(format!("{message}: {settings:?}")),
    }
}

impl<W: Word<Bits: Side<Word = W>> + Default> Pair<W, ()> {
    pub(crate) fn new(rules: &[Rules], start: u32) -> Result<Self, String> {
        let sets = rules.iter().map(|rules| {
            let grain = rules.grain.wrapping();
            checked(&settings(rules)).map(|c| (Rules { grain, ..*rules }, c))
        });
        let sets = sets.collect::<Result<Vec<_>, _>>()?;
        let kept = Box::new(Retained::over(W::default()));
        kept.set_mark(if size_of::<W>() == 4 { 6 } else { 0 });
        Ok(Self {
            kept,
            clock: Chance {
                clock: ManualClock::starting_at(start),
            },
            reference: Reference::new(sets[0].0, ORIGIN + u64::from(start)),
            rules: 0,
            sets,
            held: Vec::new(),
            seen: HashMap::new(),
            epochs: if size_of::<W>() == 4 { 16 } else { 512 },
            memory: PhantomData,
        })
    }

    fn rules(&self) -> *const CRules<W::Bits> {
        &raw const *self.sets[self.rules].1
    }

    fn now_ms(&self) -> u32 {
        self.clock.clock.now_ms()
    }

    pub(crate) fn step(&mut self, event: Event) -> Result<(), TestCaseError> {
        if let Event::LoseRounds(count) = event {
            for _ in 0..count {
                self.step(Event::Acquire(0))?;
                self.step(Event::AdvanceToDeadline(0))?;
            }
            return Ok(());
        }
        self.reference.noticed = None;
        match event {
            Event::Acquire(_) => self.acquire()?,
            Event::Advance(_)
            | Event::AdvanceToDeadline(_)
            | Event::AdvanceToEdge(..)
            | Event::AdvanceToWrap(..)
            | Event::StepBack(_) => self.pass_time(event),
            _ => {
                if let Some(has_changed) = self.act(event)? {
                    prop_assert_eq!(has_changed, self.reference.noticed.is_some(), "{:?}", event);
                }
            }
        }
        self.compare()?;
        if let Some(notice) = self.reference.noticed {
            *self.seen.entry(format!("{:?}", notice.cause)).or_default() += 1;
        }
        let (generation, epochs) = (self.reference.generation, self.epochs);
        self.held
            .retain(|(_, permit)| generation - permit.generation < epochs);
        Ok(())
    }

    fn acquire(&mut self) -> Result<(), TestCaseError> {
        let now_ms = self.now_ms();
        // What the library draws at this millisecond.
        let dice = At { now_ms, entropy: 0 }.random();
        let permit = W::Bits::acquire(self.kept.word(), self.rules(), now_ms);
        match self.reference.acquire(dice) {
            Ok(granted) => {
                prop_assert!(permit.admitted);
                self.held.push((bytes(permit.token), granted));
            }
            Err(wait) => {
                prop_assert!(!permit.admitted);
                let wait = retry_in(self.reference.state(), wait);
                prop_assert_eq!(
                    permit.wait_ms,
                    wait.map_or(UNTIL_RELEASED, |time| time.as_millis() as u32)
                );
                prop_assert!(permit.token == CToken::default());
            }
        }
        Ok(())
    }

    /// Reports to the real breaker, and checks that the token has been used up.
    fn report(&self, how: How, mut token: Token<W>) -> Result<bool, TestCaseError> {
        let tell = |token: &mut Token<W>| {
            W::Bits::report(how, self.kept.word(), self.rules(), token, self.now_ms())
        };
        let has_changed = tell(&mut token);
        prop_assert!(!tell(&mut token), "reported twice");
        Ok(has_changed)
    }

    /// Applies the event to both breakers. Returns whether the real one says that its state has changed.
    fn act(&mut self, event: Event) -> Result<Option<bool>, TestCaseError> {
        Ok(match event {
            Event::Report(caller, report) => match self.take(caller) {
                Some((token, permit)) => {
                    let (how, report) = match report {
                        Report::Success => (How::Report(true), report),
                        Report::Failure(1) | Report::Slow => {
                            (How::Report(false), Report::Failure(1))
                        }
                        Report::Failure(weight) => (How::Failures(weight), report),
                        Report::TripAtOnce | Report::RetryAfter(0) => {
                            (How::Down(0), Report::TripAtOnce)
                        }
                        Report::RetryAfter(ms) => (How::Down(ms as u32), report),
                        Report::Nothing => (How::Ignore, report),
                    };
                    let has_changed = self.report(how, token)?;
                    self.reference.drawn = self.drawn();
                    self.reference.report(permit, report);
                    Some(has_changed)
                }
                None => None,
            },
            Event::Drop(caller) => match self.take(caller) {
                Some((token, permit)) => {
                    let has_changed = self.report(How::Cancel, token)?;
                    self.reference.drawn = self.drawn();
                    self.reference.drop_permit(permit);
                    Some(has_changed)
                }
                None => None,
            },
            Event::DropAttempt(caller) => match self.take(caller) {
                Some((token, permit)) => {
                    let has_changed = self.report(How::Report(false), token)?;
                    self.reference.drawn = self.drawn();
                    self.reference.report(permit, Report::Failure(1));
                    Some(has_changed)
                }
                None => None,
            },
            Event::Renew(caller) => {
                if let Some((mut token, mut permit)) = self.take(caller) {
                    let (word, rules) = (self.kept.word(), self.rules());
                    let holds = W::Bits::report(How::Renew, word, rules, &mut token, self.now_ms());
                    prop_assert_eq!(holds, self.reference.renew(&mut permit));
                    self.held.push((bytes(token), permit));
                }
                None
            }
            Event::Lose(caller) => {
                let _ = self.take(caller);
                None
            }
            Event::Operator(command) => self.command(command),
            Event::Restore(asleep) => {
                let most = |ms| u32::try_from(ms).unwrap_or(u32::MAX);
                let since = asleep.map_or(Since::Unknown, |ms| Since::After(most(ms)));
                prop_assert!(self.restore(since));
                self.reference.restore(asleep);
                None
            }
            Event::RestoreRunning => {
                prop_assert!(self.restore(Since::Running));
                self.reference.restore_running();
                None
            }
            Event::Rules(number) => {
                self.rules = number % self.sets.len();
                self.reference.rules = self.sets[self.rules].0;
                None
            }
            _ => None,
        })
    }

    fn restore(&self, since: Since) -> bool {
        W::Bits::restore(since, &raw const *self.kept, self.rules(), self.now_ms())
    }

    fn command(&mut self, command: Command) -> Option<bool> {
        let (which, number) = match command {
            Command::Trip => (0, 0),
            Command::TripFor(ms) => (0, ms as u32),
            Command::ForceOpen => (1, 0),
            Command::Release => (2, 0),
            Command::Disable => (3, 0),
            Command::Enable => (4, 0),
            Command::Reset => (5, 0),
            Command::ProbeNow => (6, 0),
            // Not offered: nothing of C pings meanwhile.
            Command::ProbeEarly => return None,
        };
        let command = if let Command::TripFor(0) = command {
            Command::Trip
        } else {
            command
        };
        let has_changed =
            W::Bits::command(which, self.kept.word(), self.rules(), number, self.now_ms());
        self.reference.drawn = self.drawn();
        self.reference.command(command);
        Some(has_changed)
    }

    fn take(&mut self, caller: usize) -> Option<(Token<W>, Permit)> {
        let count = self.held.len();
        (count != 0).then(|| {
            let (bytes, permit) = self.held.remove(count - 1 - caller % count);
            (token(&bytes), permit)
        })
    }

    /// The word as the core sees it.
    fn view(&self) -> atomic_breaker::Snapshot {
        let config = tests::reference::Rules::config(&self.sets[self.rules].0);
        let rules = atomic_breaker::Rules::<W::Bits>::try_new(config)
            .unwrap_or_else(|_| atomic_breaker::Rules::new(Config::new()));
        Breaker::from_parts(self.kept.word(), rules, &self.clock.clock, (), ()).snapshot()
    }

    /// The open time from now on, in ticks, if it is open: drawn at random now or earlier.
    fn drawn(&self) -> Option<u64> {
        let snapshot = self.view();
        let open_for = snapshot.open_for()?.as_millis() as u32;
        let deadline = snapshot.opened_at_ms()?.wrapping_add(open_for);
        let tick = self.reference.rules.grain.tick;
        let stamp = self.reference.now.next_multiple_of(tick);
        let left = deadline.wrapping_sub(stamp as u32);
        (left <= 1 << 31).then_some(u64::from(left) / tick)
    }

    fn compare(&self) -> Result<(), TestCaseError> {
        let snapshot = self.view();
        let expected = self.reference.view();
        prop_assert_eq!(View::from(snapshot), expected);
        let epoch = self.reference.generation % self.epochs;
        prop_assert_eq!(u64::from(snapshot.epoch()), epoch);

        // What C sees.
        let seen = W::Bits::snapshot(self.kept.word(), self.rules(), self.now_ms());
        let state = expected.state as u32;
        prop_assert_eq!(W::Bits::state(self.kept.word()) as u32, state);
        prop_assert_eq!(
            (seen.state, seen.failures, seen.trips, u64::from(seen.epoch)),
            (state, expected.failures, expected.trips, epoch)
        );
        let wait = match (expected.wait, expected.retry_in) {
            (None, _) => 0,
            (Some(_), Some(time)) => time.as_millis() as u32,
            (Some(_), None) => UNTIL_RELEASED,
        };
        prop_assert_eq!(seen.wait_ms, wait);
        Ok(())
    }
}
