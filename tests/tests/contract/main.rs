//! The contract: each behaviour of the breaker and its edges, through the public door, on both words.
//!
//! The ids (B1, B2, …) name the behaviours:
//!
//! | file | behaviours |
//! |---|---|
//! | `cost` | B1 closed calls; loads, swaps and clock readings of everything else |
//! | `closed` | B2 trip rules, B8 weights |
//! | `ratio`, `tallies`, `forgotten` | B2 the share of the last calls, several rules in one breaker, what an outage forgets |
//! | `open`, `growth`, `jitter` | B3 refusal and deadline, B7 growth and jitter |
//! | `demanded` | B9 open times that somebody demanded |
//! | `half_open`, `lost_rounds` | B4 probes, B5 lost and dropped probes, leases that give way |
//! | `cancelled` | B23 permits that are dropped |
//! | `returning` | B21 gradual return |
//! | `stale`, `late_reports` | B6 late reports, and how often one is taken for a current one |
//! | `control` | B10 manual control |
//! | `events`, `observers` | B11 observers, the event log, lines of a log |
//! | `snapshot` | B12 |
//! | `errors` | B13 errors, B14 fallback |
//! | `time`, `sparse` | B16 clocks that wrap and step back, callers who come seldom |
//! | `word`, `restored`, `retained` | B17 the word anywhere, corrupt words, words that outlive their clock |
//! | `calls`, `panicking` | B8 classifiers, B20 panics, futures, tokens |
//! | `attempt`, `owned`, `generic` | permits for `?`, owned permits, code that takes any breaker |
//! | `rules`, `taken_over` | B22 rules that are shared and replaced |
//! | `config`, `parts`, `files` | what does not fit, and what is said; configurations from a file |

mod attempt;
mod calls;
mod cancelled;
mod closed;
mod config;
mod control;
mod cost;
mod demanded;
mod errors;
mod events;
mod files;
mod forgotten;
mod generic;
mod growth;
mod half_open;
mod jitter;
mod late_reports;
mod lost_rounds;
mod observers;
mod open;
mod owned;
mod panicking;
mod parts;
mod ratio;
mod restored;
mod retained;
mod returning;
mod rules;
mod snapshot;
mod sparse;
mod stale;
mod support;
mod taken_over;
mod tallies;
mod time;
mod word;
