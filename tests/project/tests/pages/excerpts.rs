// SPDX-License-Identifier: MIT OR Apache-2.0
//! The code on the page of clients is that of the files which are compiled and tested, and front pages show the code in C of
//! the pages about it.

use std::fs;

use crate::{files, pages, root, shown};

const PAGE: &str = include_str!("../../../../docs/clients.md");

/// Without the indentation.
fn lines(text: &str) -> String {
    let lines: Vec<_> = text.trim().lines().map(str::trim).collect();
    lines.join("\n")
}

/// The blocks of a page in this language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    let starts = page.match_indices(&fence).map(|(at, _)| at + fence.len());
    starts
        .map(|start| page[start..].split("```").next().unwrap())
        .collect()
}

/// The blocks of a page that stand in none of these files.
fn strays<'a>(page: &'a str, sources: &[String]) -> Vec<&'a str> {
    blocks(page, "rust")
        .into_iter()
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
fn code_on_the_page_without_async_is_that_of_its_example() {
    let page = include_str!("../../../../docs/blocking.md");
    let source = root().join("std-adapter/examples/blocking/src/lib.rs");
    let source = lines(&fs::read_to_string(source).unwrap());
    assert!(page.matches("```rust\n").count() > 3);
    assert_eq!(strays(page, &[source]), Vec::<&str>::new());
}

// The code of `docs/c.md` is compiled by `tests/c/run`.
#[test]
fn code_in_c_on_front_pages_stands_on_a_page_about_it() {
    let (front, about): (Vec<_>, Vec<_>) = pages()
        .into_iter()
        .partition(|(page, _)| page.ends_with("README.md"));
    let known: Vec<_> = about
        .iter()
        .flat_map(|(_, text)| blocks(text, "c"))
        .collect();
    let mut count = 0;
    for (readme, text) in front {
        let Ok(root) = fs::read_to_string(readme.with_file_name("src").join("lib.rs")) else {
            continue;
        };
        let root = root.replace("//! ", "").replace("//!\n", "\n");
        for block in blocks(&text, "c").iter().chain(&blocks(&root, "c")) {
            count += 1;
            assert!(known.contains(block), "{}:\n{block}", shown(&readme));
        }
    }
    assert_eq!(count, 4, "two packages, on docs.rs and crates.io");
}

#[test]
fn control_code_that_stands_nowhere_is_found() {
    let sources = ["fn a() {\nb();\n}".to_owned()];
    let is_there = "```rust\n    fn a() {\n        b();\n```\n";
    assert_eq!(strays(is_there, &sources), Vec::<&str>::new());
    assert_eq!(strays("```rust\nfn c() {}\n```\n", &sources).len(), 1);
}
