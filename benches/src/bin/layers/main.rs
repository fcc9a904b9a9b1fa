//! Layers of tower around a service that answers at once, closed, by one and two threads.
//!
//! ```console
//! cargo run --release -p benches --bin layers
//! ```
//!
//! Prints Markdown and the claims with what this very run says of them, takes about 10 seconds, and exits with
//! 1 if one does not hold.

mod allocations;
mod claims;
mod services;

use std::process::ExitCode;

use benches::rounds::{Figure, measure};
use benches::table::Table;

const ROUNDS: usize = 101;

fn main() -> ExitCode {
    let names: Vec<_> = services::all()
        .iter()
        .map(|case| case.name.clone())
        .collect();
    let cases: Vec<_> = [1, 2]
        .into_iter()
        .flat_map(|threads| {
            services::all()
                .into_iter()
                .map(move |case| case.by(threads))
        })
        .collect();
    let figures = measure(&cases, ROUNDS);
    let (one, two) = figures.split_at(names.len());
    println!(
        "Nanoseconds per request as each thread sees it: median of {ROUNDS} interleaved rounds (quartiles).\n"
    );
    println!("{}", table(&names, one, two));
    let allocated = allocations::per_request();
    for (name, allocations) in &allocated {
        println!("{name}: {allocations} allocations per 1,000 requests");
    }
    println!();
    if claims::hold(&names, one, two, &allocated) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn table(names: &[String], one: &[Figure], two: &[Figure]) -> Table {
    let mut table = Table::new(["", "1 thread", "2 threads"].map(String::from));
    for ((name, one), two) in names.iter().zip(one).zip(two) {
        table.row([name.clone(), one.to_string(), two.to_string()]);
    }
    table
}

/// The case of a name, which must be there.
fn of(name: &str, names: &[String], figures: &[Figure]) -> f64 {
    let index = names.iter().position(|known| known == name);
    figures[index.unwrap_or_else(|| panic!("no case is called {name}"))].median
}
