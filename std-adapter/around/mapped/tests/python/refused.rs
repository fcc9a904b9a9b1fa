// SPDX-License-Identifier: MIT OR Apache-2.0
//! Malformed files are refused, taken afresh, or used on both sides alike, case by case.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use atomic_breaker_mapped::{Config, MappedError, MappedSlab, MemoryOrigin, open};

use crate::ask::{ask, dice, quoted};
use crate::support::{Dir, word, write_private};

const RULES: Config = Config::new().consecutive_failures(2);
/// Clock, keys, bytes of a key.
const SHAPES: [[u32; 3]; 2] = [[1, 0, 0], [1, 4, 30]];

fn opened(path: &Path, is_slab: bool) -> Result<MemoryOrigin, MappedError> {
    if is_slab {
        let hosts = MappedSlab::builder(RULES).capacity(4).max_key_bytes(30);
        return Ok(hosts.open(path)?.origin());
    }
    Ok(open(path, RULES)?.word().origin())
}

/// The words of the page for what the library says.
fn verdict(found: Result<MemoryOrigin, MappedError>) -> &'static [&'static str] {
    let error = match found {
        Ok(MemoryOrigin::Joined) => return &["used"],
        Ok(MemoryOrigin::AfterRestart) => return &["restart"],
        Ok(MemoryOrigin::Created) => return &["empty", "unfinished", "zeros"],
        Ok(other) => panic!("{other:?}"),
        Err(error) => error.to_string(),
    };
    let reasons: [(&str, &[&str]); 13] = [
        ("is a symbolic link", &["link"]),
        ("is not a regular file", &["kind"]),
        ("belongs to user", &["owner"]),
        ("has mode", &["mode"]),
        ("names (hard links)", &["names"]),
        ("another byte order", &["byte-order"]),
        ("is not a file of breakers", &["foreign"]),
        ("was truncated or extended", &["length"]),
        ("of the format", &["version"]),
        ("but this process expects", &["shape"]),
        ("timed by another clock", &["clock"]),
        ("another time namespace", &["namespace"]),
        ("made with other rules", &["rules"]),
    ];
    let reason = reasons.iter().find(|(text, _)| error.contains(text));
    reason.unwrap_or_else(|| panic!("{error}")).1
}

struct Cases {
    dir: Dir,
    bases: [Vec<u8>; 2],
    expected: [String; 2],
    all: Vec<(String, PathBuf, bool)>,
}

impl Cases {
    fn new() -> Self {
        let dir = Dir::new();
        let path = dir.file("base");
        let both = [false, true].map(|is_slab| {
            opened(&path, is_slab).unwrap();
            if is_slab {
                let hosts = MappedSlab::builder(RULES).capacity(4).max_key_bytes(30);
                hosts
                    .open(&path)
                    .unwrap()
                    .breaker("a.example")
                    .unwrap()
                    .trip();
            }
            let [clock, keys, bytes] = SHAPES[usize::from(is_slab)];
            let expected = format!("[{clock},{keys},{bytes},{}]", word(&path, 7));
            let content = fs::read(&path).unwrap();
            fs::remove_file(&path).unwrap();
            (content, expected)
        });
        let [(single, of_single), (slab, of_slab)] = both;
        Self {
            dir,
            bases: [single, slab],
            expected: [of_single, of_slab],
            all: Vec::new(),
        }
    }

    fn path(&mut self, what: String, is_slab: bool) -> PathBuf {
        let path = self.dir.file(&self.all.len().to_string());
        self.all.push((what, path.clone(), is_slab));
        path
    }

    fn content(&mut self, what: String, is_slab: bool, content: &[u8]) {
        let path = self.path(what, is_slab);
        write_private(&path, content);
    }

    /// Asks both sides, the reader first, as the library may take a file afresh. How often each answer came.
    fn compare(self) -> BTreeMap<String, usize> {
        let requests = self.all.iter().map(|(_, path, is_slab)| {
            let expected = &self.expected[usize::from(*is_slab)];
            format!("[{},{expected}]", quoted(path))
        });
        let answers = ask("flaws", &requests.collect::<Vec<_>>());
        let mut counts = BTreeMap::new();
        for ((what, path, is_slab), answer) in self.all.iter().zip(answers) {
            let answer = answer.trim_matches('"');
            let wanted = verdict(opened(path, *is_slab));
            assert!(
                wanted.contains(&answer),
                "{what}: the library {wanted:?}, the reader {answer}"
            );
            *counts.entry(answer.to_owned()).or_default() += 1;
        }
        counts
    }
}

const BOTH: [bool; 2] = [false, true];

fn put(content: &[u8], index: usize, value: u64) -> Vec<u8> {
    let mut content = content.to_vec();
    content[index * 8..][..8].copy_from_slice(&value.to_ne_bytes());
    content
}

#[test]
#[ignore = "needs Python: tests/shared-file/run"]
fn each_bit_of_the_header_flipped_is_judged_alike() {
    let mut cases = Cases::new();
    for is_slab in BOTH {
        let base = cases.bases[usize::from(is_slab)].clone();
        for bit in 0..256 * 8 {
            let mut content = base.clone();
            content[bit / 8] ^= 1 << (bit % 8);
            cases.content(format!("bit {bit}, {is_slab}"), is_slab, &content);
        }
        for at in 0..256 {
            for to in [0, 0xFF] {
                let mut content = base.clone();
                content[at] = to;
                cases.content(format!("byte {at} to {to}, {is_slab}"), is_slab, &content);
            }
        }
    }
    let counts = cases.compare();
    println!("{} cases: {counts:?}", counts.values().sum::<usize>());
    for reason in [
        "foreign",
        "version",
        "restart",
        "shape",
        "clock",
        "rules",
        "namespace",
    ] {
        assert!(counts[reason] >= 64, "{reason}");
    }
}

