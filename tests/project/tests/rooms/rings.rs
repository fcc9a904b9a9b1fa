// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two rings: the breaker, and what stands around it. An arrow leads from the second to the first, never back.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::packages::{Package, Packages, root};

/// The packages of the breaker. All others stand around it.
const BREAKER: [&str; 7] = [
    "core",
    "core/c",
    "embassy-adapter",
    "std-adapter",
    "std-adapter/http",
    "std-adapter/server",
    "std-adapter/tower",
];
/// The folders of the packages around it.
const AROUND: [&str; 2] = ["std-adapter/around", "embassy-adapter/journal"];

fn is_of_the_breaker(package: &Package) -> bool {
    BREAKER.contains(&&*package.name)
}

/// The packages around a breaker.
fn around() -> impl Iterator<Item = &'static Package> {
    let packages = Packages::published().packages.iter();
    packages.filter(|package| !is_of_the_breaker(package))
}

/// Names of what is around a breaker: packages, in a manifest and in code, folders, and features of
/// `test-support` that bring one along.
fn names() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for package in around() {
        names.insert(package.library.clone());
        names.insert(package.library.replace('_', "-"));
    }
    let support = fs::read_to_string(root().join("tests/support/Cargo.toml")).unwrap();
    let features = support.lines().filter_map(|line| line.split_once(" = ["));
    let brings = |parts: &str| words(parts).any(|word| names.contains(word));
    let brought = features.filter(|(_, parts)| brings(parts));
    let brought: Vec<_> = brought.map(|(name, _)| format!("\"{name}\"")).collect();
    names.extend(brought);
    names
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_ascii_alphanumeric() && !"_-".contains(letter))
}

/// The lines of a file that name something around a breaker.
fn faults(path: &Path, text: &str, names: &BTreeSet<String>) -> Vec<String> {
    let is_manifest = path.ends_with("Cargo.toml");
    let is_code = path.extension().is_some_and(|end| end == "rs");
    let lines = text.lines().filter(|line| {
        // Links in comments may lead there.
        let is_taken_in = !is_code || line.contains("include") || line.contains("#[path");
        let brings = is_manifest && line.starts_with("test-support");
        words(line).any(|word| names.contains(word))
            || is_taken_in
                && ["around/", "journal/", "/journal\""]
                    .iter()
                    .any(|it| line.contains(it))
            || brings
                && names
                    .iter()
                    .any(|name| name.starts_with('"') && line.contains(name))
    });
    lines.map(str::to_owned).collect()
}

/// The files of a package, examples with a manifest of their own among them, but neither pages nor other packages.
fn files(folder: &Path, others: &[PathBuf], found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        let name = entry.file_name().into_string().unwrap();
        if kind.is_dir() {
            let is_other = others.contains(&path) || name.starts_with('.');
            if !is_other && !["target", "out", "__pycache__"].contains(&&*name) {
                files(&path, others, found);
            }
        } else if kind.is_file() && path.extension().is_none_or(|end| end != "md") {
            found.push(path);
        }
    }
}

#[test]
fn no_package_of_the_breaker_names_one_that_stands_around_it() {
    let names = names();
    assert!(names.len() > 20, "{names:?}");
    let packages = &Packages::published().packages;
    let mut others: Vec<_> = packages.iter().map(|it| it.folder.clone()).collect();
    others.extend(AROUND.map(|folder| root().join(folder)));
    let mut found = Vec::new();
    for package in packages.iter().filter(|it| is_of_the_breaker(it)) {
        files(&package.folder, &others, &mut found);
    }
    assert!(found.len() > 300, "{} files", found.len());
    let mut all = Vec::new();
    for path in found {
        // Not what is no text.
        let text = fs::read_to_string(&path).unwrap_or_default();
        let shown = path.strip_prefix(root()).unwrap().display();
        let faults = faults(&path, &text, &names);
        all.extend(
            faults
                .iter()
                .map(|line| format!("{shown}: {}", line.trim())),
        );
    }
    assert!(all.is_empty(), "\n{}", all.join("\n"));
}

#[test]
fn no_package_of_the_breaker_builds_upon_one_that_stands_around_it() {
    let packages = Packages::published();
    for (place, package) in packages.packages.iter().enumerate() {
        if is_of_the_breaker(package) {
            let below = packages.below(place).into_iter();
            let below: Vec<_> = below.map(|it| &packages.packages[it]).collect();
            assert!(below.iter().all(|it| is_of_the_breaker(it)), "{below:?}");
        }
    }
}

#[test]
fn each_package_stands_in_one_ring() {
    let found = &Packages::published().packages;
    let found = found
        .iter()
        .filter(|it| is_of_the_breaker(it))
        .map(|it| &*it.name);
    assert_eq!(found.collect::<BTreeSet<_>>(), BREAKER.into());
    for package in around() {
        let is_there = AROUND.iter().any(|folder| package.name.starts_with(folder));
        assert!(is_there, "{} is in neither ring", package.name);
    }
}

/// The entries of a list in the manifest of the workspace.
fn list<'a>(manifest: &'a str, name: &str) -> Vec<&'a str> {
    let (_, list) = manifest.split_once(&format!("\n{name} = [\n")).unwrap();
    let (list, _) = list.split_once("\n]").unwrap();
    list.split('"').skip(1).step_by(2).collect()
}

#[test]
fn cargo_test_runs_the_packages_of_the_breaker() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let default: BTreeSet<_> = list(&manifest, "default-members").into_iter().collect();
    let tests = ["tests/contract", "tests/project"];
    assert_eq!(default, BREAKER.into_iter().chain(tests).collect());
    let members = list(&manifest, "members");
    let last = members.iter().rposition(|it| BREAKER.contains(it)).unwrap();
    assert_eq!(last, BREAKER.len() - 1, "{members:?}");
}

#[test]
fn control_whatever_names_what_is_around_is_found() {
    let names = names();
    let count = |file: &str, text: &str| faults(Path::new(file), text, &names).len();
    let manifest = |text| count("core/Cargo.toml", text);
    assert_eq!(
        manifest("[dev-dependencies]\natomic-breaker-steps = \"0.1\""),
        1
    );
    assert_eq!(
        manifest("steps = { path = \"../std-adapter/around/steps\" }"),
        1
    );
    assert_eq!(manifest("queue = { package = \"flash-journal\" }"), 1);
    assert_eq!(
        manifest("test-support = { path = \"x\", features = [\"jobs\"] }"),
        1
    );
    assert_eq!(
        manifest("test-support = { path = \"x\", features = [\"paint\"] }"),
        0
    );
    let code = |text| count("core/src/lib.rs", text);
    assert_eq!(
        code("use atomic_breaker_fleet::Fleet;\n// flash_journal"),
        2
    );
    assert_eq!(
        code("#[path = \"../../std-adapter/around/fleet/src/name.rs\"]"),
        1
    );
    assert_eq!(
        code("//! [its page](../around/README.md)\nuse atomic_breaker_std::Breaker;"),
        0
    );
    assert_eq!(
        count(
            "core/c/build",
            "exec ../../std-adapter/around/mapped/c/install"
        ),
        1
    );
}
