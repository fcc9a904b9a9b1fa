// SPDX-License-Identifier: MIT OR Apache-2.0
//! Types and functions that the pages name exist.

use std::collections::BTreeSet;
use std::fs;

use crate::{files, pages, root, shown};

/// Pages that name what other projects have, and the code that is made of a file of rules.
const OF_OTHERS: [&str; 5] = [
    "docs/coming-from.md",
    "docs/coming-from-elsewhere.md",
    "docs/peers.md",
    "docs/c.md",
    "core/c/README.md",
];

/// The other names that belong to other projects.
const OTHERS: [&str; 14] = [
    "BufferLayer",
    "CancelledError",
    "ExponentialBackoffMaker",
    "Fetch",
    "GeneratorExit",
    "Http404",
    "LoadShedLayer",
    "MultiwriteNorFlash",
    "OperationalError",
    "RateLimitLayer",
    "RuntimeDirectoryPreserve",
    "find_package",
    "target_link_options",
    "to_timestamp",
];

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| letter != '_' && !letter.is_ascii_alphanumeric())
}

/// A page in parts: prose and inline code alternate, blocks of code are left out.
fn inline_code(page: &str) -> Vec<&str> {
    let prose = page.split("```").step_by(2);
    let lines = prose.flat_map(str::lines);
    lines
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .collect()
}

/// The names of types, and those of functions that are called or stand behind a type.
fn names(code: &str) -> Vec<&str> {
    let is_type = |word: &&str| {
        word.len() > 3
            && word.starts_with(|first: char| first.is_ascii_uppercase())
            && word.contains(|letter: char| letter.is_ascii_lowercase())
    };
    let types = words(code).filter(is_type);
    let called = code.split('(').rev().skip(1);
    let called = called.filter_map(|before| words(before).last());
    let behind = code
        .split("::")
        .skip(1)
        .filter_map(|after| words(after).next());
    let functions = called.chain(behind).filter(|word| word.len() > 3);
    types.chain(functions).collect()
}

#[test]
fn the_names_in_code_are_found() {
    assert_eq!(
        names("Config::slow_call(limit)"),
        ["Config", "slow_call", "slow_call"]
    );
    assert_eq!(
        names(".probes(3).close_after(5)"),
        ["close_after", "probes"]
    );
    assert_eq!(
        inline_code("`a` b `c`\n```rust\n`d`\n```\n`e`"),
        ["a", "c", "e"]
    );
}

#[test]
fn every_name_on_a_page_exists() {
    let mut sources = Vec::new();
    for end in [".rs", ".js", ".toml", ".yml", ".py", ".h", ".mjs"] {
        files(&root(), end, &mut sources);
    }
    let mut known: BTreeSet<String> = OTHERS.map(str::to_owned).into();
    for source in sources {
        let text = fs::read_to_string(source).unwrap();
        known.extend(words(&text).map(str::to_owned));
    }
    let pages = pages();
    for (_, text) in &pages {
        let blocks = text.split("```").skip(1).step_by(2);
        known.extend(blocks.flat_map(words).map(str::to_owned));
    }
    let mut count = 0;
    let mut faults = Vec::new();
    for (page, text) in &pages {
        let page = shown(page);
        if OF_OTHERS.contains(&page.as_str()) {
            continue;
        }
        for name in inline_code(text).into_iter().flat_map(names) {
            count += 1;
            if !known.contains(name) {
                faults.push(format!("{page}: {name}"));
            }
        }
    }
    assert!(count > 500, "{count} names");
    assert!(
        faults.is_empty(),
        "these do not exist:\n{}",
        faults.join("\n")
    );
}
