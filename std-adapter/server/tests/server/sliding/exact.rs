// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random histories against a plain reference that keeps each call: exact, verdict by verdict.

use std::hash::{BuildHasher, RandomState};

use atomic_breaker_server::{ManualClock, Ratio, Tally, Verdict, tally::Call};

use super::{Sliding, ms, ratio};

/// Histories of 3,000 calls each.
const RUNS: u64 = 150;

/// `xorshift64*`, of Marsaglia and Vigna.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % end
    }
}

/// A kind of call, by its end.
#[derive(Clone, Copy)]
struct Kind {
    failed: bool,
    slow: bool,
}

/// The expected state: all calls, each in its slice.
struct Plain {
    calls: Vec<(u64, Kind)>,
    /// The slices begin here.
    origin_ms: u64,
    slice_ms: u64,
    slice: u64,
}

impl Plain {
    fn new(now_ms: u64, within_ms: u64) -> Self {
        let slice_ms = within_ms.div_ceil(8);
        // The clock that is seen has 32 bits.
        let origin_ms = now_ms - (now_ms % (1 << 32)) % slice_ms;
        Self {
            calls: Vec::new(),
            origin_ms,
            slice_ms,
            slice: 0,
        }
    }

    fn turn(&mut self, now_ms: u64) {
        let slice = now_ms.saturating_sub(self.origin_ms) / self.slice_ms;
        self.slice = self.slice.max(slice);
        let oldest = self.slice.saturating_sub(7);
        self.calls.retain(|(slice, _)| *slice >= oldest);
    }

    fn record(&mut self, mut call: Kind, ratio: Ratio) -> Verdict {
        call.slow &= ratio.trips_at_slow_percent().is_some();
        self.calls.push((self.slice, call));
        let (seen, failures) = self.seen_and_failed();
        let reaches = |count: u64, points: u32| count * 10_000 >= seen * u64::from(points);
        let fails = call.failed && reaches(failures, ratio.trips_at_basis_points());
        let slow_points = ratio.trips_at_slow_percent().map(|percent| percent * 100);
        let is_slow = call.slow && slow_points.is_some_and(|points| reaches(self.slow(), points));
        if (fails || is_slow) && seen >= u64::from(ratio.needed_calls()) {
            Verdict::Trip
        } else {
            Verdict::Keep
        }
    }

    fn seen_and_failed(&self) -> (u64, u64) {
        let failures = self.calls.iter().filter(|(_, call)| call.failed).count();
        (self.calls.len() as u64, failures as u64)
    }

    fn slow(&self) -> u64 {
        self.calls.iter().filter(|(_, call)| call.slow).count() as u64
    }
}

fn random_ratio(dice: &mut Dice, within_ms: u64) -> Ratio {
    let points = [
        1, 50, 100, 200, 1_000, 3_300, 3_333, 5_000, 6_700, 9_900, 9_999, 10_000,
    ][dice.below(12) as usize];
    let min_calls = [1, 2, 20, 100][dice.below(4) as usize];
    let ratio = Ratio::basis_points(points)
        .within(ms(within_ms))
        .min_calls(min_calls);
    match dice.below(3) {
        0 => ratio,
        _ => ratio.slow_percent([1, 10, 50, 80, 99, 100][dice.below(6) as usize]),
    }
}

/// One history: calls in bursts and trickles, pauses, steps back, other rules, outages.
fn history(seed: u64, steps: u32) -> u32 {
    let mut dice = Dice(seed | 1);
    let mut now_ms = (1 << 32) - dice.below(100_000);
    let clock = ManualClock::starting_at(now_ms as u32);
    let tally = Sliding::by(&clock);
    let mut within_ms = [1, 8, 100, 1_000, 10_000][dice.below(5) as usize];
    let mut ratio = random_ratio(&mut dice, within_ms);
    let mut plain = Plain::new(now_ms, within_ms);
    let (mut epoch, mut trips, mut is_fresh) = (0, 0, true);
    let (mut failing, mut slow) = (50, 50);
    for step in 0..steps {
        match dice.below(400) {
            0 => {
                within_ms = [3, 64, 500, 10_000, 10_001][dice.below(5) as usize];
                ratio = random_ratio(&mut dice, within_ms);
                is_fresh = true;
            }
            1 => ratio = random_ratio(&mut dice, within_ms),
            2 => {
                tally.clear();
                epoch += 2;
                plain.calls.clear();
            }
            3 => now_ms += dice.below(within_ms * 20),
            4 => now_ms -= dice.below(within_ms.min(1_000)),
            5 => (failing, slow) = (dice.below(101), dice.below(101)),
            6..100 => now_ms += dice.below(within_ms / 4 + 2),
            _ => {}
        }
        clock.set_ms(now_ms as u32);
        if is_fresh && plain.slice_ms != within_ms.div_ceil(8) || step == 0 {
            plain = Plain::new(now_ms, within_ms);
        }
        is_fresh = false;
        plain.turn(now_ms);
        let kind = Kind {
            failed: dice.below(100) < failing,
            slow: dice.below(100) < slow,
        };
        let call = if kind.failed {
            Call::failure(epoch, 1)
        } else {
            Call::success(epoch)
        };
        let call = if kind.slow { call.slow() } else { call };
        let verdict = tally.record(call, Some(ratio));
        let expected = plain.record(kind, ratio);
        let what = format!("seed {seed:#x}, step {step}, {ratio:?}");
        assert_eq!(tally.seen_and_failed(), plain.seen_and_failed(), "{what}");
        assert_eq!(tally.slow(), plain.slow(), "{what}");
        assert_eq!(verdict, expected, "{what}, {:?}", plain.seen_and_failed());
        trips += u32::from(verdict == Verdict::Trip);
    }
    trips
}

#[test]
fn random_histories_are_those_of_a_plain_reference() {
    let seed = RandomState::new().hash_one(0);
    println!("seed {seed:#x}");
    let mut trips = 0;
    for run in 0..RUNS {
        trips += history(seed.wrapping_add(run), 3_000);
    }
    println!("{trips} verdicts to trip");
    assert!(trips > 1_000, "{trips}");
}

/// A clock that stepped back revived what could not trip half a second before.
#[test]
fn a_history_that_once_differed_from_the_reference() {
    history(0x66b0_81cb_cc1b_0d42, 3_000);
}

/// Ten days, a call every 7 s, each day other shares of failures.
#[test]
fn days_behave_like_the_first_hour() {
    let clock = ManualClock::starting_at(u32::MAX - 86_400_000);
    let tally = Sliding::by(&clock);
    let third = ratio(34, 60_000, 9);
    let mut plain = Plain::new((1 << 32) - 1 - 86_400_000, 60_000);
    for call in 0..10 * 86_400 / 7_u64 {
        plain.turn((1 << 32) - 1 - 86_400_000 + call * 7_000);
        let failed = call % 4 == 0 || call % 977 < 9;
        let kind = if failed {
            Call::failure(3, 1)
        } else {
            Call::success(3)
        };
        let verdict = tally.record(kind, Some(third));
        let slow = false;
        let expected = plain.record(Kind { failed, slow }, third);
        assert_eq!(verdict, expected, "{call}");
        clock.advance(ms(7_000));
    }
}
