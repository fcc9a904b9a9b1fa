// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every 32-bit word, whether a breaker wrote it or not, with every operation: a proof by enumeration, not a sample.
//!
//! For each of the 2³² words, for each [set of rules](rules), and for each [class of age](time) of the time in the word,
//! each [operation](operations) is done once, with each kind of permit that it may be done with, and these hold:
//!
//! - It neither panics nor overflows (the tests are built with checks).
//! - A word that no breaker writes, by the [specification](spec), is treated as a fresh one, and is known to
//!   [`Bits::check`](atomic_breaker::word::Bits::check); every other is valid, and stays so.
//! - The epoch is one more, modulo 16, exactly if a transition was reported, and what was reported is what happened: the
//!   state before, the state after, the epoch, the trips, the open time; for a cause that may lead from the one to the other.
//! - No more probes are in flight than the rules allow, unless there were before; and no report frees more than one slot.
//! - Nothing is admitted while it is forced open, nor before the deadline of an open word. At the deadline the next call
//!   is a probe.
//! - A breaker that is not forced open admits a call within the longest time that its word can hold and its lease, if it is
//!   asked again when it said.
//!
//! One slice in 65,536, another one in each run, takes a second on two cores, so all take 18 hours there, and fewer on more
//! cores: `ATOMIC_BREAKER_WORDS=all cargo test -p tests --test every_word -- --nocapture`.
//! `ATOMIC_BREAKER_WORDS=7/65536` does the eighth slice, `ATOMIC_BREAKER_WORDS=7/64` a 64th of all.
//!
//! On a 64-bit processor a rejection while open takes a short way; with 32-bit pointers, where there is none, `.ci/run
//! pointers_32` runs a slice as well.

mod arrows;
mod memory;
mod operations;
mod properties;
mod rules;
mod spec;
mod time;

use std::collections::HashSet;
use std::env;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use arrows::Arrow;
use operations::Bench;

const SLICES: u32 = 65_536;

/// Which of the slices to do. A slice has every 65,536th word, of a number that is spread over all bits.
fn slices() -> Vec<u32> {
    let chosen = env::var("ATOMIC_BREAKER_WORDS");
    match chosen.as_deref() {
        Ok("all") => (0..SLICES).collect(),
        Ok(chosen) => {
            let (first, of) = chosen
                .split_once('/')
                .expect("a slice, such as 7/65536, or all");
            let (first, of): (u32, u32) = (first.parse().unwrap(), of.parse().unwrap());
            assert!(first < of && of <= SLICES, "a slice of at most {SLICES}");
            (first..SLICES).step_by(of as usize).collect()
        }
        Err(_) => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            vec![now.subsec_micros() % SLICES]
        }
    }
}

/// Those that are held by an operator, of which there are too few for every slice.
fn held_words() -> (u64, HashSet<Arrow>) {
    let mut bench = Bench::new();
    for epoch in 0..16 {
        for payload in 0..=255 {
            bench.word(epoch << 28 | payload << 5 | 3);
        }
    }
    bench.end()
}

/// A bijection of all numbers, so that a slice has words of all kinds: an odd factor, and its high half mixed into the low.
const fn spread(number: u32) -> u32 {
    let mixed = number ^ (number >> 16);
    mixed.wrapping_mul(0x9E37_79B1)
}

#[test]
fn every_word_with_every_operation() {
    let slices = slices();
    println!(
        "ATOMIC_BREAKER_WORDS={}/{SLICES} ({} slices)",
        slices[0],
        slices.len()
    );
    let begin = Instant::now();
    let next = AtomicU32::new(0);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let results: Vec<(u64, HashSet<Arrow>)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let mut bench = Bench::new();
                    loop {
                        // Parts of slices, so that a single slice keeps all threads busy.
                        let part = next.fetch_add(1, Ordering::Relaxed) as usize;
                        let Some(slice) = slices.get(part / 16) else {
                            return bench.end();
                        };
                        let numbers = u32::MAX / SLICES + 1;
                        let (part, parts) = ((part % 16) as u32, numbers / 16);
                        for number in part * parts..(part + 1) * parts {
                            bench.word(spread(number * SLICES + slice));
                        }
                    }
                })
            })
            .collect();
        workers.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let mut results = results;
    results.push(held_words());
    let steps: u64 = results.iter().map(|(steps, _)| steps).sum();
    let arrows: HashSet<_> = results.into_iter().flat_map(|(_, arrows)| arrows).collect();
    let seconds = begin.elapsed().as_secs_f64();
    println!("{steps} operations in {seconds:.1} s");
    let known: HashSet<_> = arrows::arrows().collect();
    let unknown: Vec<_> = arrows.difference(&known).collect();
    assert!(unknown.is_empty(), "{unknown:#?}");
    let unseen: Vec<_> = known.difference(&arrows).collect();
    assert!(unseen.is_empty(), "never seen: {unseen:#?}");
    assert!(steps > 20_000_000, "{steps}");
}

/// The control: a slice is a fraction of all words, and no word is left out.
#[test]
fn the_slices_are_all_words() {
    // Both steps can be undone.
    let undo = |word: u32| {
        let mixed = word.wrapping_mul(inverse(0x9E37_79B1));
        mixed ^ (mixed >> 16)
    };
    for number in [0, 1, 65_535, 65_536, 0x1234_5678, u32::MAX] {
        assert_eq!(undo(spread(number)), number);
    }
}

/// The inverse modulo 2³² of an odd number, by Newton's iteration.
fn inverse(odd: u32) -> u32 {
    (0..5).fold(odd, |inverse, _| {
        inverse.wrapping_mul(2_u32.wrapping_sub(odd.wrapping_mul(inverse)))
    })
}
