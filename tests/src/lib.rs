//! What the tests of the workspace share.
//!
//! | file | what it shows |
//! |---|---|
//! | `tests/contract/` | each behaviour, named by its id, and its edges |
//! | `tests/explored.rs` | every reachable word of small configurations, against the reference |
//! | `tests/sequences.rs` | random long histories, against the reference |
//! | `tests/races.rs` | every interleaving of two or three callers, by loom |
//! | `tests/threads.rs` | real threads |
//! | `tests/promises.rs` | auto traits, sizes, what is `const` |
//! | [`compile_fail`] | what must not compile, each case with a twin that does |
//! | [`reference`] | the breaker once more, as a plain struct |

pub mod compile_fail;
pub mod reference;

/// The code blocks of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
mod readme {}
