// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a fuzzer found, replayed with stable Rust; and inputs that are made of it, others in each run.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, thread};

use fuzz::{TARGETS, Target};
use tests::random::{Random, seed};

/// The inputs of a target in `corpus` or `found`, in the order of their names.
fn inputs(folder: &str, target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(folder)
        .join(target);
    let Ok(files) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

/// Says which input failed, in a form that can become a file.
fn replay(name: &str, target: Target, input: &[u8]) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| target(input))) {
        let text = input.escape_ascii();
        eprintln!("{name} failed with b\"{text}\"");
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn what_was_found_is_right() {
    for (name, target) in TARGETS {
        let corpus = inputs("corpus", name);
        assert!(corpus.len() >= 5, "{name} has {} inputs", corpus.len());
        for input in corpus.iter().chain(&inputs("found", name)) {
            replay(name, *target, input);
        }
    }
}

/// A byte changed, a piece removed, repeated or taken from another input.
fn mutate(input: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let mut below = |end: usize| random.next_u32() as usize % end.max(1);
    for _ in 0..=below(4) {
        let at = below(input.len());
        let end = (at + 1 + below(16)).min(input.len());
        match below(5) {
            0 if !input.is_empty() => input[at] = below(256) as u8,
            1 if !input.is_empty() => input[at] ^= 1 << below(8),
            2 => drop(input.drain(at..end)),
            3 => {
                let piece = input[at..end].to_vec();
                input.splice(at..at, piece);
            }
            _ => {
                let from = below(other.len());
                let to = (from + 1 + below(32)).min(other.len());
                input.splice(at..end, other[from..to].iter().copied());
            }
        }
    }
}

#[test]
fn what_is_made_of_it_is_right() {
    let seed = seed();
    thread::scope(|scope| {
        for (name, target) in TARGETS {
            scope.spawn(move || {
                let mut random = Random::new(seed);
                let corpus = inputs("corpus", name);
                let begin = Instant::now();
                while begin.elapsed() < Duration::from_secs(1) {
                    let mut one_of = || &corpus[random.next_u32() as usize % corpus.len()];
                    let (mut input, other) = (one_of().clone(), one_of());
                    mutate(&mut input, other, &mut random);
                    input.truncate(4_096);
                    replay(name, *target, &input);
                }
            });
        }
    });
}
