// SPDX-License-Identifier: MIT OR Apache-2.0
//! The journal on a model of flash. Random histories have a new seed in each run, which is printed; `JOURNAL_SEED`
//! repeats one.

mod case;
mod copies;
mod cuts;
mod device;
mod faults;
mod fence;
mod fits;
mod flash;
mod formatted;
mod garbage;
mod grains;
mod guarded;
mod ill;
mod ledger;
mod left_out;
mod pages;
mod peer;
mod plan;
mod power;
mod queue;
mod random;
mod refuses;
mod rot;
mod sending;
mod storms;
mod together;
mod wear;
mod wrong_reads;
