// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every error about a file names the file and says what to do.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;

use atomic_breaker_mapped::MappedErrorKind as Kind;
use atomic_breaker_mapped::{self as mapped, MappedBuilder, MappedSlab, NoSlot};
use atomic_breaker_mapped::{Config, ManualClock, Observer, OnTransition, Ratio, Transition};

use super::support::{Dir, set_word, word, write_private};

/// Indexes of words in the header; see the documentation of its layout.
const VERSION: usize = 1;
const TIME_NAMESPACE: usize = 8;

#[track_caller]
pub(super) fn assert_says(path: &Path, config: Config, kind: Kind, what: &str) {
    let error = mapped::open(path, config).unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert_eq!(error.path(), Some(path));
    let (name, said) = (path.display().to_string(), error.to_string());
    let said = said.strip_prefix(&format!("{name}: ")).expect(&said);
    assert!(said.starts_with(what), "{said}");
    let advice = [
        "take", "use", "run all", "set ", "make ", "remove", "end it", "mount",
    ];
    assert!(advice.iter().any(|word| said.contains(word)), "{said}");
}

fn says(path: &Path, kind: Kind, what: &str) {
    assert_says(path, Config::new(), kind, what);
}

/// A valid file.
fn made(dir: &Dir) -> std::path::PathBuf {
    let path = dir.file("database");
    drop(mapped::open(&path, Config::new()).unwrap());
    path
}

#[test]
fn a_symbolic_link_is_not_followed() {
    let dir = Dir::new();
    let link = dir.file("link");
    symlink(made(&dir), &link).unwrap();
    says(&link, Kind::NotTrusted, "is a symbolic link");
    let dangling = dir.file("dangling");
    symlink(dir.file("absent"), &dangling).unwrap();
    says(&dangling, Kind::NotTrusted, "is a symbolic link");
    assert!(!dir.file("absent").exists());
}

#[test]
fn anything_but_a_regular_file_is_rejected_at_once() {
    let dir = Dir::new();
    says(dir.path(), Kind::NotTrusted, "is not a regular file");
    let pipe = dir.file("pipe");
    let name = std::ffi::CString::new(pipe.to_str().unwrap()).unwrap();
    // SAFETY: the name ends with a zero.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    says(&pipe, Kind::NotTrusted, "is not a regular file");
    says(
        Path::new("/dev/null"),
        Kind::NotTrusted,
        "is not a regular file",
    );
}

#[test]
fn a_missing_directory_is_an_error_that_says_so() {
    let dir = Dir::new();
    let path = dir.file("absent/database");
    says(
        &path,
        Kind::System,
        "cannot be created, make its directory first",
    );
}

#[test]
fn a_second_name_is_rejected() {
    let dir = Dir::new();
    let path = made(&dir);
    fs::hard_link(&path, dir.file("second")).unwrap();
    says(&path, Kind::NotTrusted, "has 2 names (hard links)");
}

