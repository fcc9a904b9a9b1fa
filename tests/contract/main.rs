// SPDX-License-Identifier: MIT OR Apache-2.0
//! The contract: each behaviour of the breaker and its edge cases, through the public API, on both words.
//!
//! | file | behaviours |
//! |---|---|
//! | `cost` | closed calls; loads, swaps and clock readings of everything else |
//! | `closed`, `lasting`, `weighed` | trip rules, weights; rows that must last; failures that ask for a pause |
//! | `ratio`, `basis_points`, `tallies`, `forgotten` | the share of the last calls, several rules in one breaker, what an outage forgets |
//! | `open`, `growth`, `growth_limits`, `jitter` | rejection and deadline, growth and jitter |
//! | `demanded`, `demanded_late` | open times that were demanded |
//! | `half_open`, `lost_rounds`, `long_probes` | probes, lost and dropped probes, leases that grow and calls that outlast them |
//! | `cancelled`, `renewed` | permits that are dropped, and calls that begin later |
//! | `repair` | what a probe is told, and what repairs with it |
//! | `returning` | gradual return |
//! | `stale`, `late_reports`, `late_successes` | late reports, and how often one is mistaken for a current one |
//! | `control`, `holds` | manual control |
//! | `events`, `observers`, `slow` | observers, the event log, log lines, slow calls as observers see them |
//! | `slow_share` | slow calls that have a share of their own |
//! | `snapshot`, `present` | everything that one load shows, the order of transitions |
//! | `errors` | errors, fallback |
//! | `time`, `sparse` | clocks that wrap and step back, rare callers |
//! | `waits` | waiting to the millisecond, and what can be awaited |
//! | `word`, `flipped`, `restored`, `retained`, `asleep`, `sleepers` | the word anywhere, corrupt words, bits that flip, words that outlive their clock, devices that sleep |
//! | `meddled` | a word that another caller has just changed, words and permits that no breaker has made |
//! | `calls`, `panicking` | classifiers, panics, futures, tokens |
//! | `attempt`, `owned`, `generic` | permits for `?`, owned permits, code that takes any breaker |
//! | `rules`, `taken_over`, `adjusted` | rules that are shared, replaced, and set on one breaker |
//! | `config`, `faults`, `parts`, `files`, `files_over`, `files_written` | settings that do not fit, and their messages; configurations from a file, and what is written to one |

// Needs the std adapter.
#[cfg(target_pointer_width = "64")]
mod adjusted;
mod asleep;
mod attempt;
mod basis_points;
mod calls;
mod cancelled;
mod closed;
mod config;
mod control;
mod cost;
mod demanded;
mod demanded_late;
mod errors;
mod events;
mod faults;
mod files;
mod files_over;
mod files_written;
mod flipped;
mod forgotten;
mod generic;
mod growth;
mod growth_limits;
mod half_open;
mod holds;
mod jitter;
mod lasting;
mod late_reports;
mod late_successes;
mod long_probes;
mod lost_rounds;
mod meddled;
mod observers;
mod open;
mod owned;
mod panicking;
mod parts;
mod present;
mod ratio;
mod renewed;
mod repair;
mod restored;
mod retained;
mod retries;
mod returning;
mod rules;
mod sleepers;
mod slow;
mod slow_share;
mod snapshot;
mod sparse;
mod stale;
mod support;
mod taken_over;
mod tallies;
mod time;
mod waits;
mod weighed;
mod within;
mod word;
