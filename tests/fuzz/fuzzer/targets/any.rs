// SPDX-License-Identifier: MIT OR Apache-2.0
//! The target that has the name of this program.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::target(env!("CARGO_BIN_NAME"))(bytes));
