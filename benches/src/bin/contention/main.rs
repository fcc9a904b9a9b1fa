// SPDX-License-Identifier: MIT OR Apache-2.0
//! One breaker, shared by more and more threads up to all cores.
//!
//! ```console
//! cargo run --release -p benches --bin contention [-- picture.svg]
//! ```
//!
//! Prints Markdown, takes about 30 seconds on two cores, and draws a picture if told where.

mod load;
mod storms;

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};

use benches::head;
use benches::picture::{Group, bars};
use benches::rounds::{Figure, cores, measure};
use benches::table::Table;
use load::Load;

const ROUNDS: usize = 51;

fn main() -> Result<(), Box<dyn Error>> {
    let picture = env::args_os().nth(1).map(PathBuf::from);
    let threads = thread_counts(cores());
    head::print("One breaker, all cores", "contention");
    println!(
        "Nanoseconds per call as each thread sees it: median of {ROUNDS} interleaved rounds \
         (quartiles), {} cores.\n",
        cores()
    );
    for load in Load::ALL {
        println!("## {}\n", load.title());
        let measured = run(load, &threads);
        println!("{}", table(&measured, &threads));
        if let (Load::Closed, Some(path)) = (load, &picture) {
            draw(path, &measured, &threads)?;
            eprintln!("drew {}", path.display());
        }
    }
    println!("## All threads at the deadline\n");
    println!("{}", storms::table(cores()));
    Ok(())
}

/// 1, 2, 4, … and all.
fn thread_counts(cores: usize) -> Vec<usize> {
    let mut counts: Vec<usize> = (0..cores.ilog2()).map(|power| 1 << power).collect();
    if !cores.is_power_of_two() {
        counts.push(1 << cores.ilog2());
    }
    counts.push(cores);
    counts
}

/// A contestant or yardstick, with a figure per number of threads.
struct Line {
    name: String,
    figures: Vec<Figure>,
}

fn run(load: Load, threads: &[usize]) -> Vec<Line> {
    let cases: Vec<_> = threads
        .iter()
        .flat_map(|threads| load.cases().into_iter().map(|case| case.by(*threads)))
        .collect();
    let figures = measure(&cases, ROUNDS);
    let lines = cases.len() / threads.len();
    (0..lines)
        .map(|line| Line {
            name: cases[line].name.clone(),
            figures: figures.iter().skip(line).step_by(lines).copied().collect(),
        })
        .collect()
}

fn table(lines: &[Line], threads: &[usize]) -> Table {
    let most = threads.last().copied().unwrap_or(1);
    let header = threads.iter().map(|threads| match threads {
        1 => "1 thread".into(),
        _ => format!("{threads} threads"),
    });
    let last = format!("calls per µs, all {most}");
    let mut table = Table::new([String::new()].into_iter().chain(header).chain([last]));
    for Line { name, figures } in lines {
        let throughput = figures[figures.len() - 1].throughput(most);
        let cells = figures.iter().map(Figure::to_string);
        let last = format!("{throughput:.0}");
        table.row([name.clone()].into_iter().chain(cells).chain([last]));
    }
    table
}

fn draw(path: &Path, lines: &[Line], threads: &[usize]) -> Result<(), Box<dyn Error>> {
    let mut groups: Vec<Group> = lines
        .iter()
        .map(|line| Group {
            name: line.name.replace('`', ""),
            values: line.figures.iter().map(|figure| figure.median).collect(),
            is_ours: line.name.starts_with("atomic-breaker"),
        })
        .collect();
    groups.sort_by(|a, b| a.values[a.values.len() - 1].total_cmp(&b.values[b.values.len() - 1]));
    let legend: Vec<String> = threads
        .iter()
        .map(|threads| format!("by {threads}"))
        .collect();
    bars(
        path,
        "One breaker, shared by more and more threads",
        "closed calls that succeed; nanoseconds per call as each thread sees it",
        &legend,
        &groups,
    )
}
