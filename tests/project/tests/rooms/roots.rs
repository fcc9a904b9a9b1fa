// SPDX-License-Identifier: MIT OR Apache-2.0
//! The names that the packages give their users at the root: each means one thing, and each is named.

use std::collections::{BTreeMap, BTreeSet};

use crate::list::only_listed;
use crate::packages::Packages;
use crate::resolve::Target;

type Names = BTreeMap<String, BTreeSet<Target>>;

/// Names in `upper` that are another item in `lower`.
fn shadowing<'a>(upper: &'a Names, lower: &'a Names) -> Vec<(&'a str, &'a Target, &'a Target)> {
    let both = upper.iter().filter_map(|(name, own)| {
        let below = lower.get(name)?;
        let is_other = below.is_disjoint(own);
        is_other.then_some((&**name, own.first()?, below.first()?))
    });
    both.collect()
}

#[test]
fn a_name_at_a_root_is_the_one_of_the_packages_below() {
    let packages = Packages::published();
    let roots = packages
        .packages
        .iter()
        .map(|package| packages.public(package.root));
    let roots: Vec<_> = roots.collect();
    let mut found = BTreeSet::new();
    for (place, own) in roots.iter().enumerate() {
        for below in packages.below(place) {
            for (name, upper, lower) in shadowing(own, &roots[below]) {
                let mut owners = [packages.owner(upper), packages.owner(lower)];
                owners.sort_unstable();
                found.insert(format!("{name}: of {}", owners.join(" and of ")));
            }
        }
    }
    only_listed("shadows.txt", found.iter().map(String::as_str));
}

#[test]
fn control_another_item_of_the_same_name_is_found() {
    let names = |module| Names::from([("A".to_owned(), [Target::Item(module, "A".into())].into())]);
    assert_eq!(shadowing(&names(0), &names(0)), []);
    assert_eq!(shadowing(&names(0), &names(1)).len(), 1);
}

#[test]
fn what_a_package_passes_on_of_another_one_is_named() {
    let packages = Packages::published();
    let found: BTreeSet<_> = packages.all_passed_on().into_iter().collect();
    only_listed("globs.txt", found.iter().map(String::as_str));
}
