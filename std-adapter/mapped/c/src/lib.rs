// SPDX-License-Identifier: MIT OR Apache-2.0
//! Breakers that the processes of one machine share, for C and for every language that calls C: the functions that
//! `include/atomic_breaker_map.h` declares, beside those of `atomic_breaker.h`.
//!
//! The header is the documentation, and the page `docs/hosts.md` of the repository shows how to install and use it. Here are
//! thin functions around [`atomic_breaker_mapped`] and [`atomic_breaker_c`]: nothing of the file or the word is known here.
//!
//! | module | what |
//! |---|---|
//! | [`map`] | a file that is open, and its breakers |
//! | [`read`] | settings from a file of rules |
//! | [`error`] | why something failed: a code and a text |

#![cfg(all(
    any(target_os = "linux", target_os = "android"),
    target_has_atomic = "64"
))]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod error;
pub mod map;
pub mod read;

/// The functions of `atomic_breaker.h`: part of the library.
pub use atomic_breaker_c::by_rules;
