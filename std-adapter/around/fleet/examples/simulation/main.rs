// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ten thousand instances and an outage of 60 s, in virtual time: calls that were wasted on a server that was
//! down, without a fleet and with one, on the protocol's own code. Then outages of other lengths, and how long the
//! return takes.
//!
//! ```console
//! cargo run --release -p atomic-breaker-fleet --features contract --example simulation [PICTURE.svg]
//! ```
//!
//! The picture is `target/fleet.svg` by default. The model is idealised: the engine never fails and responds within
//! 2 ms, its messages reach all within 20 ms, calls take no time, and each instance makes one at a time. The readings
//! that instances make from time to time are left out.

mod load;
mod picture;
mod world;

use std::error::Error;
use std::path::PathBuf;

use load::Load;
use picture::Panel;
use world::{DOWN_MS, World};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1);
    let path = path.map_or_else(|| PathBuf::from("target/fleet.svg"), PathBuf::from);
    println!("10,000 instances, 10,000 calls/s, 60 s of outage");
    println!("load  fleet    wasted  probes  votes  bids  requests  back after");
    let mut panels = Vec::new();
    for (name, zipf) in [("even", false), ("Zipf", true)] {
        let mut runs = Vec::new();
        for quorum in [None, Some(1), Some(3)] {
            let mut world = World::new(10_000, quorum, DOWN_MS);
            let told = world.run(&mut Load::new(10_000, zipf));
            let fleet = named(quorum);
            println!(
                "{name}  {fleet}  {:>8}  {:>6}  {:>5}  {:>4}  {:>8}  {:>7} ms",
                told.wasted, told.probes, told.votes, told.bids, told.requests, told.back_ms,
            );
            runs.push(told);
        }
        panels.push(Panel { name, runs });
    }
    picture::draw(&path, &panels)?;
    println!("The picture is in {}.", path.display());
    outages();
    Ok(())
}

/// The time of the last rejection depends on where in an open time the server returns.
fn outages() {
    println!("500 instances, outages of 60 s to 96 s: back after, on average and at most");
    for quorum in [None, Some(1), Some(3)] {
        let back = (0..10).map(|each| {
            let mut world = World::new(500, quorum, DOWN_MS + 4_000 * each);
            world.run(&mut Load::new(500, false)).back_ms
        });
        let back: Vec<u64> = back.collect();
        println!(
            "{:8}  {:>7} ms  {:>7} ms",
            named(quorum),
            back.iter().sum::<u64>() / 10,
            back.iter().max().unwrap_or(&0),
        );
    }
}

fn named(quorum: Option<u32>) -> String {
    quorum.map_or("none ".to_owned(), |quorum| format!("k = {quorum}"))
}
