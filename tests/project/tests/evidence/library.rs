// SPDX-License-Identifier: MIT OR Apache-2.0
//! The library functions that the core uses, and the places where it can panic, and where it loops: as the tables of
//! `docs/assurance/safety.md` say.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::{files, root, shown};

/// The code of the core, file by file, without comments.
fn core() -> Vec<(String, String)> {
    let mut sources = Vec::new();
    files(&root().join("core/src"), ".rs", &mut sources);
    assert!(sources.len() > 40, "{sources:?}");
    let read = |path: std::path::PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        let code = text.lines().filter(|line| !line.trim().starts_with("//"));
        (shown(&path), code.collect::<Vec<_>>().join("\n"))
    };
    sources.into_iter().map(read).collect()
}

fn is_letter(letter: char) -> bool {
    letter == '_' || letter.is_ascii_alphanumeric()
}

/// The parts of a library that a source names: the first name below it, also of a list in braces.
fn parts<'a>(code: &'a str, library: &str) -> Vec<&'a str> {
    let path = format!("{library}::");
    let mut found = Vec::new();
    for (at, _) in code.match_indices(&path) {
        if code[..at].ends_with(|before: char| is_letter(before) || before == ':') {
            continue;
        }
        let rest = &code[at + path.len()..];
        let list = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
        let names = list.map_or_else(|| vec![rest], |(inside, _)| inside.split(',').collect());
        for name in names {
            let name = name.trim();
            let end = name.find(|letter| !is_letter(letter)).unwrap_or(name.len());
            found.extend((end > 0).then_some(&name[..end]));
        }
    }
    found
}

/// The number of times that each file of the core has one of these texts.
fn counts(texts: &[&str]) -> BTreeMap<String, usize> {
    let counted = core().into_iter().map(|(file, code)| {
        let count = texts.iter().map(|text| code.matches(text).count()).sum();
        (file, count)
    });
    counted.filter(|(_, count)| *count > 0).collect()
}

/// The first two columns of the table below a heading.
fn table(heading: &str) -> BTreeMap<String, String> {
    let page = fs::read_to_string(root().join("docs/assurance/safety.md")).unwrap();
    let below = page.split_once(heading).expect(heading).1;
    let below = below.split("\n## ").next().unwrap();
    let rows = below.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.map(|row| {
        let mut cells = row
            .trim_matches('|')
            .split('|')
            .map(|cell| cell.trim().replace('`', ""));
        (cells.next().unwrap(), cells.next().unwrap())
    });
    cells.collect()
}

#[test]
fn the_page_lists_what_the_core_uses_of_its_library() {
    let mut used = BTreeMap::<String, Vec<String>>::new();
    for (file, code) in core() {
        for library in ["core", "alloc", "portable_atomic"] {
            for part in parts(&code, library) {
                let files = used.entry(format!("{library}::{part}")).or_default();
                files.push(file.clone());
            }
        }
    }
    let listed: Vec<_> = table("\n## What the core uses").into_keys().collect();
    let used: Vec<_> = used.into_keys().collect();
    assert_eq!(listed, used, "left: the page, right: the code");
}

#[test]
fn the_page_lists_where_the_core_can_panic() {
    let texts = [
        "panic!(",
        ".unwrap()",
        ".expect(",
        "unreachable!(",
        "todo!(",
        "assert!(",
        "assert_eq!(",
    ];
    check("\n## Panics", &texts);
}

#[test]
fn the_page_lists_where_the_core_loops() {
    check("\n## Loops", &["loop {", "while ", "for (half, mark) in"]);
}

/// Those that are published.
#[test]
fn packages_forbid_unsafe_code_but_those_for_c_and_mapped_memory() {
    let mut manifests = Vec::new();
    files(&root(), "Cargo.toml", &mut manifests);
    let mut without = BTreeSet::new();
    for manifest in manifests {
        let text = fs::read_to_string(&manifest).unwrap();
        let source = manifest.with_file_name("src").join("lib.rs");
        if !text.contains("[package]") || text.contains("publish = false") || !source.exists() {
            continue;
        }
        let source = fs::read_to_string(source).unwrap();
        if !source.contains("\n#![forbid(unsafe_code)]\n") {
            without.insert(shown(manifest.parent().unwrap()));
        }
    }
    let mapped = "std-adapter/around/mapped";
    let expected = ["core/c", mapped, &format!("{mapped}/c")].map(str::to_owned);
    assert_eq!(without, BTreeSet::from(expected));
    // One file of it.
    let source = fs::read_to_string(root().join(mapped).join("src/lib.rs")).unwrap();
    assert!(source.contains("\n#![deny(unsafe_code)]"));
}

fn check(heading: &str, texts: &[&str]) {
    let found: BTreeMap<_, _> = counts(texts)
        .into_iter()
        .map(|(file, count)| (file, count.to_string()))
        .collect();
    assert_eq!(table(heading), found, "left: the page, right: the code");
}

#[test]
fn control_names_below_a_library_are_found() {
    let code = "use core::{fmt, mem::take};\ncore::pin::pin!(x); my::core::no; hardcore::no";
    assert_eq!(parts(code, "core"), ["fmt", "mem", "pin"]);
}
