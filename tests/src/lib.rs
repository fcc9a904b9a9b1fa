// SPDX-License-Identifier: MIT OR Apache-2.0
//! Helpers that the tests of the workspace share.
//!
//! | file | contents |
//! |---|---|
//! | `contract/`, a package of its own | each behaviour and its edges |
//! | `harm/`, a package of its own | what the HTTP preset costs its callers in partial trouble, and wastes in outages, in virtual time |
//! | `tests/explored/` | every reachable state of small configurations, from shortly before the wraps, against the reference |
//! | `tests/sequences/` | long random histories, random words and random clocks, against the reference |
//! | `tests/races/` | every interleaving of two or three callers, with loom |
//! | `tests/threads/` | real threads, more than cores |
//! | `tests/linearizable/` | whatever threads, schedules and processes see at once is the reference's answer in some order |
//! | `tests/chaos/` | words that fail spuriously, words behind a critical section |
//! | `tests/week.rs` | the programs that users write first, over a week of outages |
//! | `shared-file/`, a script | the file of breakers that processes share, read and created in Python |
//! | `conformance/`, a script | histories of the tests in C through other languages |
//! | `project/`, a package of its own: `rooms` | the structure of the packages and their names, from their code |
//! | the same, `pages` | where the links of the pages lead, what their commands name, which counts they show; what a release writes |
//! | `tests/promises.rs` | auto traits, sizes, `const` functions |
//! | [`compile_fail`] | code that must not compile, each case with a twin that does |
//! | [`mod@reference`] | a second implementation of the breaker, as a plain struct |
//!
//! [`words`] count or disturb accesses to them; [`random`] numbers are the same for the same seed; [`causes`] are listed
//! without those that a test cannot bring about.

pub mod causes;
pub mod compile_fail;
pub mod random;
pub mod reference;
pub mod words;

/// The code blocks of the README and the pages, compiled and run.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../README.md")]
    mod readme {}
    #[doc = include_str!("../../core/README.md")]
    mod core {}
    #[doc = include_str!("../../std-adapter/README.md")]
    mod std_adapter {}
    #[doc = include_str!("../../embassy-adapter/README.md")]
    mod embassy_adapter {}
    #[doc = include_str!("../../docs/libraries.md")]
    mod libraries {}
    #[doc = include_str!("../../docs/microcontrollers.md")]
    mod microcontrollers {}
    #[doc = include_str!("../../docs/runtimes.md")]
    mod runtimes {}
    #[doc = include_str!("../../docs/when.md")]
    mod when {}
}
