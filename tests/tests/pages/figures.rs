//! Figures on the pages are those that are locked.

use std::collections::BTreeMap;
use std::fs;

use crate::root;

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// The first table below this line, without its head: the cells of each row.
fn table(page: &str, after: &str) -> Vec<Vec<String>> {
    let (_, rest) = page.split_once(after).expect(after);
    let rows = rest.lines().skip_while(|line| !line.starts_with("|--"));
    let rows = rows.skip(1).take_while(|line| line.starts_with('|'));
    let cells = |row: &str| {
        let cells = row.trim_matches('|').split('|');
        cells.map(|cell| cell.trim().to_owned()).collect()
    };
    rows.map(cells).collect()
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

#[test]
fn instructions_on_x86_are_those_that_are_locked() {
    let page = read("docs/performance.md");
    let rows = table(&page, "\n## Instructions");
    let locked = locked("instructions.txt");
    for row in &rows {
        let name = row[0].replace(' ', "_");
        assert_eq!(row[1], locked[&format!("bits_64::{name}")][0], "{name}");
        assert_eq!(row[2], locked[&format!("bits_32::{name}")][0], "{name}");
    }
    let of_32_bits = locked.keys().filter(|name| name.starts_with("bits_32::"));
    assert_eq!(rows.len(), of_32_bits.count());
}

#[test]
fn instructions_on_boards_are_those_that_are_locked() {
    let page = read("docs/performance.md");
    let rows = table(&page, "Instructions, on emulated boards");
    let locked = locked("boards.txt");
    for row in &rows {
        assert_eq!(row[1..], locked[&row[0]], "{}", row[0]);
    }
    assert_eq!(rows.len(), locked.len());
}

const TARGETS: [&str; 6] = [
    "thumbv6m-none-eabi",
    "thumbv7m-none-eabi",
    "thumbv7em-none-eabihf",
    "thumbv8m.main-none-eabi",
    "riscv32imac-unknown-none-elf",
    "riscv32imc-unknown-none-elf",
];

/// The bytes of flash that a program adds, on each target.
fn bytes(program: &str) -> [u32; 6] {
    let locked = locked("code-size.txt");
    TARGETS.map(|target| {
        let end = format!(" {target}, {program}");
        let mut lines = locked.iter().filter(|(name, _)| name.ends_with(&end));
        lines.next().expect(&end).1[0].parse().unwrap()
    })
}

#[test]
fn bytes_on_microcontrollers_are_those_that_are_locked() {
    let page = read("docs/performance.md");
    let rows = table(&page, "\n## On microcontrollers");
    let programs = [
        "permit",
        "call",
        "call_with_gradual_return",
        "call_with_tally",
        "call_by_wide_word",
        "call_by_rules_at_run_time",
        "call_through_two_breakers",
        "call_timeout",
        "call_timeout_by_handle",
        "call_timeout_through_two_breakers",
        "call_timeout_by_two_handles",
    ];
    assert_eq!(rows.len(), programs.len());
    for (row, program) in rows.iter().zip(programs) {
        let bytes = bytes(program).map(|bytes| bytes.to_string());
        assert_eq!(row[1..7], bytes, "{program}");
    }
}

#[test]
fn what_a_guard_adds_on_a_chip_is_what_is_locked() {
    let rows = table(&read("docs/microcontrollers.md"), "what a guard adds");
    let boards = locked("boards.txt");
    let flash = bytes("permit");
    assert_eq!(rows.len(), TARGETS.len());
    for (nth, row) in rows.iter().enumerate() {
        assert_eq!(row[1], flash[nth].to_string(), "{}", row[0]);
        let operations = [
            "acquire and success, closed",
            "acquire and failure, closed",
            "rejection",
            "admission of the first probe",
        ];
        for (shown, operation) in row[3..].iter().zip(operations) {
            assert_eq!(*shown, boards[operation][nth], "{}: {operation}", row[0]);
        }
    }
}

#[test]
fn bytes_of_futures_are_those_that_are_locked() {
    let rows = table(&read("docs/microcontrollers.md"), "A future takes RAM");
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
    assert_eq!(rows.len(), counted.len());
    for (row, name) in rows.iter().zip(counted) {
        assert_eq!(row[1], locked[name][0], "{name}");
    }
}

/// With a comma after thousands.
fn shown(number: u32) -> String {
    match number {
        1_000.. => format!("{},{:03}", number / 1_000, number % 1_000),
        _ => number.to_string(),
    }
}

#[test]
fn bytes_in_the_text_are_those_that_are_locked() {
    let (timeout, call) = (bytes("call_timeout"), bytes("call"));
    let mut journal = bytes("journal");
    for (journal, timeout) in journal.iter_mut().zip(timeout) {
        *journal -= timeout;
    }
    let least = journal.iter().min().unwrap();
    let most = journal.iter().max().unwrap();
    let more = |program| shown(bytes(program)[0] - call[0]);
    let said = [
        (
            "docs/journal.md",
            format!("adds {} bytes", shown(journal[0])),
        ),
        (
            "docs/journal.md",
            format!("adds {} to {} ", shown(*least), shown(*most)),
        ),
        (
            "docs/microcontrollers.md",
            format!(
                "{} bytes of code on a Cortex-M0 to a call with a time limit, which takes {}.",
                shown(journal[0]),
                shown(timeout[0])
            ),
        ),
        (
            "docs/microcontrollers.md",
            format!(
                "A second breaker adds {} bytes to a `call` on a Cortex-M0, {} more than the first:",
                more("call_through_two_breakers"),
                shown(bytes("call_through_two_breakers")[0] - 2 * call[0]),
            ),
        ),
        (
            "docs/microcontrollers.md",
            format!(
                "{} bytes on a Cortex-M0 instead of {}",
                shown(bytes("call_timeout_by_handle")[0]),
                shown(timeout[0])
            ),
        ),
        (
            "docs/microcontrollers.md",
            format!(
                "{} bytes by two handles, {} through two `static` breakers",
                shown(bytes("call_timeout_by_two_handles")[0]),
                shown(bytes("call_timeout_through_two_breakers")[0])
            ),
        ),
        (
            "CHANGELOG.md",
            format!(
                "takes {} bytes instead of {} on Cortex-M0",
                shown(bytes("call_timeout_by_handle")[0]),
                shown(timeout[0])
            ),
        ),
        (
            "CHANGELOG.md",
            format!(
                "{} bytes of flash on Cortex-M0, or {} around a closure; a gradual return adds {}, a failure ratio {}",
                shown(bytes("permit")[0]),
                shown(call[0]),
                more("call_with_gradual_return"),
                more("call_with_tally"),
            ),
        ),
    ];
    for (page, words) in said {
        let text = read(page).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(words.trim()), "{page} does not say: {words}");
    }
}
