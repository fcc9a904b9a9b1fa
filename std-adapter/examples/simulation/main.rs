//! Ten thousand instances and an outage of 60 s, in virtual time: calls that were wasted on a server that was
//! down, without a fleet and with one, on the protocol's own code.
//!
//! ```console
//! cargo run --release -p atomic-breaker-std --features fleet --example simulation [PICTURE.svg]
//! ```
//!
//! The picture is `target/fleet.svg`, unless told otherwise. Idealised: the engine never fails and answers within 2 ms,
//! its messages reach all within 20 ms, calls take no time, and each instance makes one at a time. The readings that
//! instances make from time to time are left out.

mod load;
#[path = "../outage/paint.rs"]
#[allow(dead_code)]
mod paint;
mod picture;
mod world;

use std::error::Error;
use std::path::PathBuf;

use load::Load;
use picture::Panel;
use world::World;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1);
    let path = path.map_or_else(|| PathBuf::from("target/fleet.svg"), PathBuf::from);
    println!("10,000 instances, 10,000 calls/s, 60 s of outage");
    println!("load  fleet    wasted  probes  votes  bids  requests  back after");
    let mut panels = Vec::new();
    for (name, zipf) in [("even", false), ("Zipf", true)] {
        let mut runs = Vec::new();
        for quorum in [None, Some(1), Some(3)] {
            let mut world = World::new(10_000, quorum);
            let told = world.run(&mut Load::new(10_000, zipf));
            let fleet = quorum.map_or("none ".to_owned(), |quorum| format!("k = {quorum}"));
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
    Ok(())
}
