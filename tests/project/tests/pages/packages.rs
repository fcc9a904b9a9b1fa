// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tables of packages, of the breaker and of what is around it, compared with their manifests.

use std::collections::{BTreeMap, BTreeSet};

use crate::counts::read;
use crate::published::published;

/// `-std` and `atomic-breaker-std` are the same.
fn full(name: &str) -> String {
    match name.strip_prefix('-') {
        Some(name) => format!("atomic-breaker-{name}"),
        None => name.to_owned(),
    }
}

/// The texts between backticks.
fn quoted(cell: &str) -> impl Iterator<Item = String> {
    cell.split('`').skip(1).step_by(2).map(full)
}

/// Each package of the tables, and those that it builds upon. A package after "with" builds upon the first of its row.
fn listed() -> BTreeMap<String, BTreeSet<String>> {
    let mut found = BTreeMap::new();
    for page in ["docs/README.md", "std-adapter/around/README.md"] {
        found.extend(listed_on(&read(page)));
    }
    found
}

fn listed_on(page: &str) -> BTreeMap<String, BTreeSet<String>> {
    let table = page.split("\n## Packages").nth(1).unwrap();
    let table = table.split("\n## ").next().unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| ")).skip(1);
    let mut found = BTreeMap::new();
    for row in rows {
        let cells: Vec<_> = row.trim_matches('|').split(" | ").collect();
        let mut names = quoted(cells[1]);
        let first = names.next().unwrap();
        for engine in names {
            found.insert(engine, [first.clone()].into());
        }
        let upon = cells.get(2).copied().unwrap_or_default();
        found.insert(first, quoted(upon).collect());
    }
    found
}

/// Returns whether a package builds upon another one, directly or through those between.
fn includes(upon: &BTreeMap<String, BTreeSet<String>>, package: &str, other: &str) -> bool {
    let direct = &upon[package];
    direct.contains(other) || direct.iter().any(|it| includes(upon, it, other))
}

#[test]
fn packages_build_upon_what_the_table_says() {
    let (listed, published) = (listed(), published());
    let names: Vec<_> = listed.keys().collect();
    assert_eq!(names, published.keys().collect::<Vec<_>>());
    for (name, package) in &published {
        for upon in &listed[name] {
            let can = package.builds_upon(true).contains(upon.as_str());
            assert!(can, "{name} does not need {upon}");
        }
        for needed in package.builds_upon(false) {
            assert!(includes(&listed, name, needed), "{name} needs {needed}");
        }
    }
}
