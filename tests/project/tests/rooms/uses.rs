// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds which files and modules use which others.

use std::collections::{BTreeMap, BTreeSet};

use crate::packages::{Module, Packages};
use crate::resolve::{Seen, Target};

/// A module at the top of a package.
#[derive(Debug, Default)]
pub(crate) struct Room {
    pub(crate) is_folder: bool,
    /// Other rooms, each with a file that uses it.
    pub(crate) uses: BTreeMap<String, String>,
}

impl Packages {
    /// The files that the code of a module uses: those in which the items stand that it imports or mentions. What it only
    /// passes on of the modules below it does not count.
    pub(crate) fn used(&self, module: usize) -> BTreeSet<&str> {
        let of = &self.modules[module];
        let imported = of.imports.iter().map(|it| (&it.path, it.is_passed_on));
        let mentioned = of.mentions.iter().map(|path| (path, false));
        let mut files = BTreeSet::new();
        for (path, is_passed_on) in imported.chain(mentioned) {
            let mut targets = self.resolved(module, path, &mut Seen::new());
            if targets.is_empty() && path.len() == 1 {
                targets = self.macros(of.package, &path[0]);
            }
            for target in targets {
                if let Target::Item(place, _) = target {
                    let used = &self.modules[place];
                    let is_other = used.package == of.package && used.file != of.file;
                    if is_other && !(is_passed_on && self.is_below(place, module)) {
                        files.insert(&*used.file);
                    }
                }
            }
        }
        files
    }

    fn is_below(&self, mut module: usize, above: usize) -> bool {
        while module != above && self.modules[module].parent != module {
            module = self.modules[module].parent;
        }
        module == above
    }

    /// Macros are known below where they stand, and the exported ones everywhere.
    fn macros(&self, package: usize, name: &str) -> Vec<Target> {
        let modules = self.modules.iter().enumerate();
        let has = |module: &Module| {
            let mut items = module.items.iter();
            module.package == package && items.any(|it| it.kind == "macro_rules" && it.name == name)
        };
        let found = modules.filter(|(_, module)| has(module));
        found
            .map(|(place, _)| Target::Item(place, name.to_owned()))
            .collect()
    }

    /// The files of a package, each with those that it uses.
    pub(crate) fn files(&self, package: usize) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut files = BTreeMap::<_, BTreeSet<_>>::new();
        for (place, module) in self.modules.iter().enumerate() {
            if module.package == package {
                files
                    .entry(&*module.file)
                    .or_default()
                    .extend(self.used(place));
            }
        }
        files
    }

    /// The modules at the top of a package, each with those that it uses, and a file that does.
    pub(crate) fn rooms(&self, package: usize) -> BTreeMap<String, Room> {
        let top = |file: &str| file.split('/').next().unwrap().to_owned();
        let mut rooms = BTreeMap::<_, Room>::new();
        let top_module = &self.modules[self.packages[package].root];
        let children = top_module.children.iter();
        for (name, _) in children.filter(|(_, (child, _))| self.modules[*child].file != "lib") {
            let folder = self.packages[package].folder.join("src").join(name);
            rooms.entry(name.clone()).or_default().is_folder = folder.is_dir();
        }
        for (file, used) in self.files(package) {
            let Some(room) = rooms.get_mut(&top(file)) else {
                continue;
            };
            for other in used
                .into_iter()
                .map(top)
                .filter(|other| *other != top(file))
            {
                if other != "lib" {
                    room.uses.entry(other).or_insert_with(|| file.to_owned());
                }
            }
        }
        rooms
    }

    /// Packages that pass on all of another one, whatever that is: `pub use other::*`.
    pub(crate) fn all_passed_on(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (place, module) in self.modules.iter().enumerate() {
            let own = &self.packages[module.package].name;
            let all = module
                .imports
                .iter()
                .filter(|it| it.is_public && it.name == "*");
            for import in all {
                for target in self.resolved(place, &import.path, &mut Seen::new()) {
                    let other = self.owner(&target);
                    if other != own {
                        found.push(format!("{own}/src/{}: all of {other}", module.file));
                    }
                }
            }
        }
        found
    }
}
