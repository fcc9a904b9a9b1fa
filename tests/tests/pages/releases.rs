//! How the packages are released: the order in CONTRIBUTING, and what their manifests promise.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::{files, root};

/// A package that is published.
struct Package {
    lib: String,
    manifest: String,
}

fn published() -> BTreeMap<String, Package> {
    let mut manifests = Vec::new();
    for folder in ["core", "std-adapter", "embassy-adapter"] {
        files(&root().join(folder), "Cargo.toml", &mut manifests);
    }
    let packages = manifests.into_iter().filter_map(|path| {
        let manifest = fs::read_to_string(&path).unwrap();
        let is_example = path.components().any(|it| it.as_os_str() == "examples");
        if is_example || manifest.contains("publish = false") {
            return None;
        }
        let name = manifest.split_once("[package]")?.1.split('"').nth(1)?;
        let lib = path.parent()?.join("src/lib.rs");
        let lib = fs::read_to_string(lib).unwrap_or_default();
        Some((name.to_owned(), Package { lib, manifest }))
    });
    packages.collect()
}

impl Package {
    /// The packages of this project that the registry must have before this one can be published: all that have a
    /// version, those of tests included.
    fn needs(&self) -> BTreeSet<&str> {
        let mut is_dependency = false;
        let mut found = BTreeSet::new();
        for line in self.manifest.lines() {
            if line.starts_with('[') {
                is_dependency = line.ends_with("dependencies]");
            }
            let has_version = line.contains("workspace = true") || line.contains("version = ");
            if is_dependency && has_version && line.starts_with("atomic-breaker") {
                let end = line.find([' ', '.', '=']).unwrap();
                found.insert(&line[..end]);
            }
        }
        found
    }

    /// A list of its manifest, or of the workspace's if it is inherited.
    fn list(&self, name: &str) -> String {
        let workspace = fs::read_to_string(root().join("Cargo.toml")).unwrap();
        let own = self.manifest.lines().find(|line| line.starts_with(name));
        let own = own.unwrap_or_else(|| panic!("no {name}"));
        if !own.contains("workspace") {
            return own.to_owned();
        }
        let inherited = workspace.lines().find(|line| line.starts_with(name));
        inherited.unwrap().to_owned()
    }
}

/// The packages in the order in which CONTRIBUTING has them published.
fn order() -> Vec<String> {
    let page = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let step = page.split("`cargo publish --dry-run` for").nth(1).unwrap();
    let step = step.split("\n6.").next().unwrap();
    let names = step.split('`').skip(1).step_by(2);
    let full = |name: &str| match name.strip_prefix('-') {
        Some(name) => format!("atomic-breaker-{name}"),
        None => name.to_owned(),
    };
    names.map(full).collect()
}

#[test]
fn packages_are_released_after_those_that_they_need() {
    let (published, order) = (published(), order());
    let listed: BTreeSet<_> = order.iter().collect();
    assert_eq!(listed, published.keys().collect());
    assert_eq!(listed.len(), order.len(), "{order:?}");
    let place = |name: &str| order.iter().position(|it| it == name).unwrap();
    for (name, package) in &published {
        for needed in package.needs() {
            assert!(place(needed) < place(name), "{needed} before {name}");
        }
    }
}

#[test]
fn only_packages_without_std_say_so() {
    let mut without = 0;
    for (name, package) in published() {
        let says = ["keywords", "categories"].map(|list| package.list(list));
        let says = says
            .iter()
            .any(|it| it.contains("no-std") || it.contains("embedded"));
        let is_so = package.lib.contains("#![no_std]");
        assert_eq!(says, is_so, "{name}");
        without += u32::from(is_so);
    }
    assert!(without > 3, "{without}");
}
