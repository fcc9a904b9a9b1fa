// SPDX-License-Identifier: MIT OR Apache-2.0
//! The findings of a fuzzer, replayed with stable Rust; and inputs that are made of it, others in
//! each run.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, thread};

use fuzz::{TARGETS, Target};
use tests::random::{Random, seed};

/// The inputs of a target that are kept, in the order of their names.
fn kept(target: &str) -> Vec<Vec<u8>> {
    let archive = folder("corpus").join(target).with_extension("json");
    let archive = fs::read_to_string(archive).unwrap();
    let archive: BTreeMap<String, String> = serde_json::from_str(&archive).unwrap();
    let byte = |it: char| u8::try_from(it).expect("each character is a byte");
    let inputs = archive.values().map(|input| input.chars().map(byte));
    inputs.map(Iterator::collect).collect()
}

/// Those that once failed, as the fuzzer has left them.
fn found(target: &str) -> Vec<Vec<u8>> {
    let Ok(files) = fs::read_dir(folder("found").join(target)) else {
        return Vec::new();
    };
    let files = files.map(|file| file.unwrap().path());
    files.map(|file| fs::read(file).unwrap()).collect()
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
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
        let corpus = kept(name);
        assert!(corpus.len() >= 5, "{name} has {} inputs", corpus.len());
        for input in corpus.iter().chain(&found(name)) {
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
                let corpus = kept(name);
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