#[test]
#[ignore = "needs Python: tests/shared-file/run"]
fn files_of_every_length_are_judged_alike() {
    let mut cases = Cases::new();
    for is_slab in BOTH {
        let base = cases.bases[usize::from(is_slab)].clone();
        for length in 0..base.len() {
            cases.content(
                format!("{length} bytes, {is_slab}"),
                is_slab,
                &base[..length],
            );
            if length % 5 == 0 {
                cases.content(format!("{length} zeros"), is_slab, &vec![0; length]);
            }
        }
        for more in [1, 7, 8, 64, 4_096] {
            let longer = [&base[..], &vec![0; more]].concat();
            cases.content(format!("{more} bytes more"), is_slab, &longer);
        }
    }
    let counts = cases.compare();
    println!("{} cases: {counts:?}", counts.values().sum::<usize>());
    for reason in ["empty", "foreign", "zeros", "length"] {
        assert!(counts.contains_key(reason), "{reason}");
    }
}

#[test]
#[ignore = "needs Python: tests/shared-file/run"]
fn other_contents_are_judged_alike() {
    let mut cases = Cases::new();
    let mut dice = dice(5);
    let begun = u64::from_be_bytes(*b"AtomBrk?");
    for is_slab in BOTH {
        let base = cases.bases[usize::from(is_slab)].clone();
        let other = cases.bases[usize::from(!is_slab)].clone();
        cases.content("another shape".into(), is_slab, &other);
        for version in (0..10).chain([u64::MAX, 1 << 32 | 1, 1 << 56]) {
            cases.content(
                format!("version {version}"),
                is_slab,
                &put(&base, 1, version),
            );
            let restarted = put(&put(&base, 1, version), 3, dice.next());
            cases.content(
                format!("version {version} of another boot"),
                is_slab,
                &restarted,
            );
        }
        let mut swapped = base.clone();
        swapped.chunks_exact_mut(8).for_each(<[u8]>::reverse);
        cases.content("other byte order".into(), is_slab, &swapped);
        for mark in [begun, begun.swap_bytes(), 0, 1, u64::MAX] {
            cases.content(format!("mark {mark:#x}"), is_slab, &put(&base, 0, mark));
            cases.content(
                format!("mark {mark:#x} alone"),
                is_slab,
                &mark.to_ne_bytes(),
            );
        }
        for (index, values) in [
            (4, [0, 1, 3, 5, 1 << 40]),
            (5, [0, 29, 31, 1_001, u64::MAX]),
        ] {
            for value in values {
                cases.content(
                    format!("{index}: {value}"),
                    is_slab,
                    &put(&base, index, value),
                );
            }
        }
        for length in [256, 4_096, 100_000] {
            let mut zeros = vec![0; length];
            cases.content(format!("{length} zeros"), is_slab, &zeros);
            zeros[length - 1] = 1;
            cases.content(format!("{length} zeros but one"), is_slab, &zeros);
        }
        for round in 0..300 {
            let mut content = base.clone();
            for _ in 0..dice.within(1..4) {
                let index = dice.pick(&[0, 1, 2, 4, 5, 6, 7, 8, 9, 11, 16, 24]);
                let value = dice.pick(&[0, 1, 2, 4, 30, begun]);
                content = put(&content, index, value);
            }
            content.truncate(dice.pick(&[content.len(), content.len(), 300, 256, 40]));
            cases.content(format!("random {round}"), is_slab, &content);
        }
    }
    let counts = cases.compare();
    println!("{} cases: {counts:?}", counts.values().sum::<usize>());
    for reason in [
        "byte-order",
        "unfinished",
        "version",
        "restart",
        "shape",
        "zeros",
    ] {
        assert!(counts.contains_key(reason), "{reason}");
    }
}

#[test]
#[ignore = "needs Python: tests/shared-file/run"]
fn files_that_others_may_reach_are_judged_alike() {
    let mut cases = Cases::new();
    let base = cases.bases[0].clone();
    for mode in (0..0o1000).chain([0o1600, 0o2600, 0o4600, 0o7777]) {
        for content in [&base[..], b""] {
            let path = cases.path(format!("mode {mode:o}, {} bytes", content.len()), false);
            write_private(&path, content);
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        }
    }
    let whole = cases.dir.file("whole");
    write_private(&whole, &base);
    symlink(&whole, cases.path("link".into(), false)).unwrap();
    symlink(
        cases.dir.file("absent"),
        cases.path("dangling".into(), false),
    )
    .unwrap();
    fs::create_dir(cases.path("folder".into(), false)).unwrap();
    let pipe = cases.path("pipe".into(), false);
    let name = std::ffi::CString::new(pipe.to_str().unwrap()).unwrap();
    // SAFETY: the name ends with a zero.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    for _ in 0..2 {
        let path = cases.path("two names".into(), false);
        let first = cases.dir.file("first");
        write_private(&first, &base);
        fs::hard_link(&first, path).unwrap();
        fs::remove_file(cases.dir.file("third")).ok();
        fs::rename(&first, cases.dir.file("third")).unwrap();
    }
    // Only root can give a file away.
    let given = cases.path("of another user".into(), false);
    write_private(&given, &base);
    let is_given = chown(&given, Some(12_345), None).is_ok();
    let counts = cases.compare();
    println!("{} cases: {counts:?}", counts.values().sum::<usize>());
    for reason in ["mode", "link", "kind", "names", "used", "empty"] {
        assert!(counts.contains_key(reason), "{reason}");
    }
    assert_eq!(counts.contains_key("owner"), is_given);
}
