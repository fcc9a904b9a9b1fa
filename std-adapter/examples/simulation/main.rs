//! Ten thousand instances and an outage of 60 s, in virtual time: calls that were wasted on a server that was
//! down, without a fleet and with one, on the protocol's own code.
//!
//! `cargo run --release -p atomic-breaker-std --features fleet --example fleet`

mod load;
mod world;

use load::Load;
use world::World;

fn main() {
    println!("10,000 instances, 10,000 calls/s, 60 s of outage");
    println!("load  fleet    wasted  probes  votes  bids  requests  back after");
    for (name, zipf) in [("even", false), ("Zipf", true)] {
        for quorum in [None, Some(1), Some(3)] {
            let mut world = World::new(10_000, quorum);
            let told = world.run(&mut Load::new(10_000, zipf));
            let fleet = quorum.map_or("none ".to_owned(), |quorum| format!("k = {quorum}"));
            println!(
                "{name}  {fleet}  {:>8}  {:>6}  {:>5}  {:>4}  {:>8}  {:>7} ms",
                told.wasted, told.probes, told.votes, told.bids, told.requests, told.back_ms,
            );
        }
    }
}
