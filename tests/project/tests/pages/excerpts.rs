// SPDX-License-Identifier: MIT OR Apache-2.0
//! The code on the page of clients is that of the files which are compiled and tested.

use std::fs;

use crate::{files, root};

const PAGE: &str = include_str!("../../../../docs/clients.md");

/// Without the indentation.
fn lines(text: &str) -> String {
    let lines: Vec<_> = text.trim().lines().map(str::trim).collect();
    lines.join("\n")
}

/// The blocks of a page that stand in none of these files.
fn strays<'a>(page: &'a str, sources: &[String]) -> Vec<&'a str> {
    let blocks = page.split("```rust\n").skip(1);
    let blocks = blocks.map(|rest| rest.split("```").next().unwrap());
    blocks
        .filter(|block| !sources.iter().any(|text| text.contains(&lines(block))))
        .collect()
}

#[test]
fn code_on_the_page_of_clients_stands_in_files_that_are_compiled() {
    let mut sources = Vec::new();
    let folder = root().join("std-adapter/examples/clients/src");
    files(&folder, ".rs", &mut sources);
    let read = |path| lines(&fs::read_to_string(path).unwrap());
    let sources: Vec<_> = sources.into_iter().map(read).collect();
    assert!(sources.len() > 5 && PAGE.matches("```rust\n").count() > 5);
    assert_eq!(strays(PAGE, &sources), Vec::<&str>::new());
}

#[test]
fn control_code_that_stands_nowhere_is_found() {
    let sources = ["fn a() {\nb();\n}".to_owned()];
    let is_there = "```rust\n    fn a() {\n        b();\n```\n";
    assert_eq!(strays(is_there, &sources), Vec::<&str>::new());
    assert_eq!(strays("```rust\nfn c() {}\n```\n", &sources).len(), 1);
}
