// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that are no longer valid.

use std::fs;
use std::os::unix::fs::MetadataExt;

use atomic_breaker_mapped::{self as mapped, MappedBuilder, MappedSlab, MemoryOrigin};
use atomic_breaker_mapped::{Config, State};

use super::support::{Dir, heard, other, part, say, set_word, word};

/// A word of the header, see the documentation of its layout.
const BOOT: usize = 2;
const VERSION: usize = 1;

#[test]
fn a_file_from_before_a_restart_is_created_again_whatever_it_holds() {
    let dir = Dir::new();
    let path = dir.file("database");
    let rules = Config::new();
    for version in [1, 2, 3] {
        let before = MappedSlab::builder(rules).open(&path).unwrap();
        before.breaker("a.example").unwrap().trip();
        drop(before);
        set_word(&path, BOOT, word(&path, BOOT) ^ 1);
        set_word(&path, VERSION, version);
        let after = mapped::open(&path, Config::new().probes(2)).unwrap();
        assert_eq!(after.word().origin(), MemoryOrigin::AfterRestart);
        assert_eq!(after.state(), State::Closed);
        drop(after);
        fs::remove_file(&path).unwrap();
    }
}

/// A container with a boot id of its own is no restart.
#[test]
fn a_file_of_another_boot_id_is_not_removed_while_it_is_in_use() {
    let dir = Dir::new();
    let path = dir.file("database");
    let there = mapped::open(&path, Config::new()).unwrap();
    set_word(&path, BOOT, word(&path, BOOT) ^ 1);
    let error = mapped::open(&path, Config::new()).unwrap_err().to_string();
    assert!(
        error.contains("is in use by processes that see another boot id"),
        "{error}"
    );
    there.trip();
    assert!(path.exists());
}

#[test]
fn other_rules_replace_a_file_that_no_process_uses_if_asked_to() {
    let test = "replaced::other_rules_replace_a_file_that_no_process_uses_if_asked_to";
    let changed = Config::new().consecutive_failures(9);
    if let Some(part) = part() {
        let there = MappedBuilder::new(changed).replace_unused().open(&part[0]);
        say(&there.map_or_else(|e| e.to_string(), |b| format!("{:?}", b.word().origin())));
    }
    let dir = Dir::new();
    let path = dir.file("database");
    let name = path.to_str().unwrap();
    let there = mapped::open(&path, Config::new()).unwrap();
    there.force_open();
    let said = heard(other(test, &[name]));
    assert!(said.contains("was made with other rules"), "{said}");
    drop(there);
    assert_eq!(heard(other(test, &[name])), "AfterOtherRules");
    assert_eq!(heard(other(test, &[name])), "Joined");
    let there = mapped::open(&path, changed).unwrap();
    assert_eq!(there.state(), State::Closed);
}

/// No mapping may lose its memory: the old file is unlinked, not overwritten.
#[test]
fn a_process_that_uses_a_file_keeps_it_after_its_removal() {
    let dir = Dir::new();
    let path = dir.file("database");
    let before = mapped::open(&path, Config::new()).unwrap();
    let number = fs::metadata(&path).unwrap().ino();
    assert!(!before.word().is_removed());
    fs::remove_file(&path).unwrap();
    assert!(before.word().is_removed());
    let after = mapped::open(&path, Config::new()).unwrap();
    assert!(!after.word().is_removed());
    assert_eq!(after.word().origin(), MemoryOrigin::Created);
    assert_ne!(fs::metadata(&path).unwrap().ino(), number);
    before.trip();
    assert_eq!(
        (before.state(), after.state()),
        (State::Open, State::Closed)
    );
}
