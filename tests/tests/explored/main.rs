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
//! The wraps are not abstracted away. Each state found is also moved, with its permits, to other times
//! and epochs (`elsewhere`): to every distance from the wrap of the time that a stored time can span
//! (in every second place the clock wraps, too); to all 16 epochs of the 32-bit word, and to both sides
//! of the wrap in the 64-bit word. Each distance is paired with one or two epochs, not with all. There,
//! every operation is repeated and compared. The reference knows neither epochs nor wraps (except for `pairs`,
//! see there).
//!
//! A permit is taken away (lost for good, its slot waits for the lease) when it has lived through as many
//! transitions as the table says; the 32-bit word can tell 15 apart. Beyond that the documented aliasing
//! begins, which `alias` pins. A state in which more rounds were lost in a row than the table says is
//! compared, but not explored further: each round doubles the lease, and with it the ages.
//!
//! | rules | word, tick | callers | transitions of a permit | lost rounds | across the wraps |
//! |---|---|---|---|---|---|
//! | `small` | 32 bits, 1 ms | 3 | 2 | 1 | yes; slow calls with 2 callers only |
//! | `small` | 32 bits, 2 ms | 3 | 2 | 1 | with 2 callers |
//! | `small` | 64 bits, 1 ms | 3 | 2 | 1 | with 2 callers |
//! | `small` | 32 bits, 1 ms | 1 | 15 | 1 | yes |
//! | `small` without slow calls | 32 bits, 1 ms | 2 | 15 | 1 | no |
//! | `pairs` | 32 bits, 1 ms | 2 | 2 | 1 | yes; slow calls not |
//! | `losing` | 32 bits, 1 ms | 2 | 2 | 4, all it can count | no |
//! | `inexact` | 32 bits, 1 ms | 2 | 2 | 1 | yes |

mod alias;
mod configurations;
mod elsewhere;
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
    across_wraps: false,
};

const TWO_CALLERS: Reach = Reach {
    callers: 2,
    oldest_permit: 2,
    most_lost_rounds: 1,
    across_wraps: true,
};

const OLD_PERMITS: Reach = Reach {
    callers: 2,
    oldest_permit: 15,
    most_lost_rounds: 1,
    across_wraps: false,
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
            "{} bits, tick {} ms, {} callers: {name}: {} states, {} steps, {} across the wraps",
            W::WIDTH,
            rules[0].grain.tick,
            reach.callers,
            extent.states,
            extent.steps,
            extent.steps_elsewhere
        );
        assert!(extent.states >= *least, "{name}: {extent:?}");
        steps += extent.steps + extent.steps_elsewhere;
        causes.extend(extent.causes);
    }
    println!("{steps} steps in {:.1} s", begin.elapsed().as_secs_f64());
    assert!(steps >= least_millions * 1_000_000, "{steps} steps");
    causes
}

/// Configurations without and with slow calls: if calls have an age, too, there are several times as many states.
fn apart(configurations: Vec<Named>) -> (Vec<Named>, Vec<Named>) {
    let is_slow = |(_, rules): &Named| rules[0].slow.is_some();
    let (slow, others) = configurations.into_iter().partition(is_slow);
    (others, slow)
}

#[test]
fn every_state_of_the_32_bit_word_behaves_as_the_reference() {
    let (others, slow) = apart(small(Grain::narrow(1)));
    let reach = Reach {
        across_wraps: true,
        ..THREE_CALLERS
    };
    let mut causes = explore::<Narrow>(
        &others,
        reach,
        &[7_500, 12_000, 41_000, 19_000, 12_500, 8_000, 24_500],
        60,
    );
    causes.extend(explore::<Narrow>(&slow, THREE_CALLERS, &[85_000], 2));
    causes.extend(explore::<Narrow>(&slow, TWO_CALLERS, &[29_000], 11));
    assert_eq!(causes, all_causes());
}

#[test]
fn every_state_of_the_32_bit_word_with_a_coarse_tick_behaves_as_the_reference() {
    let configurations = small(Grain::narrow(2));
    let least = [
        13_000, 20_000, 78_000, 41_000, 134_000, 23_000, 16_000, 39_000,
    ];
    let mut causes = explore::<Coarse>(&configurations, THREE_CALLERS, &least, 9);
    let least = [
        9_500, 13_500, 33_000, 19_000, 48_000, 14_500, 11_000, 25_500,
    ];
    causes.extend(explore::<Coarse>(&configurations, TWO_CALLERS, &least, 50));
    assert_eq!(causes, all_causes());
}

#[test]
fn every_state_of_the_64_bit_word_behaves_as_the_reference() {
    let configurations = small(Grain::WIDE);
    let least = [
        28_000, 46_000, 160_000, 75_000, 210_000, 53_000, 28_000, 104_000,
    ];
    let mut causes = explore::<AtomicU64>(&configurations, THREE_CALLERS, &least, 17);
    let least = [
        21_500, 33_000, 72_000, 36_000, 100_000, 33_000, 21_500, 70_000,
    ];
    causes.extend(explore::<AtomicU64>(
        &configurations,
        TWO_CALLERS,
        &least,
        80,
    ));
    assert_eq!(causes, all_causes());
}

#[test]
fn every_age_of_a_permit_that_the_32_bit_word_can_tell_behaves_as_the_reference() {
    let configurations = small(Grain::narrow(1));
    let one_caller = Reach {
        callers: 1,
        across_wraps: true,
        ..OLD_PERMITS
    };
    let least = [
        12_500, 12_000, 13_500, 12_000, 42_000, 16_500, 22_000, 30_000,
    ];
    explore::<Narrow>(&configurations, one_caller, &least, 33);
    let (others, _) = apart(configurations);
    let least = [
        245_000, 250_000, 315_000, 250_000, 370_000, 400_000, 650_000,
    ];
    explore::<Narrow>(&others, OLD_PERMITS, &least, 40);
}

#[test]
fn every_state_under_rules_that_take_each_others_place_behaves_as_the_reference() {
    let grain = Grain::narrow(1);
    explore::<Narrow>(
        &pairs(grain),
        TWO_CALLERS,
        &[39_000, 49_000, 34_000, 39_000, 24_000],
        75,
    );
    let reach = Reach {
        across_wraps: false,
        ..TWO_CALLERS
    };
    explore::<Narrow>(&[slow_pair(grain)], reach, &[160_000], 4);
}

#[test]
fn every_round_that_can_be_lost_in_a_row_behaves_as_the_reference() {
    let reach = Reach {
        most_lost_rounds: 4,
        across_wraps: false,
        ..TWO_CALLERS
    };
    explore::<Narrow>(&[losing(Grain::narrow(1))], reach, &[19_000], 0);
}

#[test]
fn every_state_with_an_inexact_open_time_behaves_as_the_reference() {
    explore::<Narrow>(&[inexact(Grain::narrow(1))], TWO_CALLERS, &[7_900], 6);
}
