// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures in the text of pages are those that are locked.

use crate::counts::{bytes, read};

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
            "embassy-adapter/journal/journal.md",
            format!("adds {} bytes", shown(journal[0])),
        ),
        (
            "embassy-adapter/journal/journal.md",
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
            "docs/microcontrollers.md",
            format!(
                "A call around a closure takes {} bytes on a Cortex-M0; a gradual return adds {}, a failure ratio {}",
                shown(call[0]),
                more("call_with_gradual_return"),
                more("call_with_tally"),
            ),
        ),
        (
            "docs/microcontrollers.md",
            format!(
                "A `Device` takes {}, and {} with a repair.",
                shown(bytes("device_call")[0]),
                shown(bytes("device_call_with_repair")[0])
            ),
        ),
    ];
    for (page, words) in said {
        let text = read(page).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(words.trim()), "{page} does not say: {words}");
    }
}

/// The row of a crate in the kept result of `peers`: nanoseconds of a closed call by one thread, and by each of two.
fn closed(name: &str) -> [String; 2] {
    let kept = read("benches/results/peers.md");
    let costs = kept.split_once("## What a call costs").unwrap().1;
    let row = costs.lines().find(|line| {
        let first = line.trim_start_matches("| ").split(" |").next();
        first.is_some_and(|first| first.trim() == name)
    });
    let cells: Vec<&str> = row.expect(name).split('|').map(str::trim).collect();
    // Without the quartiles.
    let median = |at: usize| cells[at].split(' ').next().unwrap().to_owned();
    [median(2), median(3)]
}

#[test]
fn what_a_closed_call_costs_is_what_the_kept_result_has() {
    let peers = [
        "atomic-breaker",
        "failsafe 1.3.0",
        "recloser 1.4.0",
        "tower-resilience-circuitbreaker 0.14.0",
        "breaker 2.0.2",
    ];
    let costs = peers.map(closed);
    let page = read("README.md");
    for (threads, words) in ["closed call, one thread[^1]", "each of two threads"]
        .iter()
        .enumerate()
    {
        let [ours, others @ ..] = costs.each_ref().map(|costs| &costs[threads]);
        let others: Vec<_> = others.iter().map(|ns| format!("{ns} ns")).collect();
        let row = format!("| {words} | **{ours} ns** | {} |", others.join(" | "));
        assert!(page.contains(&row), "README.md does not have: {row}");
    }
    let bare = format!("a bare closure takes {} ns", closed("no breaker")[0]);
    assert!(page.contains(&bare), "README.md does not say: {bare}");
}
