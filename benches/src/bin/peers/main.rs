// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compares all crates in one run: the cost of a call, and their behaviour.
//!
//! ```console
//! cargo run --release -p benches --bin peers [-- picture.svg]
//! ```
//!
//! Prints Markdown, takes about 30 seconds, and draws a picture if told where. Claims are held against that very run; ends
//! with 1 and says what was missed if one does not hold.

mod claims;
mod columns;
mod picture;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::{env, panic};

use benches::claim;
use benches::contestant::{
    AtomicBreaker, BreakerCrate, CircuitBreakerCrate, CircuitbreakerRs, Failsafe, Nobreak,
    Recloser, RecloserFutures, TowerResilience,
};
use benches::head;
use benches::rounds::cores;
use benches::scenario::{self, SITUATIONS};
use benches::table::Table;
use columns::Measured;

const ROUNDS: usize = 101;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let picture = env::args_os().nth(1).map(PathBuf::from);
    let measured = Measured::now(ROUNDS);

    head::print("Beside other crates", "peers");
    println!("## What a call costs\n");
    println!(
        "Nanoseconds per call: median of {ROUNDS} interleaved rounds (quartiles), {} cores.\n",
        cores()
    );
    println!("{}", measured.table());
    println!("## Yardsticks\n");
    println!("{}", measured.yardsticks());
    println!("## What is claimed\n");
    let claims = claims::claims(&measured);
    println!("{}", claim::table(&claims));
    who_does_what();

    if let Some(path) = picture {
        picture::draw(&path, &measured)?;
        eprintln!("drew {}", path.display());
    }
    Ok(claim::verdict(&claims))
}

fn who_does_what() {
    // Contestants panic on purpose here.
    let report = panic::take_hook();
    panic::set_hook(Box::new(|_| ()));
    let behaviours = [
        scenario::of_futures::<AtomicBreaker, AtomicBreaker>(),
        scenario::of_futures::<Failsafe, Failsafe>(),
        scenario::of_futures::<Recloser, RecloserFutures>(),
        scenario::of_futures::<TowerResilience, TowerResilience>(),
        scenario::of_futures::<CircuitbreakerRs, CircuitbreakerRs>(),
        scenario::of_closures::<CircuitBreakerCrate>(),
        scenario::of_futures::<BreakerCrate, BreakerCrate>(),
        scenario::of_futures::<Nobreak, Nobreak>(),
    ];
    panic::set_hook(report);

    println!("## Who does what\n");
    println!(
        "Set up for three failures, {:?} open, one probe.\n",
        scenario::OPEN_FOR
    );
    let mut table = Table::new(
        ["situation"]
            .into_iter()
            .chain(behaviours.iter().map(|b| b.name)),
    );
    for (number, situation) in SITUATIONS.into_iter().enumerate() {
        let answers = behaviours.iter().map(|b| b.answers[number].as_str());
        table.row([situation].into_iter().chain(answers));
    }
    println!("{table}");
    for behaviour in behaviours.iter().filter(|b| !b.design.is_empty()) {
        println!("- {}: {}.", behaviour.name, behaviour.design);
    }
}
