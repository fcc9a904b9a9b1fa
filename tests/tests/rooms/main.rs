//! The structure of the packages, read from their `use` lines: it is as their documentation says.
//!
//! Each package lists its modules in the table of `src/lib.rs` (the core in CONTRIBUTING), and a module uses only
//! those that stand above it: so there are no circles, and a reader can begin at the top. Packages do the same by their
//! manifests, as cargo demands.

mod source;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use source::{Module, modules_of};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Folders of all packages that are published.
fn packages() -> Vec<PathBuf> {
    fn find(folder: &Path, found: &mut Vec<PathBuf>) {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
        if manifest.contains("[package]") && !manifest.contains("publish = false") {
            found.push(folder.to_owned());
        }
        let mut folders: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_dir())
            .collect();
        folders.sort();
        for inner in folders {
            let name = inner.file_name().unwrap().to_string_lossy().into_owned();
            let is_code = ["src", "tests", "examples", "target", "benches"].contains(&&*name);
            if !is_code && !name.starts_with('.') {
                find(&inner, found);
            }
        }
    }
    let mut found = Vec::new();
    for folder in ["core", "std-adapter", "embassy-adapter"] {
        find(&root().join(folder), &mut found);
    }
    assert!(found.len() > 3, "{found:?}");
    found
}

/// The names in the first column of a table of modules, from the top, after a line that contains `heading`.
fn listed(page: &str, heading: &str) -> Vec<String> {
    let rows = page
        .lines()
        .map(|line| line.trim_start_matches("//!").trim())
        .skip_while(|line| !(line.starts_with('|') && line.contains(heading)))
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    rows.flat_map(|row| {
        let cell = row.trim_start_matches('|').split('|').next().unwrap();
        let names = cell.split('`').skip(1).step_by(2);
        names.map(str::to_owned).collect::<Vec<_>>()
    })
    .collect()
}

/// What is wrong with the order in which the modules are listed.
fn faults(name: &str, order: &[String], modules: &BTreeMap<String, Module>) -> Vec<String> {
    let place = |module: &str| order.iter().position(|listed| listed == module);
    let mut faults = Vec::new();
    for listed in order {
        if !modules.contains_key(listed) {
            faults.push(format!("{name}: there is no module `{listed}`"));
        }
    }
    for (module, Module { uses }) in modules {
        let Some(own) = place(module) else {
            faults.push(format!("{name}: `{module}` is not in the table of modules"));
            continue;
        };
        for (used, file) in uses {
            if place(used).is_some_and(|place| place > own) {
                faults.push(format!(
                    "{name}: `{module}` uses `{used}`, which stands below it ({file})"
                ));
            }
        }
    }
    faults
}

#[test]
fn a_module_uses_only_those_above_it() {
    let mut all = Vec::new();
    for package in packages() {
        let name = package.strip_prefix(root()).unwrap().display().to_string();
        let modules = modules_of(&package.join("src"));
        if modules.is_empty() {
            continue;
        }
        let (page, heading) = if name == "core" {
            ("CONTRIBUTING.md", "module of `core/src`")
        } else {
            (&*format!("{name}/src/lib.rs"), "module")
        };
        let order = listed(&fs::read_to_string(root().join(page)).unwrap(), heading);
        all.extend(faults(&name, &order, &modules));
    }
    assert!(all.is_empty(), "\n{}", all.join("\n"));
}

#[test]
fn control_a_module_that_uses_one_below_it_is_found() {
    let modules = modules_of(&root().join("core/src"));
    let mut order: Vec<_> = modules.keys().cloned().collect();
    order.sort();
    assert!(
        faults("core", &order, &modules)
            .iter()
            .any(|fault| fault.contains("which stands below it")),
        "in the order of the alphabet something is the wrong way round"
    );
}
