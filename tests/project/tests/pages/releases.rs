// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the packages are released: what `.ci/release` writes and refuses, and what their manifests promise.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

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
            if is_dependency && is_kept && line.starts_with("atomic-breaker") {
                let end = line.find([' ', '.', '=']).unwrap();
                found.insert(&line[..end]);
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

/// The manifests, lock files and changelog of this project elsewhere, as `.ci/release` sees them.
struct Copy(PathBuf);

impl Copy {
    fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&folder);
        let mut found = vec![root().join("CHANGELOG.md"), root().join(".ci/release")];
        for end in ["Cargo.toml", "Cargo.lock"] {
            files(&root(), end, &mut found);
        }
        for path in found {
            let copy = folder.join(path.strip_prefix(root()).unwrap());
            fs::create_dir_all(copy.parent().unwrap()).unwrap();
            fs::copy(path, copy).unwrap();
        }
        let copy = Self(folder);
        copy.replace("CHANGELOG.md", |page| {
            let (head, rest) = page.split_once("\n## ").unwrap();
            let (_, rest) = rest.split_once('\n').unwrap();
            format!("{head}\n## Unreleased\n{rest}")
        });
        copy
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.0.join(file)).unwrap()
    }

    fn replace(&self, file: &str, by: impl FnOnce(&str) -> String) {
        fs::write(self.0.join(file), by(&self.read(file))).unwrap();
    }

    /// What the script says if it refuses.
    fn refusal(&self, arguments: &[&str]) -> Option<String> {
        let script = self.0.join(".ci/release");
        let output = Command::new("bash")
            .arg(script)
            .args(arguments)
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        (!output.status.success()).then_some(said)
    }

    /// A copy that can be released as version 7.8.9.
    fn ready(name: &str) -> Self {
        let copy = Self::new(name);
        assert_eq!(copy.refusal(&["set", "7.8.9"]), None);
        for manifest in [ROOT, SQLITE] {
            copy.replace(manifest, |text| text.replace("example.org", "example.com"));
        }
        assert_eq!(copy.refusal(&["check"]), None);
        copy
    }
}

const ROOT: &str = "Cargo.toml";
const SQLITE: &str = "std-adapter/steps/sqlite/Cargo.toml";

#[test]
fn a_release_has_one_version_everywhere() {
    let copy = Copy::ready("one-version");
    let mut locks = Vec::new();
    files(&copy.0, "Cargo.lock", &mut locks);
    assert!(locks.len() > 8, "{locks:?}");
    for lock in locks {
        let text = fs::read_to_string(&lock).unwrap();
        let old = fs::read_to_string(root().join(lock.strip_prefix(&copy.0).unwrap())).unwrap();
        let changed = text
            .lines()
            .zip(old.lines())
            .filter(|(new, old)| new != old);
        let changed = changed.filter(|(new, _)| *new != "version = \"7.8.9\"");
        assert_eq!(changed.count(), 0, "{}", lock.display());
        assert_eq!(text.lines().count(), old.lines().count());
        assert!(
            text.contains("\nversion = \"7.8.9\"\n"),
            "{}",
            lock.display()
        );
    }
    let manifests = [copy.read(ROOT), copy.read(SQLITE)].concat();
    let ours = manifests
        .lines()
        .filter(|line| line.starts_with("atomic-breaker") && line.contains("path ="));
    assert!(ours.clone().count() > 10 && ours.clone().all(|line| line.contains("\"7.8.9\"")));
    let page = copy.read("CHANGELOG.md");
    let heading = page.lines().find(|line| line.starts_with("## ")).unwrap();
    assert!(heading.starts_with("## 7.8.9 (20"), "{heading}");
}

#[test]
fn a_release_that_is_not_ready_is_refused() {
    let refused = |name: &str, file: &str, from: &str, to: &str, words: &str| {
        let copy = Copy::ready(name);
        assert!(copy.read(file).contains(from), "{file}: {from}");
        copy.replace(file, |text| text.replacen(from, to, 1));
        let said = copy.refusal(&["check"]).expect(name);
        assert!(said.contains(words), "{name}: {said}");
    };
    let address = "the repository's address is still to be filled in";
    let given = "repository = \"https://";
    refused(
        "address",
        ROOT,
        given,
        "repository = \"https://example.org/",
        address,
    );
    refused(
        "sqlite",
        SQLITE,
        "version = \"7.8.9\"",
        "version = \"7.8.8\"",
        "has another version",
    );
    let dependency = ("core\", version = \"7.8.9\"", "core\", version = \"7.8.8\"");
    refused(
        "dependency",
        ROOT,
        dependency.0,
        dependency.1,
        "dependencies of another version",
    );
    let lock = "tests/firmware/Cargo.lock";
    refused(
        "lock",
        lock,
        "\"7.8.9\"",
        "\"7.8.8\"",
        "tests/firmware/Cargo.lock has another version",
    );
    refused(
        "changelog",
        "CHANGELOG.md",
        "## 7.8.9 (",
        "## 7.8.9 [",
        "no section for 7.8.9",
    );
    let said = Copy::ready("again").refusal(&["set", "7.9.0"]).unwrap();
    assert!(said.contains("no \"## Unreleased\""), "{said}");
    let said = Copy::new("version").refusal(&["set", "seven"]).unwrap();
    assert!(said.contains("seven is no version"), "{said}");
}

#[test]
fn what_is_published_outside_the_workspace_is_known() {
    let script = fs::read_to_string(root().join(".ci/release")).unwrap();
    let workspace = fs::read_to_string(root().join(ROOT)).unwrap();
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
