// SPDX-License-Identifier: MIT OR Apache-2.0
//! The crates of others that the public interface of each package names: those of `tests/api/foreign`. A breaking change of one
//! is a breaking change of the package.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::packages::root;
use crate::tokens::{Token, tokens};

/// Those that are ready for 1.0 (`docs/stability.md`).
const READY: [&str; 5] = [
    "atomic-breaker",
    "atomic-breaker-c",
    "atomic-breaker-server",
    "atomic-breaker-std",
    "atomic-breaker-tower",
];
/// Below 1.0, and yet named by these: the trait that a layer is about, as it has been since 2019.
const EXCEPTIONS: [&str; 2] = ["tower_layer 0.3", "tower_service 0.3"];
const PRIMITIVES: [&str; 17] = [
    "bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "i128", "isize", "str", "u8", "u16",
    "u32", "u64", "u128", "usize",
];

/// The crates that begin the paths of an interface.
fn named(interface: &str) -> BTreeSet<String> {
    let code = tokens(interface);
    let mut found = BTreeSet::new();
    for (at, token) in code.iter().enumerate() {
        let Some(name) = token.word() else { continue };
        let begins = at == 0 || code[at - 1] != Token::Path;
        let goes_on = code.get(at + 1) == Some(&Token::Path);
        let is_name = name.starts_with(|first: char| first.is_lowercase());
        // In a bound of `Unpin` that a macro writes, and that no one can name.
        let is_private = code.get(at + 2).is_some_and(|next| next.is("__private"));
        let is_own = ["alloc", "core", "std", "flash_journal"].contains(&name)
            || name.starts_with("atomic_breaker")
            || PRIMITIVES.contains(&name);
        if begins && goes_on && is_name && !is_private && !is_own {
            found.insert(name.to_owned());
        }
    }
    found
}

/// The crates of each package, with the beginning of their version.
fn listed() -> BTreeMap<String, BTreeSet<String>> {
    let text = fs::read_to_string(root().join("tests/api/foreign")).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let entry = |line: &str| {
        let (package, crates) = line.split_once(':').unwrap();
        let crates = crates.split(',').map(|it| it.trim().to_owned());
        let crates = crates.filter(|it| !it.is_empty()).collect();
        (package.to_owned(), crates)
    };
    lines.map(entry).collect()
}

#[test]
fn an_interface_names_only_listed_crates_of_others() {
    let mut listed = listed();
    for entry in fs::read_dir(root().join("tests/api")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "txt") {
            continue;
        }
        let package = path.file_stem().unwrap().to_str().unwrap();
        let crates = listed.remove(package).unwrap_or_default();
        let name = |it: &String| it.split(' ').next().unwrap().to_owned();
        let crates: BTreeSet<_> = crates.iter().map(name).collect();
        let named = named(&fs::read_to_string(&path).unwrap());
        assert_eq!(
            named, crates,
            "{package}: its interface, and tests/api/foreign"
        );
    }
    assert_eq!(listed.keys().collect::<Vec<_>>(), Vec::<&String>::new());
}

#[test]
fn a_package_that_is_ready_names_no_crate_below_one() {
    let listed = listed();
    for package in READY {
        let below = listed[package].iter().filter(|it| it.contains(" 0."));
        let below: Vec<_> = below.filter(|it| !EXCEPTIONS.contains(&&***it)).collect();
        assert_eq!(below, Vec::<&String>::new(), "{package}");
    }
}

#[test]
fn the_page_says_which_are_ready_and_what_they_name() {
    let page = fs::read_to_string(root().join("docs/stability.md")).unwrap();
    let rows: Vec<_> = page
        .lines()
        .filter(|it| it.starts_with("| `atomic"))
        .collect();
    let mut ready = Vec::new();
    for row in &rows {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let package = cells[1].trim_matches('`');
        if cells[3].starts_with("ready") {
            ready.push(package);
        }
        let quoted = |it: &String| {
            let (name, version) = it.split_once(' ').unwrap();
            let name = name.replace("serde_core", "serde").replace('_', "-");
            format!("`{name}` {version}")
        };
        let listed: BTreeSet<_> = listed()[package].iter().map(quoted).collect();
        let parts = cells[2].split('`').collect::<Vec<_>>();
        let named = parts[1..].chunks(2).map(|pair| {
            let version = pair[1].trim().split([',', ';', ' ']).next().unwrap();
            format!("`{}` {version}", pair[0])
        });
        assert_eq!(named.collect::<BTreeSet<_>>(), listed, "{package}");
    }
    ready.sort_unstable();
    assert_eq!(ready, READY);
    assert_eq!(rows.len(), READY.len() + 2);
}

#[test]
fn the_listed_versions_are_those_in_use() {
    let locks = ["Cargo.lock", "std-adapter/around/steps/sqlite/Cargo.lock"];
    let locks = locks.map(|lock| fs::read_to_string(root().join(lock)).unwrap());
    let locks = locks.concat().replace('-', "_");
    for (package, crates) in listed() {
        for it in crates {
            let (name, version) = it.split_once(' ').unwrap();
            let locked = format!("name = \"{name}\"\nversion = \"{version}.");
            assert!(locks.contains(&locked), "{package}: {it}");
        }
    }
}

#[test]
fn control_a_crate_of_others_is_found() {
    let interface =
        "pub fn core::a::B<C>::d(&self, e::f::G<h::I>) -> u32 where Y: j::K, x::__private::L
        impl atomic_breaker::m::N for str::o";
    let found: Vec<_> = named(interface).into_iter().collect();
    assert_eq!(found, ["e", "h", "j"]);
}
