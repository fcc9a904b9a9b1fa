// SPDX-License-Identifier: MIT OR Apache-2.0
//! The words, in slices: some of them in each run, all on demand.

use std::env;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::form::{Form, Narrow, Wide};
use crate::operations::{Bench, Taken, keep};

/// Words of a slice.
const SLICE: u64 = 1 << 16;

/// All words of a layout, or all but for what they share by [symmetry](crate::symmetry).
pub(crate) trait Slices: Form {
    const SLICES: u64;

    /// The word of a number below `SLICES · 2¹⁶`, and whether to do everything with it.
    fn word(number: u64) -> (u64, bool);
}

/// A bijection of the numbers of so many bits, so that a slice has words of all kinds: an odd factor, and the high half
/// mixed into the low one.
pub(crate) const fn spread(number: u64, bits: u32) -> u64 {
    let mask = (1 << bits) - 1;
    let mixed = number ^ number >> bits.div_ceil(2);
    mixed.wrapping_mul(0x9E37_79B1) & mask
}

/// One in so many words, chosen by all of its bits.
const fn is_picked(word: u64, of: u64) -> bool {
    (word.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32).is_multiple_of(of)
}

impl Slices for Narrow {
    const SLICES: u64 = 1 << 16;

    /// Everything with words near the wrap of the time, and with one in 256 of the others. Of 16 slices in a row each has
    /// other epochs: every 16th slice is all words, each with one of the epochs.
    fn word(number: u64) -> (u64, bool) {
        let (rest, turn) = (number / Self::EPOCHS, number % Self::EPOCHS);
        let below = spread(rest, Self::EPOCH_AT);
        let word = Self::later(below, turn + rest % 15);
        let time = word >> Self::TIME_AT & (Self::RANGE - 1);
        let is_far_from_wrap = (4..Self::RANGE - 4).contains(&time);
        (word, !is_far_from_wrap || is_picked(word, 256))
    }
}

/// Times and epochs at which arithmetic could go wrong: at a wrap, at half of the range, at the guard band.
const TIMES: [u64; 8] = [
    0,
    1,
    Wide::GUARD,
    Wide::LONGEST - 1,
    Wide::LONGEST,
    Wide::RANGE - Wide::GUARD,
    Wide::RANGE - 1,
    0x5A5A_5A5A,
];
const EPOCHS: [u64; 4] = [0, 1, Wide::EPOCHS / 2 - 1, Wide::EPOCHS - 1];

impl Slices for Wide {
    /// All values of state, trips and payload, each with all of `TIMES`, each time with one of `EPOCHS`.
    const SLICES: u64 = 8 * (1 << Self::BELOW_TIME) / SLICE;

    /// Everything with one word in 256.
    fn word(number: u64) -> (u64, bool) {
        let time = number >> Self::BELOW_TIME;
        let below = spread(number % (1 << Self::BELOW_TIME), Self::BELOW_TIME);
        let epoch = EPOCHS[((below + time) % 4) as usize];
        let word = epoch << Self::EPOCH_AT | TIMES[time as usize] << Self::TIME_AT | below;
        (word, is_picked(word, 256))
    }
}

/// Which slices `ATOMIC_BREAKER_WORDS` asks for; another one in each run by default.
fn chosen(slices: u64) -> Vec<u64> {
    let chosen = env::var("ATOMIC_BREAKER_WORDS");
    match chosen.as_deref() {
        Ok("all") => (0..slices).collect(),
        Ok(chosen) => {
            let (first, of) = chosen
                .split_once('/')
                .expect("a slice, such as 7/65536, or all");
            let (first, of): (u64, usize) = (first.parse().unwrap(), of.parse().unwrap());
            assert!(of > 0 && first < of as u64, "{first} of {of}");
            let first = first % slices;
            (first..slices).step_by(of).collect()
        }
        Err(_) => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            vec![u64::from(now.subsec_micros()) % slices]
        }
    }
}

/// Every operation on the words of the chosen slices, on all processors: how many operations, and the arrows taken.
pub(crate) fn run<F: Slices>() -> (u64, Taken) {
    let slices = chosen(F::SLICES);
    println!(
        "ATOMIC_BREAKER_WORDS={}/{} ({} slices)",
        slices[0],
        F::SLICES,
        slices.len()
    );
    let begin = Instant::now();
    let next = AtomicUsize::new(0);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let results: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| scope.spawn(|| parts::<F>(&slices, &next)))
            .collect();
        workers.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let mut taken = Taken::default();
    let mut steps = 0;
    for (of_one, arrows) in results.into_iter().chain([few::<F>()]) {
        steps += of_one;
        for (arrow, words) in arrows {
            for word in words {
                keep(&mut taken, arrow, word);
            }
        }
    }
    let seconds = begin.elapsed().as_secs_f64();
    println!("{steps} operations in {seconds:.1} s");
    (steps, taken)
}

/// Parts of slices, so that a single slice keeps all threads busy.
fn parts<F: Slices>(slices: &[u64], next: &AtomicUsize) -> (u64, Taken) {
    const PARTS: u64 = 16;
    let mut bench = Bench::<F>::new();
    loop {
        let part = next.fetch_add(1, Ordering::Relaxed);
        let Some(slice) = slices.get(part / PARTS as usize) else {
            return bench.end();
        };
        let part = part as u64 % PARTS;
        for number in part * SLICE / PARTS..(part + 1) * SLICE / PARTS {
            let (word, all) = F::word(number * F::SLICES + slice);
            bench.word(word, all);
        }
    }
}

/// Words of which there are too few for every slice: those that are held by an operator, those with few counts.
fn few<F: Form>() -> (u64, Taken) {
    let mut bench = Bench::<F>::new();
    for epoch in [0, 1, F::EPOCHS - 1] {
        for payload in 0..=255 {
            let word = epoch << F::EPOCH_AT | payload << F::PAYLOAD_AT;
            bench.word(word | 3, true);
            bench.word(F::with_time(word, 7 * epoch), true);
            bench.word(F::with_time(word, 7 * epoch) | 2, true);
        }
    }
    bench.end()
}
