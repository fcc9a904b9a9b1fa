// SPDX-License-Identifier: MIT OR Apache-2.0
//! Many callers share one clock: checks how many pass, and that every report is counted.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use atomic_breaker::word::AtomicU64 as Wide;
use atomic_breaker::{Breaker, Cause, Config, ManualClock, Outcome, State, Token};
use tests::random::{Random, SEED};
use tests::words::Contended;

use super::audit::{Cell, Ledger, Narrow, contended};
use super::rounds;

const CALLERS: u64 = 6;
const TICK: Duration = Duration::from_millis(8);
/// Longer than the clock goes in a test, shorter than the longest time of a 32-bit word.
const NEVER: Duration = Duration::from_secs(120);
/// The clock starts shortly before its wrap, so that it wraps within each test.
const START: u32 = u32::MAX - 300;

type Stormy<'a, W> = Breaker<&'a ManualClock, &'a Contended<W>, (), &'a Ledger>;

/// The callers' record of one epoch.
#[derive(Default)]
struct Page {
    /// Probes known to be under way: no more than there are.
    in_flight: AtomicU32,
    /// Probes under way, and those that reported.
    claims: AtomicU32,
    /// Failures of calls that were admitted while closed.
    failures: AtomicU32,
}

struct Storm<'a, W: Cell> {
    breaker: Stormy<'a, W>,
    pages: Vec<Page>,
    probes: u32,
    close_after: u32,
}

impl<W: Cell> Storm<'_, W> {
    /// Makes one call and records it so that the record never exceeds the counts in the word.
    fn call(&self, random: &mut Random) {
        let Ok(permit) = self.breaker.acquire() else {
            // Lets the clock advance.
            return thread::yield_now();
        };
        let is_probe = permit.is_probe();
        let (granted, started_ms) = permit.into_token().into_raw();
        let page = &self.pages[W::epoch(granted)];
        if is_probe {
            let in_flight = 1 + page.in_flight.fetch_add(1, Ordering::SeqCst);
            assert!(in_flight <= self.probes, "{in_flight} probes in flight");
            let claims = 1 + page.claims.fetch_add(1, Ordering::SeqCst);
            assert!(claims <= self.close_after, "{claims} probes, too many");
        }
        if random.below(8) == 0 {
            thread::yield_now();
        }
        let outcome = random.below(16);
        if is_probe {
            page.in_flight.fetch_sub(1, Ordering::SeqCst);
            if outcome >= 13 {
                page.claims.fetch_sub(1, Ordering::SeqCst);
            }
        } else if (9..13).contains(&outcome) {
            page.failures.fetch_add(1, Ordering::SeqCst);
        }
        let permit = self.breaker.resume(Token::from_raw(granted, started_ms));
        match outcome {
            0..9 => permit.success(),
            9..13 => permit.failure(),
            13..15 => permit.report(Outcome::Ignored),
            _ => permit.cancel(),
        };
    }

    /// All callers rest, so the word and the record must agree.
    fn audit(&self) {
        let now = self.breaker.snapshot();
        let page = &self.pages[usize::from(now.epoch())];
        let reported = |count: &AtomicU32| count.load(Ordering::SeqCst);
        match now.entered() {
            State::Closed | State::Returning => {
                let failures = reported(&page.failures);
                assert_eq!(u32::from(now.failures()), failures, "each is counted");
            }
            State::HalfOpen => {
                assert_eq!(now.probes_in_flight(), 0, "every slot came back");
                let successes = reported(&page.claims);
                assert_eq!(u32::from(now.successes()), successes, "each is counted");
            }
            _ => {}
        }
        for (epoch, page) in self.pages.iter().enumerate() {
            assert_eq!(reported(&page.in_flight), 0);
            if epoch != usize::from(now.epoch()) {
                page.claims.store(0, Ordering::SeqCst);
                page.failures.store(0, Ordering::SeqCst);
            }
        }
    }
}

fn storm<W: Cell>(turns: u64, failures: u32, probes: u32, close_after: u32) {
    let config = Config::new()
        .failures_within(failures, NEVER)
        .open_for(TICK)
        .probes(probes)
        .close_after(close_after)
        .probe_lease(NEVER)
        // A dropped probe never counts as failed, however long the machine let it wait.
        .cancel_limit(NEVER);
    rage::<W>(turns, config);
    rage::<W>(turns, config.gradual_return(30, TICK / 4));
}

