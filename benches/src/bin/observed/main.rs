// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cost of log and metrics for a closed call, with one breaker and by key; in one run, with one thread and
//! with two.
//!
//! ```console
//! cargo run --release -p benches --bin observed
//! ```
//!
//! Prints Markdown and needs two cores; takes about 10 seconds, minutes where other programs run, as disturbed laps
//! are run again. Claims are held against that very run; ends with 1 and says what was missed if one does not hold.

mod cases;

use std::process::ExitCode;

use benches::claim::{self, Claim};
use benches::head;
use benches::paired::Paired;
use benches::rounds::measure_paired;
use benches::table::Table;
use benches::yardstick;

use cases::{Group, Observed};

const ROUNDS: usize = 201;

fn main() -> ExitCode {
    let all = cases::all();
    let count = all.len();
    let timed: Vec<_> = [1, 2]
        .into_iter()
        .flat_map(|threads| {
            cases::all()
                .into_iter()
                .map(move |one| one.case.by(threads))
        })
        .collect();
    let swap = timed.len();
    let timed: Vec<_> = timed
        .into_iter()
        .chain([yardstick::compare_and_swap()])
        .collect();
    let paired = measure_paired(&timed, ROUNDS);
    let swap_ns = paired.figure(swap).median;

    let Paired {
        laps, disturbed, ..
    } = paired;
    head::print("Log and metrics", "observed");
    println!(
        "Nanoseconds per call as each thread sees it: median of {ROUNDS} interleaved rounds (quartiles). What it costs is \
         the median of the differences within each round. {disturbed} of {laps} laps were disturbed by other programs, \
         each time that they were run.\n"
    );
    let mut table =
        Table::new(["", "1 thread", "costs", "each of 2 threads", "costs"].map(String::from));
    let mut claims = Vec::new();
    for (index, Observed { group, case, .. }) in all.iter().enumerate() {
        let bare = all
            .iter()
            .position(|other| other.group == *group && !other.has_observer)
            .expect("each group has one");
        let cost = |at| paired.longer(index + at, bare + at).median;
        table.row([
            case.name.clone(),
            paired.figure(index).to_string(),
            format!("{:.1}", cost(0)),
            paired.figure(index + count).to_string(),
            format!("{:.1}", cost(count)),
        ]);
        if index != bare {
            let costs = [cost(0), cost(count)].map(|cost| cost / swap_ns);
            claims.extend(claims_of(&case.name, *group, costs));
        }
    }
    println!("{table}");
    println!("{}", claim::table(&claims));
    claim::verdict(&claims)
}

/// Compared with a swap of the same run, so that they hold whatever the processor.
fn claims_of(name: &str, group: Group, [alone, together]: [f64; 2]) -> [Claim; 2] {
    let most = group.most_swaps();
    [
        Claim::at_most(
            format!("{name}: costs a closed call, of a bare compare-and-swap"),
            most,
            alone,
            "×",
        ),
        Claim::at_most(
            format!("{name}: costs each of two threads, of the same"),
            most,
            together,
            "×",
        ),
    ]
}
