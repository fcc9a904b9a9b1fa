// SPDX-License-Identifier: MIT OR Apache-2.0
//! The packages that are published, by their manifests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use super::{files, root};

/// A package that is published.
pub(crate) struct Package {
    folder: PathBuf,
    lib: String,
    manifest: String,
}

pub(crate) fn published() -> BTreeMap<String, Package> {
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
        let folder = path.parent()?.strip_prefix(root()).unwrap().to_owned();
        let lib = root().join(&folder).join("src/lib.rs");
        let package = Package {
            folder,
            lib: fs::read_to_string(lib).unwrap_or_default(),
            manifest: manifest.clone(),
        };
        Some((name.to_owned(), package))
    });
    packages.collect()
}

/// The package that a line of a manifest's dependencies begins with.
fn named(line: &str) -> &str {
    line.split([' ', '.', '=']).next().unwrap_or_default()
}

impl Package {
    /// The packages of this project that are built with this one: whatever its features are, or with one of them.
    pub(crate) fn builds_upon(&self, with_optional: bool) -> BTreeSet<&str> {
        let mut is_dependency = false;
        let mut found = BTreeSet::new();
        for line in self.manifest.lines() {
            if line.starts_with('[') {
                is_dependency = line == "[dependencies]";
            }
            let is_kept = with_optional || !line.contains("optional");
            if is_dependency && is_kept && crate::is_ours(named(line)) {
                found.insert(named(line));
            }
        }
        found
    }

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
            if is_dependency && has_version && crate::is_ours(named(line)) {
                found.insert(named(line));
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

#[test]
fn packages_can_be_released_one_after_the_other() {
    let mut rest = published();
    while !rest.is_empty() {
        let is_next = |package: &Package| !package.needs().iter().any(|it| rest.contains_key(*it));
        let next: Vec<_> = rest
            .iter()
            .filter(|(_, package)| is_next(package))
            .collect();
        let next: Vec<_> = next.into_iter().map(|(name, _)| name.clone()).collect();
        assert!(!next.is_empty(), "a circle among {:?}", rest.keys());
        rest.retain(|name, _| !next.contains(name));
    }
}

#[test]
fn each_package_has_a_version_of_its_own() {
    for (name, package) in published() {
        let version = package.list("version");
        assert!(version.starts_with("version = \""), "{name}: {version}");
    }
}

#[test]
fn what_is_published_outside_the_workspace_is_known() {
    let script = fs::read_to_string(root().join(".ci/release")).unwrap();
    let workspace = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let members = workspace.split("members = [").nth(1).unwrap();
    let members = members.split(']').next().unwrap();
    for (name, package) in published() {
        let folder = package.folder.display().to_string();
        let is_known = members.contains(&format!("\"{folder}\""))
            || script.contains(&format!("{folder}/Cargo.toml"));
        assert!(is_known, "{name} in {folder}");
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
