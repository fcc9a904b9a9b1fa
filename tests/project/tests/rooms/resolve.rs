// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds the item to which a name leads from within a module.

use std::collections::{BTreeMap, BTreeSet};

use crate::packages::Packages;

/// The target of a name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    Module(usize),
    /// An item of this module.
    Item(usize, String),
}

/// Names that are being looked up, each in its module: imports may lead back to them.
pub(crate) type Seen = BTreeSet<(usize, String)>;

impl Packages {
    /// The targets of a path from within a module: none for an item of other people's packages.
    pub(crate) fn resolved(&self, module: usize, path: &[String], seen: &mut Seen) -> Vec<Target> {
        let mut at = vec![Target::Module(module)];
        for (place, name) in path.iter().enumerate() {
            let is_first = place == 0;
            let next = at.iter().flat_map(|target| match (target, &**name) {
                (Target::Module(at), "crate") => {
                    let package = self.modules[*at].package;
                    vec![Target::Module(self.packages[package].root)]
                }
                (Target::Module(at), "super") => vec![Target::Module(self.modules[*at].parent)],
                (Target::Module(at), "self") => vec![Target::Module(*at)],
                (Target::Module(at), _) => self.named(*at, name, is_first, module, seen),
                // A variant, or an associated item.
                (Target::Item(..), _) => vec![target.clone()],
            });
            let next: BTreeSet<_> = next.collect();
            at = next.into_iter().collect();
        }
        at
    }

    /// The item that a module knows by this name.
    fn named(
        &self,
        module: usize,
        name: &str,
        is_first: bool,
        from: usize,
        seen: &mut Seen,
    ) -> Vec<Target> {
        let of = &self.modules[module];
        let is_foreign = of.package != self.modules[from].package;
        let mut found = Vec::new();
        if !seen.insert((module, name.to_owned())) {
            return found;
        }
        if let Some((child, is_public)) = of.children.get(name) {
            if *is_public || !is_foreign {
                found.push(Target::Module(*child));
            }
        }
        let mut items = of.items.iter();
        if items.any(|item| item.name == name && (item.is_public || !is_foreign)) {
            found.push(Target::Item(module, name.to_owned()));
        }
        let imports = of.imports.iter().filter(|it| it.is_public || !is_foreign);
        for import in imports.clone().filter(|it| it.name == name) {
            found.extend(self.resolved(module, &import.path, seen));
        }
        if found.is_empty() {
            for import in imports.filter(|it| it.name == "*") {
                for target in self.resolved(module, &import.path, seen) {
                    if let Target::Module(inner) = target {
                        found.extend(self.named(inner, name, false, module, seen));
                    }
                }
            }
        }
        if found.is_empty() && is_first {
            let mut packages = self.packages.iter();
            found.extend(
                packages
                    .find(|it| it.library == name)
                    .map(|it| Target::Module(it.root)),
            );
        }
        seen.remove(&(module, name.to_owned()));
        found
    }

    /// The names that a module gives its users, each with what it is.
    pub(crate) fn public(&self, module: usize) -> BTreeMap<String, BTreeSet<Target>> {
        let of = &self.modules[module];
        let mut known = BTreeMap::<String, BTreeSet<Target>>::new();
        let imports = of.imports.iter().filter(|it| it.is_public);
        let (globs, named): (Vec<_>, Vec<_>) = imports.partition(|it| it.name == "*");
        for import in named {
            let targets = self.resolved(module, &import.path, &mut Seen::new());
            known
                .entry(import.name.clone())
                .or_default()
                .extend(targets);
        }
        let children = of.children.iter().filter(|(_, (_, is_public))| *is_public);
        for (name, (child, _)) in children {
            known.insert(name.clone(), [Target::Module(*child)].into());
        }
        for item in of.items.iter().filter(|item| item.is_public) {
            let target = Target::Item(module, item.name.clone());
            known.insert(item.name.clone(), [target].into());
        }
        // A name that is written hides one that comes with all the others.
        for import in globs {
            for target in self.resolved(module, &import.path, &mut Seen::new()) {
                if let Target::Module(inner) = target {
                    for (name, targets) in self.public(inner) {
                        known.entry(name).or_insert(targets);
                    }
                }
            }
        }
        known
    }

    /// The names that a module gives its users, those in its public modules included.
    pub(crate) fn reachable(&self, module: usize) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for (name, targets) in self.public(module) {
            names.insert(name);
            for target in targets {
                if let Target::Module(inner) = target {
                    names.extend(self.reachable(inner));
                }
            }
        }
        names
    }

    /// The package whose item, or module, this is.
    pub(crate) fn owner(&self, target: &Target) -> &str {
        let (Target::Module(module) | Target::Item(module, _)) = target;
        &self.packages[self.modules[*module].package].name
    }
}
