// SPDX-License-Identifier: MIT OR Apache-2.0
//! Doc comments can be read alone, as docs.rs shows them: none begins with a word that points at its neighbour, and
//! neither they nor their paragraphs begin with a relative clause where a sentence or a noun phrase belongs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::packages::{Packages, root, sources};

const POINTERS: [&str; 8] = ["That", "One", "It", "Those", "The same", "Of", "As", "For"];

/// "Returns whether ..", "The number of ..", "The reason why ..", and "If .." read better.
const RELATIVES: [&str; 10] = [
    "What", "How", "Whether", "Who", "Whom", "Whose", "Which", "Why", "Where", "When",
];

/// "When the breaker is open, .." is good English within a comment, and so is "Where callers choose the hosts, ..".
const OF_TIME_AND_PLACE: [&str; 2] = ["Where", "When"];

/// "The time since which .." reads better than "Since when ..".
const PREPOSITIONS: [&str; 18] = [
    "After", "At", "Before", "By", "For", "From", "In", "Of", "On", "Over", "Since", "Through",
    "To", "Under", "Until", "Upon", "With", "Within",
];

/// The place of a line: it begins a doc comment, or another paragraph of one, after a blank line or a heading.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Opening {
    Comment,
    Paragraph,
}

/// The first lines of the doc comments of a file and of their paragraphs, without those of code.
fn openings(text: &str) -> Vec<(Opening, &str)> {
    let mut found = Vec::new();
    let (mut next, mut is_code) = (Some(Opening::Comment), false);
    for line in text.lines().map(str::trim_start) {
        let starts = ["///", "//!"];
        let comment = starts.iter().find_map(|start| line.strip_prefix(start));
        let Some(comment) = comment.map(str::trim_start) else {
            (next, is_code) = (Some(Opening::Comment), false);
            continue;
        };
        is_code ^= comment.starts_with("```");
        if let Some(opening) = next.filter(|_| !is_code) {
            found.push((opening, comment));
        }
        let ends = !is_code && (comment.is_empty() || comment.starts_with('#'));
        next = ends.then_some(Opening::Paragraph);
    }
    found
}

fn count(text: &str, has: fn(Opening, &str) -> bool) -> usize {
    let openings = openings(text).into_iter();
    openings
        .filter(|(opening, line)| has(*opening, line))
        .count()
}

fn points(opening: Opening, line: &str) -> bool {
    let words = POINTERS.iter();
    let mut rest = words.filter_map(|word| line.strip_prefix(*word)?.strip_prefix(' '));
    opening == Opening::Comment
        && rest.any(|rest| rest.starts_with(|char: char| char.is_ascii_lowercase()))
}

fn is_relative(opening: Opening, line: &str) -> bool {
    let mut words = line
        .trim_start_matches('*')
        .split(|char: char| !char.is_ascii_alphabetic());
    let (first, second) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let may_begin = opening == Opening::Paragraph && OF_TIME_AND_PLACE.contains(&first);
    let is =
        |word: &&str| word.eq_ignore_ascii_case(second) && !second.starts_with(char::is_uppercase);
    RELATIVES.contains(&first) && !may_begin
        || PREPOSITIONS.contains(&first) && RELATIVES.iter().any(is)
}

/// The files below these folders that have such comments, with their number.
fn found(folders: &[impl AsRef<Path>], has: fn(Opening, &str) -> bool) -> BTreeMap<String, usize> {
    let files = folders.iter().flat_map(|folder| sources(folder.as_ref()));
    let counts = files.map(|file| {
        let count = count(&fs::read_to_string(&file).unwrap(), has);
        (
            file.strip_prefix(root()).unwrap().display().to_string(),
            count,
        )
    });
    counts.filter(|(_, count)| *count > 0).collect()
}

fn shown(found: &BTreeMap<String, usize>) -> String {
    let lines = found
        .iter()
        .map(|(file, count)| format!("\n{file}: {count}"));
    lines.collect()
}

#[test]
fn no_doc_comment_begins_with_a_word_that_points_at_its_neighbour() {
    let packages = &Packages::published().packages;
    let folders: Vec<_> = packages.iter().map(|it| it.folder.join("src")).collect();
    let found = found(&folders, points);
    assert!(found.is_empty(), "{}", shown(&found));
}

#[test]
fn no_doc_comment_begins_with_a_relative_clause() {
    let folders = ["benches", "core", "embassy-adapter", "std-adapter", "tests"];
    let found = found(&folders.map(|folder| root().join(folder)), is_relative);
    assert!(found.is_empty(), "{}", shown(&found));
}

#[test]
fn control_a_comment_that_points_at_its_neighbour_is_found() {
    let count = |text| count(text, points);
    assert_eq!(count("/// That of a key.\nfn a() {}\n/// It is open."), 2);
    assert_eq!(count("/// A key.\n/// One of these."), 0);
    assert_eq!(count("/// As [`Config`]. \n\n/// Italics.\n// That is."), 0);
}

#[test]
fn control_a_relative_clause_is_found() {
    let count = |text| count(text, is_relative);
    assert_eq!(
        count("//! What it is.\n\n/// How many.\nfn a() {}\n/// Why."),
        3
    );
    assert_eq!(
        count("/// When it is open.\nfn a() {}\n/// Where it is."),
        2
    );
    assert_eq!(
        count("/// Since when.\nfn a() {}\n/// By how many keys."),
        2
    );
    assert_eq!(count("/// The key,\n/// Which is new.\n// When it is."), 0);
    assert_eq!(
        count("/// However often. Which?\nfn a() {}\n/// Returns whether."),
        0
    );
    assert_eq!(count("/// Since 1970.\nfn a() {}\n/// In How."), 0);
}

#[test]
fn control_a_paragraph_that_begins_with_a_relative_clause_is_found() {
    let count = |text: &str| count(text, is_relative);
    let blank = |line: &str| format!("/// A key.\n///\n/// {line}\nfn a() {{}}");
    let below_a_heading = |line: &str| format!("//! A key.\n//!\n//! # Errors\n//! {line}\n");
    for (line, found) in [
        ("What a key needs.", 1),
        ("**Which key it is** is known.", 1),
        ("Until when it is open.", 1),
        ("When it is open, it is a key.", 0),
        ("Where keys are kept, it is one.", 0),
        ("Whatever it is.", 0),
    ] {
        assert_eq!(count(&blank(line)), found, "{line}");
        assert_eq!(count(&below_a_heading(line)), found, "{line}");
    }
    assert_eq!(
        count(&blank(
            "```\n///\n/// What is code.\n/// ```\n/// Which goes on."
        )),
        0
    );
    assert_eq!(count(&blank("```\n/// ```\n///\n/// What is not.")), 1);
}
