// SPDX-License-Identifier: MIT OR Apache-2.0
//! The targets of the pages exist: files, headings, packages, programs, tests. The sizes that they state are measured.

mod counts;
mod excerpts;
mod figures;
mod links;
mod names;
mod packages;
mod published;
mod releases;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use links::{anchors, defined, definitions, labels, targets};

fn root() -> PathBuf {
    let mut above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    above.nth(2).unwrap().into()
}

/// Files below a folder that are part of the project, and whose names end like this.
fn files(folder: &Path, end: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        let name = entry.file_name().into_string().unwrap();
        if kind.is_dir() && name != "target" && name != ".git" {
            files(&path, end, found);
        } else if kind.is_file() && name.ends_with(end) {
            found.push(path);
        }
    }
}

fn pages() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    files(&root(), ".md", &mut found);
    assert!(found.len() > 20, "{found:?}");
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        (path, text)
    };
    found.into_iter().map(read).collect()
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().display().to_string()
}

#[test]
fn every_label_of_a_link_is_defined() {
    let mut count = 0;
    for (page, text) in pages() {
        for label in labels(&text) {
            count += 1;
            let is_defined = defined(&text).any(|it| it == label);
            assert!(is_defined, "{}: [..][{label}]", shown(&page));
        }
    }
    assert!(count > 10, "{count} labels");
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let mut faults = Vec::new();
    let mut count = 0;
    for (page, text) in pages() {
        for target in targets(&text).chain(definitions(&text)) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            count += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path = match file {
                "" => page.clone(),
                _ => page.parent().unwrap().join(file),
            };
            let is_there = path.exists()
                && (anchor.is_empty() || {
                    let text = fs::read_to_string(&path).unwrap();
                    anchors(&text).any(|found| found == anchor)
                });
            if !is_there {
                faults.push(format!("{}: {target}", shown(&page)));
            }
        }
    }
    assert!(count > 100, "{count} links");
    assert!(
        faults.is_empty(),
        "these lead nowhere:\n{}",
        faults.join("\n")
    );
}

#[test]
fn every_page_is_on_the_map_of_its_folder() {
    for folder in ["docs", "std-adapter/around/docs", "benches/results"] {
        let folder = root().join(folder);
        let mut found = Vec::new();
        files(&folder, ".md", &mut found);
        found.retain(|page| *page != folder.join("README.md"));
        assert!(found.len() > 5, "{found:?}");
        for page in found {
            // The map of a folder within it is on its own map.
            let levels = if page.ends_with("README.md") { 2 } else { 1 };
            let folder = page.ancestors().nth(levels).unwrap();
            let map = fs::read_to_string(folder.join("README.md")).unwrap();
            let is_listed = targets(&map).any(|target| folder.join(target) == page);
            assert!(is_listed, "{} is on no map", shown(&page));
        }
    }
}

/// The pages that a file of Rust includes.
fn included(file: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(file).unwrap();
    let paths = text.split("include_str!(\"").skip(1);
    let paths = paths.filter_map(|rest| rest.split_once(".md\")"));
    let whole = |path: &str| {
        file.parent()
            .unwrap()
            .join(format!("{path}.md"))
            .canonicalize()
    };
    paths.filter_map(|(path, _)| whole(path).ok()).collect()
}

#[test]
fn every_page_with_code_is_compiled() {
    let mut sources = Vec::new();
    files(&root(), ".rs", &mut sources);
    let compiled: Vec<_> = sources.iter().flat_map(|file| included(file)).collect();
    let with_code = pages()
        .into_iter()
        .filter(|(_, text)| text.contains("```rust"));
    let mut count = 0;
    for (page, _) in with_code {
        count += 1;
        let is_compiled = compiled.contains(&page.canonicalize().unwrap());
        assert!(is_compiled, "nothing includes {}", shown(&page));
    }
    assert!(count > 15, "{count} pages with code");
}

