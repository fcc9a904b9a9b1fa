// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules over one word are replaced while many callers are under way.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use atomic_breaker::word::{AtomicU64 as Wide, Bits};
use atomic_breaker::{AsRules, Breaker, Cause, Config, ManualClock, Outcome, Rules};
use tests::random::SEED;

use super::audit::{Cell, Ledger, Narrow, contended};
use super::rounds;

const CALLERS: u64 = 4;
const TICK: Duration = Duration::from_millis(8);
/// Longer than the clock goes in a test, shorter than the longest time of a 32-bit word.
const NEVER: Duration = Duration::from_secs(120);

/// Rules that are switched while calls are under way.
struct Switched<B: Bits> {
    all: [Rules<B>; 4],
    which: AtomicUsize,
}

impl<B: Bits> AsRules<B> for Switched<B> {
    fn as_rules(&self) -> &Rules<B> {
        &self.all[self.which.load(Ordering::Relaxed)]
    }
}

/// Four sets of rules that differ in everything. Each allows several probes: if a probe reported under rules
/// with a single one, its slot would be freed by the lease only.
fn switched<B: Bits>() -> Switched<B> {
    let base = Config::new()
        .open_for(TICK)
        .probe_lease(NEVER)
        .cancel_limit(NEVER);
    let all = [
        base.consecutive_failures(2).probes(2).close_after(3),
        base.failures_within(4, NEVER).probes(4).close_after(4),
        base.consecutive_failures(200)
            .probes(3)
            .close_after(3)
            .gradual_return(30, TICK / 4),
        base.consecutive_failures(1)
            .probes(2)
            .exponential(2, 4 * TICK)
            .cancel_limit(Duration::ZERO),
    ];
    Switched {
        all: all.map(Rules::new),
        which: AtomicUsize::new(0),
    }
}

fn replaced<W: Cell>(turns: u64) {
    let (word, clock, ledger) = (contended::<W>(), ManualClock::new(), Ledger::default());
    let rules = switched::<W::Bits>();
    let breaker = Breaker::from_parts(&word, &rules, &clock, (), &ledger);
    let (calls, switches) = (AtomicU64::new(0), AtomicU64::new(0));
    let mut before = breaker.snapshot();
    let mut causes = std::collections::HashMap::<Cause, u32>::new();
    rounds(
        CALLERS,
        turns,
        |random| {
            for _ in 0..200 {
                if !ledger.has_room_for::<W>(2 * CALLERS) {
                    break;
                }
                calls.fetch_add(1, Ordering::Relaxed);
                let Ok(permit) = breaker.acquire() else {
                    thread::yield_now();
                    continue;
                };
                match random.below(16) {
                    0..9 => permit.success(),
                    9..13 => permit.failure(),
                    13 => permit.report(Outcome::Ignored),
                    14 => permit.cancel(),
                    _ => breaker.resume(permit.into_token()).success(),
                };
            }
        },
        || {
            for _ in 0..24 {
                let next = switches.fetch_add(1, Ordering::Relaxed) as usize % rules.all.len();
                rules.which.store(next, Ordering::Relaxed);
                clock.advance(TICK / 4);
                thread::yield_now();
            }
        },
        || {
            let after = breaker.snapshot();
            for made in ledger.chain::<W>(&before, &after) {
                *causes.entry(made.cause).or_default() += 1;
            }
            assert_eq!(after.probes_in_flight(), 0, "every slot came back");
            assert_eq!(breaker.check(), Ok(()));
            before = after;
        },
    );
    assert_eq!(ledger.calls_ended(), calls.into_inner(), "each ended once");
    clock.advance(8 * TICK);
    assert!(breaker.acquire().is_ok(), "{breaker:?}");
    // Whether traffic ever returns before the next switch is up to the scheduler.
    for cause in [Cause::FailureLimit, Cause::ProbesSucceeded] {
        assert!(causes.contains_key(&cause), "{cause}: {causes:?}");
    }
    println!(
        "{}, rules replaced {} times, seed {SEED:#x}: {} calls, {} exchanges lost to another thread, \
         {causes:?}",
        W::NAME,
        switches.into_inner(),
        ledger.calls_ended(),
        word.lost(),
    );
}

#[test]
fn rules_replaced_while_callers_are_under_way_over_a_64_bit_word() {
    replaced::<Wide>(500);
}

#[test]
fn rules_replaced_while_callers_are_under_way_over_a_32_bit_word() {
    replaced::<Narrow>(2_000);
}
