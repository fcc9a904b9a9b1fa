// SPDX-License-Identifier: MIT OR Apache-2.0
//! The published packages and their modules.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::syntax::{Content, Import, Item, Names, Submodule, content};
use crate::tokens::tokens;

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[derive(Debug)]
pub(crate) struct Package {
    /// Below the folder of the project.
    pub(crate) name: String,
    /// As code names it.
    pub(crate) library: String,
    pub(crate) folder: PathBuf,
    /// Those of the project that its code uses, directly.
    pub(crate) needs: BTreeSet<String>,
    pub(crate) root: usize,
}

#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) package: usize,
    /// Below `src`, without the end.
    pub(crate) file: String,
    pub(crate) parent: usize,
    pub(crate) children: BTreeMap<String, (usize, bool)>,
    pub(crate) items: Vec<Item>,
    pub(crate) imports: Vec<Import>,
    pub(crate) mentions: Vec<Names>,
}

#[derive(Debug, Default)]
pub(crate) struct Packages {
    pub(crate) packages: Vec<Package>,
    pub(crate) modules: Vec<Module>,
}

impl Packages {
    /// All that are published. They are read once for all tests.
    pub(crate) fn published() -> &'static Self {
        static PUBLISHED: LazyLock<Packages> = LazyLock::new(|| {
            let mut found = Vec::new();
            for folder in ["core", "std-adapter", "embassy-adapter"] {
                find(&root().join(folder), &mut found);
            }
            assert!(found.len() > 3, "{found:?}");
            let mut packages = Packages::default();
            for folder in found {
                packages.add(&folder);
            }
            packages
        });
        &PUBLISHED
    }

    /// One package, anywhere.
    pub(crate) fn only(folder: &Path) -> Self {
        let mut packages = Self::default();
        packages.add(folder);
        packages
    }

    pub(crate) fn package(&self, name: &str) -> usize {
        let mut names = self.packages.iter();
        names.position(|package| package.name == name).unwrap()
    }

    fn add(&mut self, folder: &Path) {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let (_, section) = manifest.split_once("[package]").unwrap();
        let library = section.split('"').nth(1).unwrap().replace('-', "_");
        let name = folder.strip_prefix(root()).unwrap_or(folder);
        let name = name.display().to_string();
        self.packages.push(Package {
            name,
            library,
            needs: needs(&manifest),
            folder: folder.to_owned(),
            root: self.modules.len(),
        });
        let source = folder.join("src");
        self.file(&source, Path::new("lib.rs"), self.modules.len());
    }

    /// Adds the module in this file, and those below it.
    fn file(&mut self, source: &Path, file: &Path, parent: usize) -> usize {
        let text = fs::read_to_string(source.join(file)).unwrap();
        let shown = file.with_extension("").display().to_string();
        let is_folder = ["lib", "mod"]
            .iter()
            .any(|it| file.file_stem().unwrap() == *it);
        let shown = shown.strip_suffix("/mod").unwrap_or(&shown).to_owned();
        let folder = if is_folder {
            file.parent().unwrap().to_owned()
        } else {
            file.with_extension("")
        };
        self.module(content(&tokens(&text)), source, &folder, &shown, parent)
    }

    fn module(
        &mut self,
        content: Content,
        source: &Path,
        folder: &Path,
        file: &str,
        parent: usize,
    ) -> usize {
        let own = self.modules.len();
        self.modules.push(Module {
            package: self.packages.len() - 1,
            file: file.to_owned(),
            parent,
            children: BTreeMap::new(),
            items: content.items,
            imports: content.imports,
            mentions: content.mentions,
        });
        for Submodule { name, is_public } in content.files {
            let one = folder.join(format!("{name}.rs"));
            let path = if source.join(&one).exists() {
                one
            } else {
                folder.join(&name).join("mod.rs")
            };
            let child = self.file(source, &path, own);
            self.modules[own].children.insert(name, (child, is_public));
        }
        for (Submodule { name, is_public }, inner) in content.inline {
            let folder = folder.join(&name);
            let child = self.module(inner, source, &folder, file, own);
            self.modules[own].children.insert(name, (child, is_public));
        }
        own
    }

    /// The packages on which one is built, at any depth.
    pub(crate) fn below(&self, package: usize) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut open = vec![package];
        while let Some(next) = open.pop() {
            let needed = |other: &Package| self.packages[next].needs.contains(&other.library);
            let all = self.packages.iter().enumerate();
            let new = all
                .filter(|(_, other)| needed(other))
                .map(|(place, _)| place);
            open.extend(new.filter(|place| found.insert(*place)));
        }
        found
    }
}

fn find(folder: &Path, found: &mut Vec<PathBuf>) {
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
    if manifest.contains("[package]") && !manifest.contains("publish = false") {
        found.push(folder.to_owned());
    }
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut folders: Vec<_> = entries.filter(|path| path.is_dir()).collect();
    folders.sort();
    for inner in folders {
        let name = inner.file_name().unwrap().to_string_lossy().into_owned();
        let is_code = ["src", "tests", "examples", "target", "benches"].contains(&&*name);
        if !is_code && !name.starts_with('.') {
            find(&inner, found);
        }
    }
}

/// The dependencies of the project, without those of tests, as code names them.
fn needs(manifest: &str) -> BTreeSet<String> {
    let mut is_dependency = false;
    let mut found = BTreeSet::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            is_dependency = line.ends_with("dependencies]") && !line.contains("dev-");
        }
        let name = line.split([' ', '.', '=']).next().unwrap_or_default();
        if is_dependency && (name.starts_with("atomic-breaker") || name == "flash-journal") {
            found.insert(name.replace('-', "_"));
        }
    }
    found
}

/// The files of Rust in a folder, at any depth, without what was built.
pub(crate) fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}
