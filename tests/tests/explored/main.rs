// SPDX-License-Identifier: MIT OR Apache-2.0
//! Explores the whole state machine instead of sampling it.
//!
//! The search is breadth-first over every state that a small configuration can reach with one to three
//! callers, each without a permit or with one of this or an earlier epoch, and tries every operation in every
//! state. At each step the real breaker, driven through its public API, is compared with the reference: the
//! result, the time to wait, the snapshot, and everything that the observer is notified of. Where traffic
//! returns gradually each call is made with two dice; where there are two sets of rules, the other one may
//! take over at any time.
//!
//! # States that count as the same
//!
//! Two states are one if they differ only in what the breaker cannot tell apart by its documentation:
//!
//! - the epoch and the time as such. Permits count by their distance in transitions, times by their age; ages
//!   beyond every measured time are one age. The clock may be one millisecond behind the latest reading;
//! - which of the callers holds which permit;
//! - the counts in the word at the time of a grant, which are never used.
//!
//! The wraps are not abstracted away: a search begins 8 ms before those of the clock and the time, in the last epoch. That
//! an operation does the same at every time and in every epoch is shown by `tests/proof` for the default rules, and
//! tried by `sequences` for others. The reference knows neither epochs nor wraps (except for `pairs`, see there).
//!
//! A permit is taken away (lost for good, its slot waits for the lease) when it has lived through as many
//! transitions as the table says; the 32-bit word can tell 15 apart. Beyond that the documented aliasing
//! begins, which `alias` pins. A state in which more rounds were lost in a row than the table says is
//! compared, but not explored further: each round doubles the lease, and with it the ages.
//!
//! | rules | word, tick | callers | transitions of a permit | lost rounds |
//! |---|---|---|---|---|
//! | `small` | 32 bits, 1 ms | 3 | 2 | 1 |
//! | `small` | 32 bits, 2 ms | 3 | 2 | 1 |
//! | `small` | 64 bits, 1 ms | 3 | 2 | 1 |
//! | `small` | 32 bits, 1 ms | 1 | 15 | 1 |
//! | `pairs` | 32 bits, 1 ms | 2 | 2 | 1 |
//! | `losing` | 32 bits, 1 ms | 2 | 2 | 4, all it can count |
//! | `inexact` | 32 bits, 1 ms | 2 | 2 | 1 |

mod alias;
mod configurations;
mod event;
mod key;
mod listener;
mod search;
mod world;

use std::collections::HashSet;
use std::time::Instant;

use atomic_breaker::Cause;
use atomic_breaker::word::{AtomicU32, AtomicU64, Ticks};
use configurations::{Named, inexact, losing, pairs, slow_pair, small};
use search::{Reach, Search};
use tests::causes;
use tests::reference::Grain;
use world::Cell;

/// 32-bit words with ticks of 1 and 2 milliseconds.
type Narrow = Ticks<AtomicU32, 0>;
type Coarse = Ticks<AtomicU32, 1>;

const THREE_CALLERS: Reach = Reach {
    callers: 3,
    oldest_permit: 2,
    most_lost_rounds: 1,
};

const TWO_CALLERS: Reach = Reach {
    callers: 2,
    ..THREE_CALLERS
};

const OLD_PERMITS: Reach = Reach {
    callers: 1,
    oldest_permit: 15,
    most_lost_rounds: 1,
};

/// All causes that there are where no word is corrupt and no failure ratio is set.
fn all_causes() -> HashSet<Cause> {
    causes::all_but([Cause::FailureRatio, Cause::SlowRatio, Cause::CorruptWord]).collect()
}

/// Explores configurations. Each must have at least the given number of states, and all together the given
/// number of millions of steps: an exploration that collapses finds nothing. Returns the causes that occurred.
fn explore<W: Cell>(
    configurations: &[Named],
    reach: Reach,
    least_states: &[usize],
    least_millions: usize,
) -> HashSet<Cause> {
    assert_eq!(configurations.len(), least_states.len());
    let begin = Instant::now();
    let mut steps = 0;
    let mut causes = HashSet::new();
    for ((name, rules), least) in configurations.iter().zip(least_states) {
        let extent = Search::<W>::new(rules, reach).run();
        println!(
            "{} bits, tick {} ms, {} callers: {name}: {} states, {} steps",
            W::WIDTH,
            rules[0].grain.tick,
            reach.callers,
            extent.states,
            extent.steps
        );
        assert!(extent.states >= *least, "{name}: {extent:?}");
        steps += extent.steps;
        causes.extend(extent.causes);
    }
    println!("{steps} steps in {:.1} s", begin.elapsed().as_secs_f64());
    assert!(steps >= least_millions * 1_000_000, "{steps} steps");
    causes
}

#[test]
fn every_state_of_the_32_bit_word_behaves_as_the_reference() {
    let least = [
        8_000, 20_500, 42_000, 24_000, 100_000, 12_000, 8_000, 23_000,
    ];
    let causes = explore::<Narrow>(&small(Grain::narrow(1)), THREE_CALLERS, &least, 9);
    assert_eq!(causes, all_causes());
}

#[test]
fn every_state_of_the_32_bit_word_with_a_coarse_tick_behaves_as_the_reference() {
    let least = [
        14_000, 33_500, 79_000, 50_000, 149_000, 23_000, 15_500, 37_000,
    ];
    let causes = explore::<Coarse>(&small(Grain::narrow(2)), THREE_CALLERS, &least, 15);
    assert_eq!(causes, all_causes());
}

#[test]
fn every_state_of_the_64_bit_word_behaves_as_the_reference() {
    let least = [
        31_000, 87_000, 168_000, 104_000, 270_000, 51_000, 28_000, 97_000,
    ];
    let causes = explore::<AtomicU64>(&small(Grain::WIDE), THREE_CALLERS, &least, 30);
    assert_eq!(causes, all_causes());
}

#[test]
fn every_age_of_a_permit_that_the_32_bit_word_can_tell_behaves_as_the_reference() {
    let least = [
        25_500, 38_500, 33_000, 29_500, 92_000, 26_000, 22_500, 30_500,
    ];
    explore::<Narrow>(&small(Grain::narrow(1)), OLD_PERMITS, &least, 7);
}

#[test]
fn every_state_under_rules_that_take_each_others_place_behaves_as_the_reference() {
    let grain = Grain::narrow(1);
    let mut configurations = pairs(grain);
    configurations.push(slow_pair(grain));
    let least = [42_500, 50_000, 32_500, 41_000, 23_500, 204_000];
    explore::<Narrow>(&configurations, TWO_CALLERS, &least, 13);
}

#[test]
fn every_round_that_can_be_lost_in_a_row_behaves_as_the_reference() {
    let reach = Reach {
        most_lost_rounds: 4,
        ..TWO_CALLERS
    };
    explore::<Narrow>(&[losing(Grain::narrow(1))], reach, &[19_500], 0);
}

#[test]
fn every_state_with_an_inexact_open_time_behaves_as_the_reference() {
    explore::<Narrow>(&[inexact(Grain::narrow(1))], TWO_CALLERS, &[33_000], 0);
}
