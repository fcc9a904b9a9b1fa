// SPDX-License-Identifier: MIT OR Apache-2.0
//! Measures how often a late report is mistaken for a current one, with few epochs and lost probes.

use std::cell::Cell;
use std::collections::BinaryHeap;

use atomic_breaker::word::{AtomicU32, AtomicU64, Word};
use atomic_breaker::{Breaker, Cause, Config, ManualClock, Observer, Token, Transition};
use tests::random::Random;

use super::support::ms;

/// Counts transitions, without a wrap.
#[derive(Default)]
struct Epochs {
    now: Cell<u32>,
    lost: Cell<u32>,
    /// The epoch of the last transition that was not a lost round.
    since: Cell<u32>,
}

impl Observer for Epochs {
    fn transition(&self, transition: &Transition) {
        self.now.set(self.now.get() + 1);
        if transition.cause == Cause::ProbeLost {
            self.lost.set(self.lost.get() + 1);
        } else {
            self.since.set(self.now.get());
        }
    }
}

/// A call under way: when it ends, in which true epoch it was granted, its token.
struct Call<B> {
    ends: u32,
    epoch: u32,
    is_probe: bool,
    token: Token<B>,
}

impl<B> PartialEq for Call<B> {
    fn eq(&self, other: &Self) -> bool {
        self.ends == other.ends
    }
}

impl<B> Eq for Call<B> {}

impl<B> PartialOrd for Call<B> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<B> Ord for Call<B> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.ends.cmp(&self.ends)
    }
}

/// Late reports, and how many of them changed the word.
#[derive(Default, Debug)]
struct Measured {
    late_probes: u32,
    applied_probes: u32,
    /// Those of them that were not a success.
    applied_failures: u32,
    /// Successes of probes that lost their slots in the same half-open time: these count.
    late_successes: u32,
    counted_successes: u32,
    late_others: u32,
    applied_others: u32,
    lost_rounds: u32,
}

/// Makes a call every second for two days, to a resource that comes and goes. A third of the calls hang, for
/// up to twenty leases, and finally report success or failure.
fn two_days<W: Word>(word: &W, probes: u32, seed: u64, measured: &mut Measured) {
    let epochs = Epochs::default();
    let clock = ManualClock::starting_at(seed as u32);
    let config = Config::new()
        .consecutive_failures(3)
        .open_for(ms(5_000))
        .probes(probes)
        .close_after(probes + 1)
        .probe_lease(ms(10_000));
    let breaker = Breaker::builder(config, &clock)
        .word(word)
        .observer(&epochs)
        .build();
    let mut random = Random::new(seed);
    let mut under_way = BinaryHeap::new();
    for second in 0..2 * 86_400 {
        while let Some(call) = under_way.peek() {
            let call: &Call<W::Bits> = call;
            if call.ends > second {
                break;
            }
            let Some(call) = under_way.pop() else { break };
            let (is_late, bits) = (call.epoch != epochs.now.get(), breaker.to_bits());
            let permit = breaker.resume(call.token);
            let rounds_since = epochs.now.get() - call.epoch;
            let is_of_this_time = call.epoch >= epochs.since.get() && rounds_since <= 4;
            let how = random.below(4);
            match how {
                0 => permit.failure(),
                1 => permit.cancel(),
                _ => permit.success(),
            };
            let applied = u32::from(breaker.to_bits() != bits);
            match (is_late, call.is_probe) {
                (false, _) => {}
                (true, true) if is_of_this_time && how > 1 => {
                    measured.late_successes += 1;
                    measured.counted_successes += applied;
                }
                (true, true) => {
                    measured.late_probes += 1;
                    measured.applied_probes += applied;
                    measured.applied_failures += applied * u32::from(how < 2);
                }
                (true, false) => {
                    measured.late_others += 1;
                    measured.applied_others += applied;
                }
            }
        }
        if let Ok(permit) = breaker.acquire() {
            let took = match random.below(3) {
                0 => random.below(200),
                _ => random.below(2),
            } as u32;
            under_way.push(Call {
                ends: second + took,
                epoch: epochs.now.get(),
                is_probe: permit.is_probe(),
                token: permit.into_token(),
            });
        }
        clock.advance(ms(1_000));
    }
    measured.lost_rounds += epochs.lost.get();
    assert_eq!(breaker.check(), Ok(()));
}

fn measure<W: Word>(fresh: impl Fn() -> W, probes: u32) -> Measured {
    let mut measured = Measured::default();
    for seed in 1..=8 {
        two_days(&fresh(), probes, seed, &mut measured);
    }
    assert!(measured.late_probes > 4_000, "{measured:?}");
    assert!(measured.lost_rounds > 4_000, "{measured:?}");
    assert!(measured.late_successes > 400, "{measured:?}");
    assert_eq!(measured.counted_successes, measured.late_successes);
    measured
}

/// With four bits of epoch alone, one late report in sixteen would be applied: for probes it used to be 6.2 %.
fn late_reports_are_hardly_ever_applied(probes: u32) {
    let percent = |applied: u32, late: u32| 100.0 * f64::from(applied) / f64::from(late);
    let narrow = measure(|| AtomicU32::new(0), probes);
    let of_probes = percent(narrow.applied_probes, narrow.late_probes);
    let of_others = percent(narrow.applied_others, narrow.late_others);
    println!(
        "32-bit word, {probes} probes: {of_probes:.3} % of late probes, {of_others:.3} % of other \
         late reports applied, {narrow:?}"
    );
    let of_failures = percent(narrow.applied_failures, narrow.late_probes);
    assert!(of_probes < 1.5 && of_failures < 0.6 && of_others < 0.5);
    let is_hardly = of_probes < 0.1 && narrow.applied_failures == 0;
    assert!(probes > 1 || is_hardly, "as documented");
    let wide = measure(|| AtomicU64::new(0), probes);
    println!("64-bit word, {probes} probes: {wide:?}");
    assert_eq!(wide.applied_probes + wide.applied_others, 0);
}

#[test]
fn late_reports_are_hardly_ever_applied_with_one_probe() {
    late_reports_are_hardly_ever_applied(1);
}

#[test]
fn late_reports_are_hardly_ever_applied_with_two_probes() {
    late_reports_are_hardly_ever_applied(2);
}

#[test]
fn late_reports_are_hardly_ever_applied_with_four_probes() {
    late_reports_are_hardly_ever_applied(4);
}