/// As a process leaves it that had a strict umask, and was killed before it set the permissions.
#[test]
fn an_empty_file_that_lacks_permissions_of_its_owner_is_completed() {
    let dir = Dir::new();
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    for mode in [0o400, 0o200, 0o000] {
        let path = dir.file("database");
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        if is_root {
            drop(mapped::open(&path, Config::new()).unwrap());
            let found = fs::metadata(&path).unwrap().permissions();
            assert_eq!(found.mode() & 0o7777, 0o600);
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        }
        // Any other user cannot open it, and one that has content is not touched.
        says(
            &path,
            Kind::NotTrusted,
            &format!("has mode {mode:04o}: set 0600"),
        );
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn permissions_for_others_are_rejected() {
    let dir = Dir::new();
    let path = made(&dir);
    for mode in [0o640, 0o602, 0o4600, 0o666] {
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        says(
            &path,
            Kind::NotTrusted,
            &format!("has mode {mode:04o}: set 0600"),
        );
    }
}

/// Only root can change the owner of a file.
#[test]
fn the_file_of_another_user_is_rejected() {
    let dir = Dir::new();
    let path = made(&dir);
    if chown(&path, Some(12_345), None).is_ok() {
        says(
            &path,
            Kind::NotTrusted,
            "belongs to user 12345, but this process runs as 0",
        );
    } else {
        // The file belongs to root and cannot be opened by others.
        let error = mapped::open("/etc/shadow", Config::new()).unwrap_err();
        assert!(error.to_string().contains("belongs to user 0"), "{error}");
    }
}

#[test]
fn a_foreign_file_is_rejected_and_stays_as_it_is() {
    let dir = Dir::new();
    let path = dir.file("notes");
    for content in [&b"dear diary"[..], &[0, 0, 0, 1], &[0xFF; 10_000], b"x"] {
        write_private(&path, content);
        says(&path, Kind::Foreign, "is not a file of breakers");
        assert_eq!(fs::read(&path).unwrap(), content);
    }
    // Zeros for a while, and then another content.
    let mut content = vec![0; 9_000];
    content[8_999] = 1;
    write_private(&path, &content);
    says(&path, Kind::Foreign, "is not a file of breakers");
    assert_eq!(fs::read(&path).unwrap(), content);
}

#[test]
fn a_truncated_or_extended_file_is_rejected() {
    let dir = Dir::new();
    let path = made(&dir);
    let whole = fs::metadata(&path).unwrap().len();
    for length in [whole + 1, whole - 8, 100] {
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(length).unwrap();
        says(
            &path,
            Kind::Foreign,
            &format!("was truncated or extended: it has {length} bytes"),
        );
    }
}

#[test]
fn another_version_of_the_format_is_rejected() {
    let dir = Dir::new();
    let path = made(&dir);
    // The release before, and one to come.
    for version in [1, 3] {
        set_word(&path, VERSION, version);
        let text = format!("has version {version} of the format, but this program has 2");
        says(&path, Kind::Disagreement, &text);
    }
}

#[test]
fn another_byte_order_is_rejected() {
    let dir = Dir::new();
    let path = made(&dir);
    set_word(&path, 0, word(&path, 0).swap_bytes());
    says(
        &path,
        Kind::Disagreement,
        "was written by a program with another byte order",
    );
}

#[test]
fn another_time_namespace_is_rejected() {
    let dir = Dir::new();
    let path = made(&dir);
    set_word(&path, TIME_NAMESPACE, word(&path, TIME_NAMESPACE) ^ 1);
    says(
        &path,
        Kind::Disagreement,
        "is used in another time namespace",
    );
}

#[test]
fn another_clock_is_rejected() {
    let dir = Dir::new();
    let path = dir.file("database");
    let clock = ManualClock::new();
    drop(
        MappedBuilder::new(Config::new())
            .clock(&clock)
            .open(&path)
            .unwrap(),
    );
    says(&path, Kind::Disagreement, "is timed by another clock");
}

#[test]
fn another_number_or_length_of_keys_is_rejected() {
    let dir = Dir::new();
    let path = made(&dir);
    let slab = |keys, bytes| {
        let builder = MappedSlab::builder(Config::new());
        builder.capacity(keys).max_key_bytes(bytes).open(&path)
    };
    let error = slab(10, 20).unwrap_err().to_string();
    assert!(
        error
            .contains("holds a single breaker, but this process expects 10 keys of up to 20 bytes"),
        "{error}"
    );
    fs::remove_file(&path).unwrap();
    drop(slab(10, 20).unwrap());
    says(
        &path,
        Kind::Disagreement,
        "holds 10 keys of up to 20 bytes, but this process expects a single breaker",
    );
    for (keys, bytes) in [(11, 20), (10, 21)] {
        let error = slab(keys, bytes).unwrap_err().to_string();
        let wanted = format!(
            "expects {keys} keys of up to {bytes} bytes: give all processes the same, or stop"
        );
        assert!(error.contains(&wanted), "{error}");
    }
}

/// Each setting on which all processes must agree.
#[test]
fn settings_that_do_not_fit_leave_no_file() {
    let dir = Dir::new();
    let path = dir.file("database");
    let ratio = Config::new().failure_ratio(Ratio::percent(50).of_last(20));
    assert!(mapped::open(&path, ratio).is_err());
    assert_says(
        &path,
        Config::new().probes(0),
        Kind::Settings,
        "with 0 probes",
    );
    let slab = |keys, bytes| {
        let builder = MappedSlab::builder(Config::new());
        let error = builder.capacity(keys).max_key_bytes(bytes).open(&path);
        error.unwrap_err().to_string()
    };
    assert!(slab(0, 98).ends_with("0 keys: set at least 1, at most 1048576"));
    assert!(slab(u32::MAX, 98).contains("at most 1048576"));
    assert!(slab(1, 0).ends_with("keys of 0 bytes: set at least 1, at most 1000"));
    assert!(slab(1, 1_001).contains("at most 1000"));
    assert!(MappedSlab::builder(Config::new()).open(&path).is_ok());
}

/// As a seat in a fleet does.
struct HearsAll;

impl Observer for HearsAll {
    fn must_hear_all(&self) -> bool {
        true
    }
}

#[test]
fn an_observer_that_must_hear_what_other_processes_do_is_refused_with_words() {
    let dir = Dir::new();
    let single = || {
        MappedBuilder::new(Config::new()).observer((HearsAll, OnTransition(|_: &Transition| ())))
    };
    let in_file = single().open(dir.file("database")).unwrap_err();
    let for_forks = single().for_forks().unwrap_err();
    for error in [in_file, for_forks] {
        assert_eq!(error.kind(), Kind::Settings);
        assert!(error.to_string().contains("a seat in a fleet"), "{error}");
    }
    let hosts = MappedSlab::builder(Config::new()).for_forks().unwrap();
    let refused = hosts.observed("a.example", Some(HearsAll)).unwrap_err();
    assert_eq!(refused, NoSlot::Observer);
    assert!(hosts.observed("a.example", None::<HearsAll>).is_ok());
}
