// SPDX-License-Identifier: MIT OR Apache-2.0
//! The seed of the run: it differs each time, is printed, and can be repeated.
//!
//! `BREAKER_SEED=123 cargo test -p tests --test sequences` draws the same cases again.

use std::panic::Location;

use proptest::prelude::*;
use proptest::test_runner::{FileFailurePersistence, RngAlgorithm, TestRng, TestRunner};
use tests::random::{VARIABLE, seed};

/// Draws this many cases and tests each. A failing case is shrunk, printed, and kept beside the source for the
/// next runs. Properties with different names draw different cases.
#[track_caller]
pub(crate) fn check<S: Strategy>(
    name: &str,
    cases: u32,
    strategy: &S,
    test: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    let config = ProptestConfig {
        cases,
        source_file: Some(Location::caller().file()),
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource(
            "proptest-regressions",
        ))),
        ..ProptestConfig::default()
    };
    let seed = seed();
    let mut runner = TestRunner::new_with_rng(config, random(seed, name));
    if let Err(error) = runner.run(strategy, test) {
        panic!("{name}: {error}\nto draw the same cases again: {VARIABLE}={seed}\n{runner}");
    }
}

/// Each property has its own random numbers.
pub(crate) fn random(seed: u64, name: &str) -> TestRng {
    let mut state = name.bytes().fold(seed, |state, byte| {
        (state ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3)
    });
    let bytes: Vec<u8> = (0..4)
        .flat_map(|_| {
            state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            (state ^ state >> 29).to_le_bytes()
        })
        .collect();
    TestRng::from_seed(RngAlgorithm::ChaCha, &bytes)
}
