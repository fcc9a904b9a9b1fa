// SPDX-License-Identifier: MIT OR Apache-2.0
//! The front page of each package, as docs.rs and crates.io show it: a sentence, an example, and then what it has. Modules
//! that nobody can name are not on it; those who change the code find them in plain comments above their declarations.

use std::fs;

use crate::packages::Packages;

/// The documentation of a crate, without the marks of comments.
fn documentation(text: &str) -> String {
    let lines = text.lines().filter_map(|line| line.strip_prefix("//!"));
    let lines = lines.map(|line| line.strip_prefix(' ').unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The modules in the plain comments of a crate's root.
pub(crate) fn listed(text: &str) -> Vec<&str> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("// - "));
    rows.flat_map(|row| quoted(row.split(": ").next().unwrap()))
        .collect()
}

/// The modules that a crate's root declares without `pub`.
fn private(text: &str) -> Vec<&str> {
    let names = text.lines().filter_map(|line| line.strip_prefix("mod "));
    names.filter_map(|name| name.strip_suffix(';')).collect()
}

/// Returns whether a block of code that begins with these lines shows the package at work: Rust, C or a command that runs.
fn is_example(fence: &str, first: &str) -> bool {
    let kind = fence
        .strip_prefix("```")
        .and_then(|it| it.split(',').next());
    match kind {
        Some("" | "rust" | "no_run" | "c") => true,
        Some("console") => first.starts_with("cargo run "),
        _ => false,
    }
}

/// The faults of a page of a crate with these private modules.
fn faults(page: &str, private: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let lines: Vec<_> = page.lines().filter(|line| !line.is_empty()).collect();
    if !lines[0].starts_with(|first: char| first.is_alphabetic() || first == '[') {
        found.push("does not begin with a sentence".to_owned());
    }
    let example = lines.windows(2).position(|it| is_example(it[0], it[1]));
    let other = lines.iter().position(|line| line.starts_with(['|', '#']));
    match (example, other) {
        (None, _) => found.push("has no example".to_owned()),
        (Some(example), Some(other)) if other < example => {
            found.push("has something else before its example".to_owned());
        }
        _ => {}
    }
    let mut header = "";
    for pair in lines.windows(2).filter(|pair| pair[1].starts_with('|')) {
        if !pair[0].starts_with('|') {
            header = pair[1];
        }
        let cell = pair[1].split('|').nth(1).unwrap();
        // Features may have the names of modules.
        let is_of_modules = !header.starts_with("| feature");
        if is_of_modules && quoted(cell).any(|name| private.contains(&name)) {
            found.push(format!("lists a private module: {}", pair[1]));
        }
    }
    found
}

#[test]
fn front_pages_show_an_example_first_and_nothing_private() {
    let mut all = Vec::new();
    let packages = &Packages::published().packages;
    for package in packages {
        let root = fs::read_to_string(package.folder.join("src/lib.rs")).unwrap();
        let readme = fs::read_to_string(package.folder.join("README.md")).unwrap();
        let (title, readme) = readme.split_once('\n').unwrap();
        assert!(title.starts_with("# "), "{title}");
        let private = private(&root);
        let pages = [
            ("docs.rs", documentation(&root)),
            ("README.md", readme.to_owned()),
        ];
        for (place, page) in pages {
            let found = faults(&page, &private);
            all.extend(
                found
                    .iter()
                    .map(|fault| format!("{}, {place}: {fault}", package.name)),
            );
        }
    }
    assert!(packages.len() > 10);
    assert!(all.is_empty(), "\n{}", all.join("\n"));
}

#[test]
fn control_pages_without_an_example_or_with_private_modules_are_found() {
    let found = |page: &str| faults(page, &["word"]);
    let good =
        "A sentence.\n\n```\ncall();\n```\n\n| feature | what |\n|---|---|\n| `word` | a |\n";
    assert_eq!(found(good), Vec::<String>::new());
    let run = "A sentence.\n\n```console\ncargo run -p a\n```\n";
    assert_eq!(found(run), Vec::<String>::new());
    assert!(found("| a | b |\n|---|---|\n")[0].contains("begin"));
    assert!(found("A sentence.\n\n```console\ncargo add a\n```\n")[0].contains("no example"));
    assert!(found(&good.replace("\n```\ncall", "# Title\n\n```\ncall"))[0].contains("before"));
    assert!(found(&good.replace("feature", "module"))[0].contains("private"));
}

#[test]
fn control_modules_in_comments_are_read() {
    let text =
        "// The modules:\n// - `a`, `b` (`tokio`): the `c`: more\n//   `d`\n\nmod a;\npub mod e;\n";
    assert_eq!(listed(text), ["a", "b", "tokio"]);
    assert_eq!(private(text), ["a"]);
}
