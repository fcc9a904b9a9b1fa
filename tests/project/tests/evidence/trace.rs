// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each behaviour is traced to code and tests that exist, and every id that a source names is one of a behaviour.

use std::collections::BTreeSet;
use std::fs;

use crate::{files, root, shown};

/// A file and what is named of it.
type Place<'a> = (&'a str, Vec<&'a str>);

/// A row of the table.
struct Row<'a> {
    id: &'a str,
    code: Vec<Place<'a>>,
    tests: Vec<Place<'a>>,
}

fn page(name: &str) -> String {
    fs::read_to_string(root().join("docs/assurance").join(name)).unwrap()
}

/// Returns whether this is the id of a behaviour, as `B17`.
fn is_id(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next().is_some_and(|kind| "BRFSLJP".contains(kind))
        && (2..=3).contains(&word.len())
        && letters.all(|digit| digit.is_ascii_digit())
}

/// The cells of the rows that begin with an id.
fn rows(page: &str) -> Vec<Vec<&str>> {
    let rows = page.lines().filter(|line| line.starts_with('|'));
    let cells = rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect());
    cells.filter(|row: &Vec<_>| is_id(row[0])).collect()
}

/// A file with a slash in its name, and what stands behind it up to the next one.
fn places(cell: &str) -> Vec<Place<'_>> {
    let mut places = Vec::new();
    for code in cell.split('`').skip(1).step_by(2) {
        if code.contains('/') {
            places.push((code, Vec::new()));
        } else if let Some((_, names)) = places.last_mut() {
            names.push(code);
        }
    }
    places
}

fn traced(page: &str) -> Vec<Row<'_>> {
    let rows = rows(page).into_iter().map(|cells| Row {
        id: cells[0],
        code: places(cells[1]),
        tests: places(cells[2]),
    });
    rows.collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| letter != '_' && !letter.is_ascii_alphanumeric())
}

/// Returns whether a source declares a function, type or trait of this name.
fn declares(source: &str, name: &str) -> bool {
    let mut before = "";
    let names = words(source).filter(|word| !word.is_empty());
    names.into_iter().any(|word| {
        let is_declared = ["fn", "struct", "enum", "trait", "type"].contains(&before);
        before = word;
        is_declared && word == name
    })
}

/// Returns whether a source has a test of this name: a function below the attribute of a test, or in the list of a
/// macro that makes tests of functions.
fn has_test(source: &str, name: &str) -> bool {
    let Some(at) = source.find(&format!("fn {name}")) else {
        return false;
    };
    let after = &source[at + "fn ".len() + name.len()..];
    let before = source[..at]
        .lines()
        .rev()
        .skip(usize::from(!source[..at].ends_with('\n')));
    let mut attributes = before.take_while(|line| {
        let line = line.trim();
        line.starts_with("#[") || line.starts_with("//") || line.ends_with(']')
    });
    let is_below_attribute =
        attributes.any(|line| line.contains("#[test]") || line.contains("#[tokio::test"));
    let is_listed = after
        .split(name)
        .skip(1)
        .any(|after| after.starts_with([',', '\n', ')']));
    after.starts_with(['(', '<']) && (is_below_attribute || is_listed)
}

/// The faults of a table.
fn faults(behaviours: &str, table: &str) -> Vec<String> {
    let known: Vec<_> = rows(behaviours).into_iter().map(|row| row[0]).collect();
    let traced = traced(table);
    let ids: Vec<_> = traced.iter().map(|row| row.id).collect();
    let mut faults = Vec::new();
    if known != ids {
        faults.push(format!("behaviours {known:?}, traced {ids:?}"));
    }
    for Row { id, code, tests } in &traced {
        if code.is_empty() || !tests.iter().any(|(_, names)| !names.is_empty()) {
            faults.push(format!("{id} has no code or no test"));
        }
        let named = code.iter().map(|place| (place, false));
        for ((file, names), is_test) in named.chain(tests.iter().map(|place| (place, true))) {
            let Ok(source) = fs::read_to_string(root().join(file)) else {
                faults.push(format!("{id}: there is no {file}"));
                continue;
            };
            for name in names {
                let is_there = if is_test {
                    has_test(&source, name)
                } else {
                    declares(&source, name)
                };
                if !is_there {
                    faults.push(format!("{id}: {file} has no `{name}`"));
                }
            }
        }
    }
    faults
}

#[test]
fn each_behaviour_is_traced_to_code_and_tests_that_exist() {
    let (behaviours, table) = (page("behaviours.md"), page("traceability.md"));
    assert!(rows(&behaviours).len() >= 60);
    let faults = faults(&behaviours, &table);
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// Ids in the comments of sources, in brackets as `(B6)`, and in the changelog.
#[test]
fn each_id_that_a_source_names_is_one_of_a_behaviour() {
    let behaviours = page("behaviours.md");
    let known: BTreeSet<_> = rows(&behaviours).into_iter().map(|row| row[0]).collect();
    let mut sources = vec![root().join("CHANGELOG.md")];
    files(&root(), ".rs", &mut sources);
    let mut faults = Vec::new();
    for source in sources {
        let text = fs::read_to_string(&source).unwrap();
        let comments = text
            .lines()
            .filter(|line| !source.ends_with(".rs") || line.trim().starts_with("//"));
        let named = comments.flat_map(|line| line.split('(').skip(1));
        let named = named.filter_map(|rest| rest.split_once(')'));
        for id in named.flat_map(|(inside, _)| inside.split(", ")) {
            if is_id(id) && !known.contains(id) {
                faults.push(format!("{}: {id}", shown(&source)));
            }
        }
    }
    assert!(faults.is_empty(), "no behaviours:\n{}", faults.join("\n"));
}

#[test]
fn control_a_row_that_names_what_is_not_there_is_found() {
    let behaviours = "| B1 | a |\n| B2 | b |\n";
    let found = |table: &str| faults(behaviours, table).join("; ");
    let code = "`core/src/acquire.rs`: `admit`";
    let tests = "`tests/contract/cost.rs`: `a_closed_success_is_two_loads_no_swap_and_no_clock`";
    let right = format!("| B1 | {code} | {tests} | |\n| B2 | {code} | {tests} | |\n");
    assert_eq!(found(&right), "");
    assert!(found(&format!("| B1 | {code} | {tests} | |\n")).contains("behaviours"));
    assert!(found(&right.replacen(tests, "", 1)).contains("B1 has no code or no test"));
    assert!(found(&right.replacen("admit", "admits", 1)).contains("has no `admits`"));
    assert!(found(&right.replacen("cost.rs", "costs.rs", 1)).contains("there is no"));
    // A helper of tests is no test.
    let helper = right.replacen(
        "a_closed_success_is_two_loads_no_swap_and_no_clock",
        "taken",
        1,
    );
    assert!(found(&helper).contains("has no `taken`"));
}

#[test]
fn control_a_function_that_is_no_test_is_none() {
    assert!(has_test("#[test]\nfn one() {}\n", "one"));
    assert!(has_test(
        "    #[tokio::test(start_paused = true)]\n    async fn one() {}\n",
        "one"
    ));
    assert!(has_test(
        "fn one<W: Word>() {}\non_both_words!(\n    one,\n);\n",
        "one"
    ));
    assert!(!has_test("#[test]\nfn two() {}\n\nfn one() {}\n", "one"));
    assert!(!has_test("#[test]\nfn one_more() {}\n", "one"));
}
