// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables of instructions and bytes on the pages, compared with what is locked in `benches/locked`.
//!
//! With `ATOMIC_BREAKER_WRITE_COUNTS=1` the tests write the locked figures into the tables instead.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::{env, fs};

use crate::root;

const PAGE: &str = "benches/results/counts.md";
const SMALL: &str = "docs/microcontrollers.md";

const TARGETS: [&str; 6] = [
    "thumbv6m-none-eabi",
    "thumbv7m-none-eabi",
    "thumbv7em-none-eabihf",
    "thumbv8m.main-none-eabi",
    "riscv32imac-unknown-none-elf",
    "riscv32imc-unknown-none-elf",
];

pub(crate) fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// Lines of a number and a name: the numbers of each name, in order.
fn locked(file: &str) -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::<_, Vec<_>>::new();
    for line in read(&format!("benches/locked/{file}")).lines() {
        let (number, name) = line.trim().split_once(' ').unwrap_or_default();
        if number.bytes().all(|byte| byte.is_ascii_digit()) {
            let name = name.trim().to_owned();
            found.entry(name).or_default().push(number.to_owned());
        }
    }
    found
}

/// The bytes of flash and of RAM that a program adds, on each target.
fn sizes(program: &str) -> [(u32, u32); 6] {
    let locked = locked("code-size.txt");
    TARGETS.map(|target| {
        let end = format!(" {target}, {program}");
        let mut lines = locked.iter().filter(|(name, _)| name.ends_with(&end));
        let (name, flash) = lines.next().expect(&end);
        let ram = name.split_whitespace().next().unwrap();
        (flash[0].parse().unwrap(), ram.parse().unwrap())
    })
}

/// The bytes of flash that a program adds, on each target.
pub(crate) fn bytes(program: &str) -> [u32; 6] {
    sizes(program).map(|(flash, _)| flash)
}

/// The worst case of an operation on a chip: bytes of stack, the most instructions, and those that a lost exchange adds.
type Worst = [u32; 3];

/// The worst cases by operation, on each chip.
fn worst() -> BTreeMap<String, Vec<Worst>> {
    let mut found = BTreeMap::<_, Vec<_>>::new();
    for line in read("benches/locked/worst.txt").lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        let numbers: Vec<_> = words.iter().map_while(|word| word.parse().ok()).collect();
        if let Ok(worst) = Worst::try_from(numbers) {
            let operation = words[3].trim_end_matches(':').to_owned();
            found.entry(operation).or_default().push(worst);
        }
    }
    found
}

/// Compares the cells of the first table below a line, or writes them: `cells` gets the number and the first cell of a
/// row and returns its other cells, of which an empty one stays as it is. The table has `count` rows.
fn check(page: &str, after: &str, count: usize, cells: impl Fn(usize, &str) -> Vec<String>) {
    let text = read(page);
    let (before, rest) = text.split_once(after).expect(after);
    let (head, rows) = rest.split_once("\n|--").unwrap();
    let (dashes, rows) = rows.split_once('\n').unwrap();
    let mut table = String::new();
    let mut length = 0;
    for (number, row) in rows
        .lines()
        .take_while(|row| row.starts_with('|'))
        .enumerate()
    {
        let old: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
        let new = cells(number, old[0]);
        assert_eq!(new.len(), old.len() - 1, "{page}: {row}");
        let kept = new.iter().zip(&old[1..]);
        let new = kept.map(|(new, old)| if new.is_empty() { old } else { new.as_str() });
        let new: Vec<_> = new.collect();
        writeln!(table, "| {} | {} |", old[0], new.join(" | ")).unwrap();
        length += row.len() + 1;
    }
    assert_eq!(
        table.lines().count(),
        count,
        "rows of {page} below {after:?}"
    );
    let rest = &rows[length..];
    let updated = format!("{before}{after}{head}\n|--{dashes}\n{table}{rest}");
    if env::var_os("ATOMIC_BREAKER_WRITE_COUNTS").is_some() {
        fs::write(root().join(page), updated).unwrap();
    } else {
        assert!(
            text == updated,
            "locked counts differ from {page}, which should have:\n{table}"
        );
    }
}

