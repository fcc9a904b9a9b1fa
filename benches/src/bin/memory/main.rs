// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bytes per breaker, allocations per call, and a million breakers touched at random.
//!
//! ```console
//! cargo run --release -p benches --bin memory
//! ```
//!
//! Prints Markdown, takes about 30 seconds and 3 GB. Only this program counts allocations: counting
//! costs time.

mod allocations;
mod million;

use std::mem::size_of;

use atomic_breaker::{
    Breaker, Config, LastCalls, Permit, Rules, Token,
    word::{AtomicU32, AtomicU64},
};
use atomic_breaker_http::StdClock;
use benches::head;
use benches::table::Table;

fn main() {
    head::print("Memory", "memory");
    println!("## Bytes of each type\n");
    println!("{}", types());
    println!("## Allocations beside the others\n");
    println!("{}", allocations::table());
    println!("## A million breakers\n");
    println!("{}", million::table());
}

fn types() -> Table {
    let mut table = Table::new(["type", "bytes"]);
    let mut row = |name: &str, bytes: usize| table.row([name.to_string(), bytes.to_string()]);
    row(
        "the state alone, 32 bits: an `AtomicU32` in RAM, all else in flash",
        size_of::<AtomicU32>(),
    );
    row(
        "the state alone, 64 bits: an `AtomicU64`",
        size_of::<AtomicU64>(),
    );
    row(
        "`Config` or `Rules`, in flash where they are `const`",
        size_of::<Config>().max(size_of::<Rules>()),
    );
    row(
        "`Breaker` over a word elsewhere, with rules elsewhere",
        size_of::<Breaker<StdClock, &AtomicU64, (), (), &Rules>>(),
    );
    row(
        "`Breaker`, 64 bits, rules inside",
        size_of::<Breaker<StdClock>>(),
    );
    row(
        "`Breaker`, 32 bits, rules inside",
        size_of::<Breaker<StdClock, AtomicU32>>(),
    );
    row(
        "`Breaker` with `LastCalls`",
        size_of::<Breaker<StdClock, AtomicU64, LastCalls>>(),
    );
    row("`Permit`, 64 bits", size_of::<Permit<&Breaker<StdClock>>>());
    row(
        "`Permit`, 32 bits",
        size_of::<Permit<&Breaker<StdClock, AtomicU32>>>(),
    );
    row("`Token`, 64 bits", size_of::<Token>());
    row("`Token`, 32 bits", size_of::<Token<u32>>());
    table
}
