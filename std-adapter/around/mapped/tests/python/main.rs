// SPDX-License-Identifier: MIT OR Apache-2.0
//! The shared file as docs/shared-file.md describes it, against a reader and creator in Python that was written from that
//! page: tests/shared-file. `tests/shared-file/run` starts these tests; elsewhere they are ignored, as they need Python.
//! `BREAKER_SEED` repeats a run.
#![cfg(any(target_os = "linux", target_os = "android"))]

mod ask;
mod changed;
mod created;
mod refused;
mod rules;
mod shown;
#[expect(dead_code, reason = "shared with tests that need other processes")]
#[path = "../mapped/support.rs"]
mod support;
