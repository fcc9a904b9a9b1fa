// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every word, whether a breaker wrote it or not, with every operation: a proof by enumeration, not a sample.
//!
//! For each of the 2³² words of 32 bits, and for each value of state, trips and payload of the word of 64 bits (2²³, each
//! with eight times and an epoch), for each [set of rules](rules), each [operation](operations) is done: calls at each
//! [class of age](time) of the time in the word, reports of a call that it admitted at each that matters to them, late reports
//! and commands at one. For some of the words, chosen by [all of their bits](slices), all of these are done at every class of
//! age and with each kind of permit. These hold:
//!
//! - It neither panics nor overflows (the tests are built with checks).
//! - A word that no breaker writes, by the [specification](spec), is treated as a fresh one, and is known to
//!   [`Bits::check`](atomic_breaker::word::Bits::check); every other is valid, and stays so. A snapshot tells each of its
//!   fields.
//! - The epoch is one more, modulo its range, exactly if a transition was reported, and what was reported is what happened:
//!   the state before, the state after, the epoch, the trips, the open time; for a cause that may lead from the one to the
//!   other, and that this operation may have; to trips and counts that follow from those before.
//! - A report of a call that this very word admitted does what it must: trips, closes, counts.
//! - A report of a call that an earlier epoch admitted does nothing, but for a demanded open time where the breaker has
//!   just opened, which only moves the deadline later, and a success of a probe that lost its slot.
//! - A round of probes is given up at the end of its lease, which doubles with each lost round, and not before.
//! - No more probes are in flight than the rules allow, unless there were before; and no report frees more than one slot.
//! - Nothing is admitted while it is forced open, nor before the deadline of an open word. At the deadline the next call
//!   is a probe.
//! - A breaker that is not forced open admits a call within the longest time that its word can hold and its lease, if it is
//!   asked again when it said.
//!
//! Time and epoch of a 64-bit word have too many values. That a few suffice is shown by [symmetry]: moved together with the
//! clock and the permits they change nothing, for words of both layouts.
//!
//! That the properties would notice is shown by breakers of which [one arrow is mutated](fault), for each arrow of the
//! drawing and each of 14 mutations.
//!
//! One slice of each layout, another one in each run, takes seconds on two cores; all of them, with
//! `ATOMIC_BREAKER_WORDS=all`, about an hour for 64 bits (`-- every_wide`) and 18 hours for 32 bits (`-- every_narrow`),
//! and less on more cores. `ATOMIC_BREAKER_WORDS=7/64` does a 64th of all, `ATOMIC_BREAKER_WORDS=7/65536` one slice of 32
//! bits, and `ATOMIC_BREAKER_WORDS=7/16` each word of 32 bits with one of its 16 epochs.
//!
//! On a 64-bit processor a rejection while open takes a short way; with 32-bit pointers, where there is none, `.ci/run
//! pointers_32` runs a slice as well.

mod arrows;
mod commands;
mod fault;
mod form;
mod late;
mod memory;
mod mutated;
mod operations;
mod properties;
mod rules;
mod slices;
mod spec;
mod symmetry;
mod time;

use std::collections::HashSet;

use form::{Form, Narrow, Wide};
use slices::{Slices, spread};
use symmetry::Symmetry;

/// Every operation on the words of some slices; and each arrow that they take, mutated.
fn every_word<F: Slices>() {
    let (steps, taken) = slices::run::<F>();
    let seen: HashSet<_> = taken.keys().copied().collect();
    let known: HashSet<_> = arrows::arrows().collect();
    let unknown: Vec<_> = seen.difference(&known).collect();
    assert!(unknown.is_empty(), "{unknown:#?}");
    let unseen: Vec<_> = known.difference(&seen).collect();
    assert!(unseen.is_empty(), "never seen: {unseen:#?}");
    assert!(steps > 20_000_000, "{steps}");
    mutated::each_is_found::<F>(&taken);
}

#[test]
fn every_narrow_word_with_every_operation() {
    every_word::<Narrow>();
}

#[test]
fn every_wide_word_but_for_symmetry_with_every_operation() {
    every_word::<Wide>();
}

/// Words of a slice, moved by times and epochs that are drawn, and to each wrap.
fn symmetric<F: Slices>() {
    let mut symmetry = Symmetry::<F>::new();
    for number in 0..3000 {
        let drawn = spread(number ^ 0x2545_F491, 32).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let (word, _) = F::word(spread(number, 16) * F::SLICES + drawn % F::SLICES);
        let to_wrap = F::RANGE - (word >> F::TIME_AT) % F::RANGE;
        let epochs_to_wrap = F::EPOCHS - (word >> F::EPOCH_AT);
        symmetry.word(word, (drawn >> 20) % F::RANGE, (drawn >> 11) % F::EPOCHS);
        symmetry.word(word, to_wrap, epochs_to_wrap);
    }
    println!("{} operations", symmetry.steps);
}

#[test]
fn time_and_epoch_of_a_narrow_word_count_only_beside_the_clock_and_the_permit() {
    symmetric::<Narrow>();
}

#[test]
fn time_and_epoch_of_a_wide_word_count_only_beside_the_clock_and_the_permit() {
    symmetric::<Wide>();
}

/// The control: no word is left out, because each number leads to a word of its own.
#[test]
fn the_slices_are_all_words() {
    let mut seen = vec![false; 1 << Wide::BELOW_TIME];
    for number in 0..1 << Wide::BELOW_TIME {
        let word = spread(number, Wide::BELOW_TIME) as usize;
        assert!(!seen[word], "{word:#x}");
        seen[word] = true;
    }
    // Both steps can be undone: for those of 32 bits without their epoch that is enough.
    let below = (1 << Narrow::EPOCH_AT) - 1;
    let undo = |word: u64| {
        let mixed = word.wrapping_mul(inverse(0x9E37_79B1)) & below;
        mixed ^ mixed >> 14
    };
    for number in [0, 1, 65_535, 65_536, 0x0234_5678, below] {
        assert_eq!(undo(spread(number, Narrow::EPOCH_AT)), number);
        let all = number * Narrow::EPOCHS..(number + 1) * Narrow::EPOCHS;
        let words: Vec<_> = all.map(|number| Narrow::word(number).0).collect();
        let epochs: HashSet<_> = words.iter().map(|word| word >> Narrow::EPOCH_AT).collect();
        assert_eq!(epochs.len() as u64, Narrow::EPOCHS);
        assert!(words.iter().all(|word| undo(word & below) == number));
    }
}

/// The inverse modulo 2⁶⁴ of an odd number, by Newton's iteration.
fn inverse(odd: u64) -> u64 {
    (0..6).fold(odd, |inverse, _| {
        inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse)))
    })
}
