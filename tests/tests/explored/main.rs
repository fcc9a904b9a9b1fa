//! The whole machine explored, not sampled.
//!
//! Breadth-first over every state that a small configuration can reach with three callers, each
//! without a permit or with one of this or an earlier epoch, and every operation in every state. At
//! each step the real breaker, driven through its public door, is compared with the reference: the
//! answer, the time to wait, the snapshot, and the transition told to the observer.
//!
//! # What counts as the same state
//!
//! Two states are one if they differ only in what the breaker cannot tell apart by its documentation:
//!
//! - the epoch and the time as such. Permits count by their distance in transitions, times by their
//!   age; ages beyond every configured duration are one age. The wraps are not abstracted away: each
//!   configuration is explored from several places, among them the last epochs and the last ticks
//!   before the wrap of each;
//! - which of the three callers holds which permit;
//! - the counts in the word at the time of a grant, which nothing looks at.
//!
//! A permit is taken away (lost for good, its slot waits for the lease) when it has lived through so
//! many transitions: two where three callers are explored, and where two are, all that the 32-bit word
//! can tell apart, 15. What comes after is the documented aliasing, pinned by `alias`.

mod alias;
mod search;
mod world;

use std::time::Instant;

use atomic_breaker::word::{AtomicU32, AtomicU64};
use search::{Reach, Search};
use tests::reference::{Grain, Rules, Trip};
use world::Cell;

fn rules(grain: Grain) -> Rules {
    Rules {
        trip: Trip::InARow(2),
        open_for: 2,
        growth: None,
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
        ("2 in a row, 1 probe", base.clone()),
        (
            "3 in a row, 1 of 2 probes, growth",
            Rules {
                trip: Trip::InARow(3),
                open_for: 1,
                growth: Some((2, 3)),
                close_after: 2,
                ..base.clone()
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
                ..base.clone()
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
                ..base.clone()
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
};

const OLD_PERMITS: Reach = Reach {
    callers: 2,
    oldest_permit: 15,
};

/// Explores every configuration from every base, and answers how many states and steps.
fn explore<W: Cell>(grain: Grain, reach: Reach, bases: &[(u64, u32)]) -> (usize, usize) {
    let begin = Instant::now();
    let mut total = (0, 0);
    for (name, rules) in configurations(grain) {
        for &base in bases {
            let (states, steps) = Search::<W>::new(&rules, base, reach).run();
            let (width, tick, callers) = (W::WIDTH, grain.tick, reach.callers);
            println!(
                "{width} bits, tick {tick} ms, {callers} callers, from time and epoch {base:?}: \
                 {name}: {states} states, {steps} steps",
            );
            assert!(
                states > 2_000,
                "the exploration collapsed to {states} states"
            );
            total = (total.0 + states, total.1 + steps);
        }
    }
    println!(
        "{} bits: {} states, {} steps, {:.1} s",
        W::WIDTH,
        total.0,
        total.1,
        begin.elapsed().as_secs_f64()
    );
    total
}

#[test]
fn every_state_of_the_32_bit_word_behaves_as_the_reference() {
    // From the beginning; across the wrap of the time; across the wrap of the epoch; across both.
    let wrap = 1 << 15;
    let bases = [(100, 0), (wrap - 3, 0), (100, 13), (3 * wrap - 2, 15)];
    let (states, steps) = explore::<AtomicU32>(Grain::narrow(1), THREE_CALLERS, &bases);
    assert!(states > 100_000 && steps > 1_000_000, "{states} {steps}");
}

#[test]
fn every_state_of_the_32_bit_word_with_a_coarse_tick_behaves_as_the_reference() {
    let bases = [(100, 0), ((1 << 16) - 3, 14)];
    let (states, steps) = explore::<AtomicU32>(Grain::narrow(2), THREE_CALLERS, &bases);
    assert!(states > 100_000 && steps > 1_000_000, "{states} {steps}");
}

#[test]
fn every_state_of_the_64_bit_word_behaves_as_the_reference() {
    let wrap = 1 << 32;
    let bases = [(100, 0), (wrap - 3, 0), (100, 509), (2 * wrap - 2, 511)];
    let (states, steps) = explore::<AtomicU64>(Grain::WIDE, THREE_CALLERS, &bases);
    assert!(states > 100_000 && steps > 1_000_000, "{states} {steps}");
}

#[test]
fn every_age_of_a_permit_that_the_32_bit_word_can_tell_behaves_as_the_reference() {
    let (states, steps) = explore::<AtomicU32>(Grain::narrow(1), OLD_PERMITS, &[(100, 0)]);
    assert!(states > 100_000 && steps > 1_000_000, "{states} {steps}");
}
