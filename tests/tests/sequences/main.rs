// SPDX-License-Identifier: MIT OR Apache-2.0
//! Long random histories with long times against the reference, random words, and random clocks.
//!
//! They cover the cases that the exploration leaves out: large counts and times, all rules combined, three
//! sets of rules that replace each other, failure ratios, hundreds of transitions, clocks that idle for
//! longer than the word can tell or step back far.
//!
//! | module | property |
//! |---|---|
//! | `history` | a history on either word has the same results as the reference, past every wrap of the time |
//! | `clock` | the documented promises about the wrap hold, whatever the clock does |
//! | `corrupt` | any bits are a state or are healed once, and no history wedges |
//! | `jitter` | open times lie within their bounds and spread over them |
//! | `known` | a handle of size zero does what a breaker with the same parts does |
//! | `recorded` | histories are written down for the specification of the proofs |
//!
//! Each run draws other cases, from a seed that it prints; `BREAKER_SEED=<that>` draws them again
//! (`seed`). A failure shrinks, and is kept beside the module in `*.proptest-regressions`.

mod any;
mod clock;
mod corrupt;
mod event;
mod history;
mod jitter;
mod known;
mod pair;
mod passing;
mod recorded;
mod rules;
mod seed;