fn rage<W: Cell>(turns: u64, config: Config) {
    let (probes, close_after) = (u32::from(config.probes), config.needed_successes());
    let (word, clock, ledger) = (
        contended::<W>(),
        ManualClock::starting_at(START),
        Ledger::default(),
    );
    let storm = Storm {
        breaker: Breaker::builder(config, &clock)
            .word(&word)
            .observer(&ledger)
            .build(),
        pages: (0..W::EPOCHS).map(|_| Page::default()).collect(),
        probes,
        close_after,
    };
    // A call makes at most two transitions, one when it is admitted and one when it reports.
    let goes_on = || ledger.has_room_for::<W>(2 * CALLERS);
    let (transitions, returned) = (AtomicU64::new(0), AtomicU64::new(0));
    let mut before = storm.breaker.snapshot();
    rounds(
        CALLERS,
        turns,
        |random| {
            for _ in 0..500 {
                if !goes_on() {
                    break;
                }
                storm.call(random);
            }
        },
        || {
            for _ in 0..24 {
                clock.advance(TICK / 4);
                thread::yield_now();
            }
        },
        || {
            let after = storm.breaker.snapshot();
            let reported = ledger.chain::<W>(&before, &after);
            transitions.fetch_add(reported.len() as u64, Ordering::Relaxed);
            let ended = reported
                .iter()
                .filter(|made| made.cause == Cause::TrafficReturned);
            returned.fetch_add(ended.count() as u64, Ordering::Relaxed);
            storm.audit();
            before = after;
        },
    );

    // Not wedged.
    clock.advance(2 * TICK);
    assert!(storm.breaker.acquire().is_ok(), "{:?}", storm.breaker);
    let returned = returned.into_inner();
    assert_eq!(returned > 0, config.gradual_return.is_some());
    println!(
        "{}, {probes} probes, {close_after} to close, seed {SEED:#x}: {} calls, {} transitions, \
         {returned} gradual returns, {} exchanges lost to another thread",
        W::NAME,
        ledger.calls_ended(),
        transitions.into_inner(),
        word.lost(),
    );
}

#[test]
fn a_storm_of_callers_over_a_64_bit_word() {
    storm::<Wide>(400, 3, 1, 1);
    storm::<Wide>(400, 3, 2, 3);
    storm::<Wide>(400, 40, 4, 9);
}

#[test]
fn a_storm_of_callers_over_a_32_bit_word() {
    storm::<Narrow>(1_500, 3, 1, 1);
    storm::<Narrow>(1_500, 3, 2, 3);
    storm::<Narrow>(1_500, 40, 4, 9);
}

/// All callers come at exactly the deadline, again and again.
fn deadline<W: Cell>(turns: u64, probes: u32) {
    let config = Config::new()
        .open_for(TICK)
        .probes(probes)
        .probe_lease(NEVER);
    let (word, clock, ledger) = (
        contended::<W>(),
        ManualClock::starting_at(START),
        Ledger::default(),
    );
    let breaker: Stormy<'_, W> = Breaker::builder(config, &clock)
        .word(&word)
        .observer(&ledger)
        .build();
    let passed = AtomicU32::new(0);
    let trip = || {
        breaker.trip();
        clock.advance(breaker.snapshot().retry_in().unwrap());
    };
    let mut before = breaker.snapshot();
    trip();
    rounds(
        CALLERS,
        turns,
        |_| {
            for _ in 0..50 {
                if let Ok(permit) = breaker.acquire() {
                    assert!(permit.is_probe());
                    let _lost = permit.into_token();
                    passed.fetch_add(1, Ordering::Relaxed);
                }
            }
        },
        || {},
        || {
            assert_eq!(passed.swap(0, Ordering::Relaxed), probes, "all at once");
            assert_eq!(u32::from(breaker.snapshot().probes_in_flight()), probes);
            let after = breaker.snapshot();
            let reported = ledger.chain::<W>(&before, &after);
            let causes: Vec<_> = reported.iter().map(|made| made.cause).collect();
            assert_eq!(causes, [Cause::Manual, Cause::OpenTimeOver]);
            before = after;
            trip();
        },
    );
    println!(
        "{}, {probes} probes: {turns} deadlines, {} exchanges lost to another thread",
        W::NAME,
        word.lost(),
    );
}

#[test]
fn at_each_deadline_as_many_callers_pass_as_there_are_probes() {
    deadline::<Wide>(1_000, 1);
    deadline::<Wide>(1_000, 3);
    deadline::<Narrow>(1_000, 1);
    deadline::<Narrow>(1_000, 3);
}
