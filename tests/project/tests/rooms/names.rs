// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names of types that stand in more than one file of packages that are used together: a reader must know which is meant.

use std::collections::{BTreeMap, BTreeSet};

use crate::list::only_listed;
use crate::packages::Packages;

const TYPES: [&str; 5] = ["struct", "enum", "union", "trait", "type"];

/// Types with these names are at most so many of all names of types, in a thousand.
const MOST: usize = 45;

/// The names of types, each with its files.
fn names(packages: &Packages) -> BTreeMap<&str, BTreeSet<String>> {
    let mut names = BTreeMap::<_, BTreeSet<_>>::new();
    for module in &packages.modules {
        let package = &packages.packages[module.package].name;
        // Firmware and servers share the core alone.
        if package.starts_with("embassy-adapter") {
            continue;
        }
        let types = module
            .items
            .iter()
            .filter(|item| TYPES.contains(&&*item.kind));
        for item in types {
            let file = format!("{package}/src/{}", module.file);
            names.entry(&*item.name).or_default().insert(file);
        }
    }
    names
}

#[test]
fn names_of_types_in_several_files_are_listed() {
    let packages = Packages::published();
    let names = names(packages);
    let several = names.iter().filter(|(_, files)| files.len() > 1);
    let several: Vec<_> = several.collect();
    let share = 1000 * several.len() / names.len();
    for (name, files) in &several {
        println!(
            "{name}: {}",
            files.iter().cloned().collect::<Vec<_>>().join(", ")
        );
    }
    println!(
        "{} of {} names of types, {share} ‰",
        several.len(),
        names.len()
    );
    only_listed("names.txt", several.iter().map(|(name, _)| **name));
    assert!(share <= MOST);
}
