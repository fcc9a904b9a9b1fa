//! The whole machine explored, not sampled.
//!
//! Breadth-first over every state that a small configuration can reach with three callers, each
//! without a permit or with one of this or an earlier epoch, and every operation in every state. At
//! each step the real breaker, driven through its public door, is compared with the reference: the
//! answer, the time to wait, the snapshot, and everything told to the observer.
//!
//! # What counts as the same state
//!
//! Two states are one if they differ only in what the breaker cannot tell apart by its documentation:
//!
//! - the epoch and the time as such. Permits count by their distance in transitions, times by their
//!   age; ages beyond every configured duration are one age. The clock may stand one millisecond
//!   behind the latest reading;
//! - which of the three callers holds which permit;
//! - the counts in the word at the time of a grant, which nothing looks at.
//!
//! The wraps are not abstracted away. Each state found is also moved, with its permits, to other times
//! and epochs (`elsewhere`): to every distance from the wrap of the time that a stored time can span,
//! in every second one of which the clock wraps with it; to all 16 epochs of the 32-bit word, and to
//! both sides of the wrap in the 64-bit word. Each distance is paired with one or two epochs, not with
//! all. There, every operation happens once more and is compared. The reference knows neither epochs
//! nor wraps.
//!
//! A permit is taken away (lost for good, its slot waits for the lease) when it has lived through so
//! many transitions as the table says; 15 are all that the 32-bit word can tell apart. What comes after
//! is the documented aliasing, pinned by `alias`.
//!
//! | word, tick | callers | transitions of a permit | across the wraps |
//! |---|---|---|---|
//! | 32 bits, 1 ms | 3 | 2 | yes |
//! | 32 bits, 1 ms | 2 | 15 | all but the configuration with slow calls |
//! | 32 bits, 2 ms | 3 | 2 | no |
//! | 32 bits, 2 ms | 2 | 2 | yes |
//! | 64 bits, 1 ms | 3 | 2 | no |
//! | 64 bits, 1 ms | 2 | 2 | yes |

mod alias;
mod elsewhere;
mod search;
mod world;

use std::time::Instant;

use atomic_breaker::word::{AtomicU32, AtomicU64};
use search::{Extent, Reach, Search};
use tests::reference::{Grain, Rules, Trip};
use world::Cell;

fn rules(grain: Grain) -> Rules {
    Rules {
        trip: Trip::InARow(2),
        open_for: 2,
        growth: None,
        jitter: (0, 0),
        max_retry_after: None,
        probes: 1,
        close_after: 1,
        lease: 2,
        slow: None,
        grain,
    }
}

fn configurations(grain: Grain) -> Vec<(&'static str, Rules)> {
    let base = rules(grain);
    vec![
        ("2 in a row, 1 probe", base),
        (
            "3 in a row, 1 of 2 probes, growth",
            Rules {
                trip: Trip::InARow(3),
                open_for: 1,
                growth: Some((2, 3)),
                close_after: 2,
                ..base
            },
        ),
        (
            "2 in a window of 2, 2 of 3 probes",
            Rules {
                trip: Trip::Within(2, 2),
                open_for: 1,
                probes: 2,
                close_after: 3,
                lease: 3,
                ..base
            },
        ),
        (
            "1 in a row, open for 0, 2 probes, limited hint",
            Rules {
                trip: Trip::InARow(1),
                open_for: 0,
                max_retry_after: Some(2),
                probes: 2,
                close_after: 2,
                lease: 1,
                ..base
            },
        ),
        (
            "3 in a window of 3, slow at 2",
            Rules {
                trip: Trip::Within(3, 3),
                open_for: 1,
                lease: 1,
                slow: Some(2),
                ..base
            },
        ),
    ]
}

const THREE_CALLERS: Reach = Reach {
    callers: 3,
    oldest_permit: 2,
    across_wraps: false,
};

const TWO_CALLERS: Reach = Reach {
    callers: 2,
    oldest_permit: 2,
    across_wraps: true,
};

const OLD_PERMITS: Reach = Reach {
    callers: 2,
    oldest_permit: 15,
    across_wraps: false,
};

/// Explores configurations. Each must have at least so many states, and all together so many millions
/// of steps: an exploration that collapses finds nothing.
fn explore<W: Cell>(
    configurations: &[(&str, Rules)],
    reach: Reach,
    least_states: &[usize],
    least_millions: usize,
) {
    assert_eq!(configurations.len(), least_states.len());
    let begin = Instant::now();
    let mut total = Extent::default();
    for ((name, rules), least) in configurations.iter().zip(least_states) {
        let extent = Search::<W>::new(rules, reach).run();
        let (width, tick, callers) = (W::WIDTH, rules.grain.tick, reach.callers);
        println!("{width} bits, tick {tick} ms, {callers} callers: {name}: {extent:?}");
        assert!(extent.states >= *least, "{name}: {extent:?}");
        total.states += extent.states;
        total.steps += extent.steps;
        total.steps_elsewhere += extent.steps_elsewhere;
    }
    println!("{total:?} in {:.1} s", begin.elapsed().as_secs_f64());
    let steps = total.steps + total.steps_elsewhere;
    assert!(steps >= least_millions * 1_000_000, "{total:?}");
}

#[test]
fn every_state_of_the_32_bit_word_behaves_as_the_reference() {
    let reach = Reach {
        across_wraps: true,
        ..THREE_CALLERS
    };
    let least = [2_800, 4_400, 31_000, 18_500, 83_000];
    explore::<AtomicU32>(&configurations(Grain::narrow(1)), reach, &least, 50);
}

#[test]
fn every_state_of_the_32_bit_word_with_a_coarse_tick_behaves_as_the_reference() {
    let configurations = configurations(Grain::narrow(2));
    let least = [8_300, 12_800, 117_000, 69_000, 329_000];
    explore::<AtomicU32>(&configurations, THREE_CALLERS, &least, 15);
    let least = [5_900, 9_000, 42_000, 26_000, 52_000];
    explore::<AtomicU32>(&configurations, TWO_CALLERS, &least, 30);
}

#[test]
fn every_state_of_the_64_bit_word_behaves_as_the_reference() {
    let configurations = configurations(Grain::WIDE);
    let least = [8_900, 13_800, 112_000, 67_000, 115_000];
    explore::<AtomicU64>(&configurations, THREE_CALLERS, &least, 8);
    let least = [7_000, 10_400, 44_000, 28_000, 37_000];
    explore::<AtomicU64>(&configurations, TWO_CALLERS, &least, 18);
}

#[test]
fn every_age_of_a_permit_that_the_32_bit_word_can_tell_behaves_as_the_reference() {
    let configurations = configurations(Grain::narrow(1));
    let (slow, others) = configurations.split_last().unwrap();
    let reach = Reach {
        across_wraps: true,
        ..OLD_PERMITS
    };
    explore::<AtomicU32>(others, reach, &[52_000, 61_000, 97_000, 75_000], 80);
    // Where calls have an age, too, there are ten times as many states; across the wraps they stand
    // in the searches above.
    explore::<AtomicU32>(std::slice::from_ref(slow), OLD_PERMITS, &[900_000], 22);
}
