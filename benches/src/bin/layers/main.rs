// SPDX-License-Identifier: MIT OR Apache-2.0
//! The server side: tower layers around a service that responds at once, breakers by key, the share of
//! failures within a sliding time, and the retry budget; compared with others in one run, with one thread and
//! with two.
//!
//! ```console
//! cargo run --release -p benches --bin layers
//! ```
//!
//! Prints Markdown and needs two cores; takes about 10 seconds, minutes where other programs run, as disturbed laps
//! are run again. Claims are held against that very run; ends with 1 and says what was missed if one does not hold.

mod budget;
mod claims;
mod ours;
mod peers;
mod requests;
mod run;
mod sliding;

use std::process::ExitCode;

use benches::claim;
use benches::head;
use benches::hosts::HOSTS;
use benches::rounds::Case;
use run::Run;

const ROUNDS: usize = 101;

fn main() -> ExitCode {
    let run = Run::of(
        || {
            [layers(), sliding::cases(), budget::cases()]
                .into_iter()
                .flatten()
                .collect()
        },
        ROUNDS,
    );
    head::print(
        "Layers, breakers by key, sliding ratio, retry budget",
        "layers",
    );
    println!(
        "Nanoseconds per call as each thread sees it: median of {ROUNDS} interleaved rounds (quartiles). Differences \
         and shares are medians of those within each round. {}.\n",
        run.disturbances()
    );
    println!("## Layers, closed\n");
    println!("{}", run.table(&layers(), Some(ours::BARE)));
    println!("## The share of failures within a sliding time, closed\n");
    println!("{}", run.table(&sliding::cases(), None));
    println!("## The retry budget\n");
    println!("{}", run.table(&budget::cases(), None));
    println!("## What is claimed\n");
    println!(
        "Closed, all succeed at once; {} keys of {} bytes in random order; one thread unless stated otherwise.\n",
        HOSTS.len(),
        HOSTS[0].len()
    );
    let claims = claims::claims(&run);
    println!("{}", claim::table(&claims));
    claim::verdict(&claims)
}

fn layers() -> Vec<Case> {
    [ours::cases(), peers::cases()]
        .into_iter()
        .flatten()
        .collect()
}
