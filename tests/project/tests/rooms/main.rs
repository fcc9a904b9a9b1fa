// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads the structure of the packages from their code, and checks that it is as documented.
//!
//! `docs/architecture.md` lists the modules of the core, and each uses only those that stand above it, so a reader can begin at
//! the top. The other packages are smaller: none of their folders is part of a circle, and each is in the
//! list of `src/lib.rs`. Packages use only those below them, as cargo demands, and those of the breaker none of those that stand
//! around it.
//!
//! Some files still use each other in a loop, some names still mean two things: these are listed beside this file, in
//! lists that only become shorter. A commit that mends one removes its line.

mod ci;
mod foreign;
mod front;
mod hidden;
mod list;
mod loops;
mod names;
mod packages;
mod prose;
mod resolve;
mod rings;
mod roots;
mod surface;
mod syntax;
mod tokens;
mod uses;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use packages::{Packages, root};
use uses::Room;

/// The names in the first column of the tables in a text, from the top.
fn listed(text: &str) -> Vec<String> {
    let rows = text
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with('|'));
    rows.flat_map(|row| {
        let cell = row.trim_start_matches('|').split('|').next().unwrap();
        let names = cell.split('`').skip(1).step_by(2);
        names.map(str::to_owned).collect::<Vec<_>>()
    })
    .collect()
}

/// The faults in the order in which the modules are listed.
fn out_of_order(order: &[String], modules: &BTreeMap<String, Room>) -> Vec<String> {
    let place = |module: &str| order.iter().position(|listed| listed == module);
    let mut faults = Vec::new();
    for listed in order {
        if !modules.contains_key(listed) {
            faults.push(format!("there is no module `{listed}`"));
        }
    }
    for (module, Room { uses, .. }) in modules {
        let Some(own) = place(module) else {
            faults.push(format!("`{module}` is not in the table of modules"));
            continue;
        };
        for (used, file) in uses {
            if place(used).is_some_and(|place| place > own) {
                faults.push(format!(
                    "`{module}` uses `{used}`, which stands below it ({file})"
                ));
            }
        }
    }
    faults
}

/// Folders in a circle: the folders they use lead back to them.
fn circles(modules: &BTreeMap<String, Room>) -> Vec<String> {
    let folders = modules.iter().filter(|(_, module)| module.is_folder);
    let circles = folders.filter_map(|(folder, module)| {
        let mut reached: BTreeSet<&String> = module.uses.keys().collect();
        loop {
            let further = reached.iter().flat_map(|name| modules[*name].uses.keys());
            let all: BTreeSet<_> = reached.iter().copied().chain(further).collect();
            if all.len() == reached.len() {
                break;
            }
            reached = all;
        }
        let back = modules
            .iter()
            .find(|(name, module)| reached.contains(name) && module.uses.contains_key(folder));
        let (name, back) = back?;
        let file = &back.uses[folder];
        Some(format!(
            "`{folder}` stands in a circle: `{name}` uses it ({file})"
        ))
    });
    circles.collect()
}

fn core() -> BTreeMap<String, Room> {
    let packages = Packages::published();
    packages.rooms(packages.package("core"))
}

#[test]
fn a_module_of_the_core_uses_only_those_above_it() {
    let modules = core();
    let page = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let table = page.split("| module of `core/src` |").nth(1).unwrap();
    let table = table.split("\n\n").next().unwrap();
    let faults = out_of_order(&listed(table), &modules);
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn no_folder_of_a_package_stands_in_a_circle_and_all_are_listed() {
    let packages = Packages::published();
    let mut all = Vec::new();
    for (place, package) in packages.packages.iter().enumerate() {
        let name = &package.name;
        if name == "core" {
            continue;
        }
        let modules = packages.rooms(place);
        let page = fs::read_to_string(package.folder.join("src/lib.rs")).unwrap();
        let listed = front::listed(&page);
        let unlisted = modules
            .iter()
            .filter(|(folder, module)| module.is_folder && !listed.contains(&folder.as_str()))
            .map(|(folder, _)| format!("`{folder}` is not in the list of modules"));
        let faults = circles(&modules).into_iter().chain(unlisted);
        all.extend(faults.map(|fault| format!("{name}: {fault}")));
    }
    assert!(all.is_empty(), "\n{}", all.join("\n"));
}

#[test]
fn control_a_module_that_uses_one_below_it_is_found() {
    let modules = core();
    let by_name: Vec<_> = modules.keys().cloned().collect();
    let faults = out_of_order(&by_name, &modules);
    assert!(faults.iter().any(|fault| fault.contains("stands below it")));
}

#[test]
fn control_a_folder_that_is_used_by_what_it_uses_is_found() {
    let mut modules = core();
    assert_eq!(circles(&modules), Vec::<String>::new());
    let word = modules.get_mut("word").unwrap();
    word.uses.insert("breaker".to_owned(), "here".to_owned());
    assert!(
        circles(&modules)
            .iter()
            .any(|fault| fault.contains("`word`"))
    );
}
