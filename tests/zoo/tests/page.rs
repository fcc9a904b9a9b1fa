// SPDX-License-Identifier: MIT OR Apache-2.0
//! docs/drivers.md shows what a run gives.

use zoo::table;

const PAGE: &str = include_str!("../../../docs/drivers.md");

fn check(table: &str) {
    let missing: Vec<_> = table.lines().filter(|line| !PAGE.contains(line)).collect();
    assert!(
        missing.is_empty(),
        "not in docs/drivers.md, which `cargo run -p zoo` prints: {missing:#?}"
    );
    let rows = |text: &str| text.lines().filter(|line| line.starts_with("| ")).count();
    let (_, shown) = PAGE.split_once(table.lines().next().unwrap()).unwrap();
    let shown = shown.split("\n\n").next().unwrap();
    assert_eq!(rows(shown), rows(table) - 1, "rows that no run gives");
}

#[test]
fn the_page_shows_what_comes_of_drivers_in_a_guard() {
    let table = table::by_driver();
    check(&table);
    for row in table.lines().skip(2) {
        let cells: Vec<_> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [_, _, _, bare, noticed, _, _, _, right, wrong] = cells[..] else {
            panic!("{row}");
        };
        // Nothing tells of a driver that only writes, which the page says.
        if bare == "`Ok`" {
            continue;
        }
        assert_eq!(noticed, "3", "{row}");
        assert!(right.parse::<u32>().unwrap() > 650, "{row}");
        assert_eq!(wrong, "0", "{row}");
    }
}

#[test]
fn the_page_shows_what_comes_of_drivers_over_guarded_buses() {
    check(&table::by_transport());
}

#[test]
fn the_page_shows_what_drivers_return_that_are_not_set_up_again() {
    check(&table::not_set_up());
}