/// The first lines of what looks like a table and is none, because no line of dashes follows.
fn stray_rows(text: &str) -> Vec<&str> {
    let (mut before, mut stray, mut is_code) = ("", Vec::new(), false);
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        is_code ^= line.trim_start().starts_with("```");
        let begins = line.starts_with('|') && !before.starts_with('|');
        if begins && !is_code && !lines.peek().is_some_and(|next| next.starts_with("|--")) {
            stray.push(line);
        }
        before = line;
    }
    stray
}

#[test]
fn every_row_belongs_to_a_table() {
    let is_found = |text| !stray_rows(text).is_empty();
    assert!(!is_found("| a |\n|---|\n| 1 |") && is_found("| a |\n|---|\n| 1 |\n\n| 2 |"));
    for (page, text) in pages() {
        assert_eq!(stray_rows(&text), Vec::<&str>::new(), "{}", shown(&page));
    }
}

/// Returns whether a package with this name is one of this project.
fn is_ours(name: &str) -> bool {
    name.starts_with("atomic-breaker") || name == "flash-journal"
}

/// Folders of the packages by name.
fn packages() -> BTreeMap<String, PathBuf> {
    let mut manifests = Vec::new();
    files(&root(), "Cargo.toml", &mut manifests);
    let named = manifests.iter().filter_map(|path| {
        let text = fs::read_to_string(path).unwrap();
        let (_, package) = text.split_once("[package]")?;
        let name = package.split('"').nth(1)?;
        Some((name.into(), path.parent()?.into()))
    });
    named.collect()
}

/// Returns whether a package has this example, program, bench or test: `kind` is the folder of each.
fn has(package: &Path, kind: &str, name: &str) -> bool {
    let places = [
        format!("{kind}/{name}.rs"),
        format!("{kind}/{name}/main.rs"),
    ];
    let manifest = fs::read_to_string(package.join("Cargo.toml")).unwrap();
    places.iter().any(|place| package.join(place).exists())
        || manifest.contains(&format!("name = \"{name}\""))
}

/// The fault of a command of cargo, if it has one.
fn fault(command: &str, packages: &BTreeMap<String, PathBuf>) -> Option<String> {
    let words: Vec<_> = command.split_whitespace().collect();
    let after = |option: &str| {
        let at = words.iter().position(|word| *word == option)?;
        words.get(at + 1).copied()
    };
    let mut package = root();
    if let Some(manifest) = after("--manifest-path") {
        package = root().join(manifest).parent()?.into();
        if !package.exists() {
            return Some(format!("no {manifest}"));
        }
    }
    if let Some(name) = after("-p") {
        let Some(folder) = packages.get(name) else {
            return Some(format!("no package `{name}`"));
        };
        package.clone_from(folder);
    }
    let kinds = [
        ("--example", "examples"),
        ("--bin", "src/bin"),
        ("--bench", "benches"),
        ("--test", "tests"),
    ];
    kinds.iter().find_map(|(option, kind)| {
        let name = after(option)?;
        (!has(&package, kind, name)).then(|| format!("no {option} `{name}`"))
    })
}

#[test]
fn every_command_names_what_exists() {
    let packages = packages();
    let mut faults = Vec::new();
    let mut count = 0;
    for (page, text) in pages() {
        for line in text.lines() {
            for start in ["cargo run ", "cargo test ", "cargo bench ", "cargo add "] {
                for (at, _) in line.match_indices(start) {
                    count += 1;
                    let command = line[at..].split(['`', '|', '#']).next().unwrap();
                    let added = command.strip_prefix("cargo add ").and_then(|rest| {
                        let name = rest.split_whitespace().next()?;
                        (is_ours(name) && !packages.contains_key(name))
                            .then(|| format!("no package `{name}`"))
                    });
                    if let Some(fault) = added.or_else(|| fault(command, &packages)) {
                        faults.push(format!("{}: {command}: {fault}", shown(&page)));
                    }
                }
            }
        }
    }
    assert!(count > 30, "{count} commands");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
