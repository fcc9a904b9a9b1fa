// SPDX-License-Identifier: MIT OR Apache-2.0
//! Doc comments can be read alone, as docs.rs shows them: none begins with a word that points at its neighbour.

use std::collections::BTreeMap;
use std::fs;

use crate::packages::{Packages, root, sources};

const POINTERS: [&str; 8] = ["That", "One", "It", "Those", "The same", "Of", "As", "For"];

/// Lines that begin a doc comment, or go on in one, with such a word and a lower-case one behind it.
fn pointing(text: &str) -> usize {
    let mut is_within = false;
    let mut found = 0;
    for line in text.lines().map(str::trim_start) {
        let comment = ["///", "//!"]
            .iter()
            .find_map(|start| line.strip_prefix(start));
        let Some(comment) = comment else {
            is_within = false;
            continue;
        };
        let begins = !std::mem::replace(&mut is_within, true);
        found += usize::from(begins && points(comment.trim_start()));
    }
    found
}

fn points(sentence: &str) -> bool {
    let words = POINTERS.iter();
    let mut rest = words.filter_map(|word| sentence.strip_prefix(*word)?.strip_prefix(' '));
    rest.any(|rest| rest.starts_with(|char: char| char.is_ascii_lowercase()))
}

#[test]
fn no_doc_comment_begins_with_a_word_that_points_at_its_neighbour() {
    let mut found = BTreeMap::<String, usize>::new();
    for package in &Packages::published().packages {
        for file in sources(&package.folder.join("src")) {
            let count = pointing(&fs::read_to_string(&file).unwrap());
            let name = file.strip_prefix(root()).unwrap().display().to_string();
            if count > 0 {
                found.insert(name, count);
            }
        }
    }
    let found: Vec<_> = found
        .iter()
        .map(|(file, count)| format!("{file}: {count}"))
        .collect();
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn control_a_comment_that_points_at_its_neighbour_is_found() {
    assert_eq!(
        pointing("/// That of a key.\nfn a() {}\n/// It is open."),
        2
    );
    assert_eq!(pointing("/// A key.\n/// One of these."), 0);
    assert_eq!(
        pointing("/// As [`Config`]. \n\n/// Italics.\n// That is."),
        0
    );
}
