//! The contract: each behaviour of the breaker and its edges, through the public door, on both words.
//!
//! The ids (B1, B2, …) name the behaviours:
//!
//! | file | behaviours |
//! |---|---|
//! | `cost` | B1 closed calls; loads, swaps and clock readings of everything else |
//! | `closed` | B2 trip rules, B8 weights |
//! | `open` | B3 refusal and deadline, B7 growth and jitter, B9 minimum open time |
//! | `half_open` | B4 probes, B5 lost and dropped probes |
//! | `stale` | B6 late reports |
//! | `control` | B10 manual control |
//! | `events` | B11 observers, the event log |
//! | `snapshot` | B12 |
//! | `errors` | B13 errors, B14 fallback |
//! | `time` | B16 clocks that wrap and step back |
//! | `word` | B17 the word anywhere, corrupt words |
//! | `calls` | B8 classifiers, B20 panics, futures, tokens |
//! | `ratio` | B2 the share of the last calls |
//! | `config` | what does not fit, and what is said |
//! | `files` | configurations from a file |

mod calls;
mod closed;
mod config;
mod control;
mod cost;
mod errors;
mod events;
mod files;
mod half_open;
mod open;
mod ratio;
mod snapshot;
mod stale;
mod support;
mod time;
mod word;