#[test]
fn tables_show_what_is_locked() {
    instructions_on_x86();
    bytes_of_flash();
    instructions_on_boards();
    worst_cases();
    what_a_guard_adds();
    worst_of_a_chip();
    bytes_of_futures();
}

fn instructions_on_x86() {
    let locked = locked("instructions.txt");
    let rows = locked.keys().filter(|name| name.starts_with("bits_32::"));
    check(
        PAGE,
        "\n## Instructions on x86-64",
        rows.count(),
        |_, operation| {
            let name = operation.replace(' ', "_");
            let of = |bits| locked[&format!("{bits}::{name}")][0].clone();
            vec![of("bits_64"), of("bits_32")]
        },
    );
}

fn bytes_of_flash() {
    let programs = [
        "permit",
        "call",
        "device_call",
        "device_call_with_repair",
        "call_with_gradual_return",
        "call_with_tally",
        "call_by_wide_word",
        "call_by_rules_at_run_time",
        "permit_in_c",
        "call_through_two_breakers",
        "call_timeout",
        "call_timeout_by_handle",
        "call_timeout_through_two_breakers",
        "call_timeout_by_two_handles",
    ];
    check(PAGE, "\n## Bytes of flash", programs.len(), |row, _| {
        let sizes = sizes(programs[row]);
        let ram = match programs[row] {
            "call_by_rules_at_run_time" => String::new(),
            _ => sizes[0].1.to_string(),
        };
        let flash = sizes.iter().map(|(flash, _)| flash.to_string());
        flash.chain([ram]).collect()
    });
}

fn instructions_on_boards() {
    let locked = locked("boards.txt");
    let after = "\n## Instructions on emulated boards";
    check(PAGE, after, locked.len(), |_, operation| {
        locked[operation].clone()
    });
}

fn worst_cases() {
    let worst = worst();
    let after = "\n## Worst cases on emulated boards";
    check(PAGE, after, worst.len(), |_, operation| {
        let of_each = worst[operation].iter();
        of_each
            .map(|[stack, most, lost]| match lost {
                0 => format!("{most}, {stack} B"),
                _ => format!("{most} + {lost} n, {stack} B"),
            })
            .collect()
    });
}

fn worst_of_a_chip() {
    let worst = worst();
    let kinds = [
        &["acquire"][..],
        &["success", "failure", "failure_with_retry_after", "cancel"],
        &["snapshot", "state"],
        &[
            "trip",
            "trip_for",
            "force_open",
            "release",
            "reset",
            "restore",
            "restore_after",
        ],
    ];
    assert_eq!(
        kinds.concat().len(),
        worst.len(),
        "each operation has a column"
    );
    check(SMALL, "\n## Worst cases", TARGETS.len(), |row, _| {
        let most = |kind: &[&str], which: usize| {
            let of_each = kind.iter().map(|operation| worst[*operation][row][which]);
            of_each.max().unwrap().to_string()
        };
        let all = kinds.concat();
        let instructions = kinds.map(|kind| most(kind, 1));
        instructions
            .into_iter()
            .chain([most(&all, 2), most(&all, 0)])
            .collect()
    });
}

fn what_a_guard_adds() {
    let boards = locked("boards.txt");
    let sizes = sizes("permit");
    check(SMALL, "what a guard adds", TARGETS.len(), |row, _| {
        let (flash, ram) = sizes[row];
        let operations = [
            "acquire and success, closed",
            "acquire and failure, closed",
            "rejection",
            "admission of the first probe",
        ];
        let counted = operations.map(|operation| boards[operation][row].clone());
        [flash.to_string(), ram.to_string()]
            .into_iter()
            .chain(counted)
            .collect()
    });
}

fn bytes_of_futures() {
    let counted = [
        "ready",
        "call_async",
        "call_timeout",
        "retry",
        "retry_try_limit",
        "transaction",
        "guarded_transaction",
        "journal_open",
        "journal_keep",
        "journal_send_all",
    ];
    let locked = locked("futures.txt");
    check(SMALL, "A future takes RAM", counted.len(), |row, _| {
        locked[counted[row]].clone()
    });
}
