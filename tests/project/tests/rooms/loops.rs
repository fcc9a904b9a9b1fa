// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files whose uses lead back to each other, so that none of them can be read first.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::list::only_listed;
use crate::packages::Packages;

/// No loop has more files than this.
const LONGEST: usize = 2;
/// There are no more loops than this.
const MOST: usize = 7;

pub(crate) type Uses<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// All that can be reached from a file.
fn reached<'a>(uses: &Uses<'a>, from: &'a str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut open = vec![from];
    while let Some(file) = open.pop() {
        let next = uses.get(file).into_iter().flatten();
        open.extend(next.copied().filter(|next| found.insert(*next)));
    }
    found
}

/// Each loop, with the arrows within it.
fn loops(uses: &Uses<'_>) -> BTreeMap<String, String> {
    let reach: BTreeMap<_, _> = uses
        .keys()
        .map(|file| (*file, reached(uses, file)))
        .collect();
    let of = |file: &str| -> BTreeSet<&str> {
        let own = reach[file].iter().copied();
        own.filter(|other| reach[other].contains(file)).collect()
    };
    let found = uses
        .keys()
        .map(|file| of(file))
        .filter(|files| files.len() > 1);
    let named = found.map(|files| {
        let name = files.iter().copied().collect::<Vec<_>>().join(" ↔ ");
        let arrows = files.iter().map(|file| {
            let to: Vec<_> = uses[file].intersection(&files).copied().collect();
            format!("    {file} uses {}", to.join(", "))
        });
        (name, arrows.collect::<Vec<_>>().join("\n"))
    });
    named.collect()
}

fn of_all(packages: &Packages) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for (place, package) in packages.packages.iter().enumerate() {
        let found = loops(&packages.files(place)).into_iter();
        all.extend(found.map(|(files, arrows)| (format!("{}: {files}", package.name), arrows)));
    }
    all
}

#[test]
fn files_that_use_each_other_in_a_loop_are_listed() {
    let found = of_all(Packages::published());
    for (files, arrows) in &found {
        println!("{files}\n{arrows}");
    }
    only_listed("loops.txt", found.keys().map(String::as_str));
    let longest = found
        .keys()
        .map(|files| files.matches('↔').count() + 1)
        .max();
    assert!(longest.unwrap_or(0) <= LONGEST, "more than {LONGEST} files");
    assert!(found.len() <= MOST, "more than {MOST} loops");
}

#[test]
fn control_a_loop_is_found_and_listed_once() {
    let mut uses = Uses::from([
        ("a", ["b"].into()),
        ("b", ["c"].into()),
        ("c", ["d"].into()),
        ("d", [].into()),
    ]);
    assert_eq!(loops(&uses), BTreeMap::new());
    uses.get_mut("c").unwrap().insert("a");
    let found = loops(&uses);
    assert_eq!(found.keys().collect::<Vec<_>>(), ["a ↔ b ↔ c"]);
}

#[test]
fn control_a_loop_through_what_a_folder_passes_on_is_found() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("loop");
    fs::create_dir_all(folder.join("src/a")).unwrap();
    let write = |file: &str, text: &str| fs::write(folder.join(file), text).unwrap();
    write("Cargo.toml", "[package]\nname = \"loop\"");
    write("src/lib.rs", "mod a;\npub use a::B;");
    write(
        "src/a/mod.rs",
        "mod b;\nmod c;\npub use b::B;\npub(crate) use c::{C, D};",
    );
    write("src/a/b.rs", "use super::C;\npub struct B(C);");
    let there = "pub(crate) struct C;\npub(crate) struct D;\n";
    write("src/a/c.rs", there);
    let loops = || of_all(&Packages::only(&folder)).len();
    assert_eq!(loops(), 0);
    write(
        "src/a/c.rs",
        &format!("{there}#[cfg(test)]\nmod tests {{ use crate::B; }}"),
    );
    assert_eq!(loops(), 0);
    write("src/a/c.rs", &format!("{there}impl crate::B {{}}"));
    assert_eq!(loops(), 1);
}
