// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lists beside this file of what is not yet as it should be. They only become shorter.

use std::collections::BTreeSet;
use std::fs;

use crate::packages::root;

/// The lines of a list, without those that say why.
fn lines(text: &str) -> BTreeSet<&str> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.filter(|line| !line.is_empty()).collect()
}

/// The changes that would make the list that of today.
fn differences(text: &str, found: &BTreeSet<&str>) -> Vec<String> {
    let listed = lines(text);
    let new = found.difference(&listed);
    let gone = listed.difference(found);
    let new = new.map(|it| format!("new: {it}"));
    let gone = gone.map(|it| format!("gone, so remove it from the list: {it}"));
    new.chain(gone).collect()
}

/// Fails if something is found that is not in the list, or the reverse.
pub(crate) fn only_listed<'a>(list: &str, found: impl Iterator<Item = &'a str>) {
    let path = root().join("tests/project/tests/rooms").join(list);
    let text = fs::read_to_string(&path).unwrap();
    let faults = differences(&text, &found.collect());
    assert!(faults.is_empty(), "{list}:\n{}", faults.join("\n"));
}

#[test]
fn control_what_is_new_and_what_is_gone_are_found() {
    let text = "# why\na\nb\n";
    assert_eq!(differences(text, &["a", "b"].into()).len(), 0);
    assert_eq!(differences(text, &["a", "b", "c"].into()), ["new: c"]);
    let gone = differences(text, &["b"].into());
    assert_eq!(gone, ["gone, so remove it from the list: a"]);
}
