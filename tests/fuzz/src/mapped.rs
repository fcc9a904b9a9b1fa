// SPDX-License-Identifier: MIT OR Apache-2.0
//! A file that processes share, with whatever in it: any bytes, or one that was right, with some of its bytes changed.
//! A second reader, written from the page of the format, says whether it must be used, and what its slots hold.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::LazyLock;

use atomic_breaker_mapped::{Config, MappedError, MappedSlab, open as open_single};

const CONFIG: Config = Config::new().consecutive_failures(2);
const KEYS: [&str; 5] = ["a", "b", "c", "d", "e"];
const CAPACITY: u32 = 4;

/// Bytes of the header, and of a slot for keys of up to 98 bytes.
const HEADER: usize = 256;
const SLOT: usize = 128;
const WHOLE: u64 = 0x4174_6F6D_4272_6B72;
const BEGUN: u64 = 0x4174_6F6D_4272_6B3F;

/// A file of this thread, in memory where there is such a place.
fn path() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    let folder = if memory.is_dir() {
        memory
    } else {
        std::env::temp_dir()
    };
    let thread = format!("{:?}", std::thread::current().id());
    let thread: String = thread.chars().filter(char::is_ascii_digit).collect();
    folder.join(format!("atomic-breaker-fuzz-{}-{thread}", process::id()))
}

fn use_single(path: &Path) -> Result<(), MappedError> {
    let breaker = open_single(path, CONFIG)?;
    let _ = breaker.call(|| Err::<(), _>("no answer"));
    let _ = breaker.state();
    Ok(())
}

fn use_slab(path: &Path) -> Result<(), MappedError> {
    let slab = MappedSlab::builder(CONFIG).capacity(CAPACITY).open(path)?;
    let refused = slab.refused();
    let mut used = Vec::new();
    for key in KEYS {
        if let Ok(breaker) = slab.breaker(key) {
            let _ = breaker.call(|| Err::<(), _>("no answer"));
            used.push(key.as_bytes().to_vec());
        }
    }
    let without = (KEYS.len() - used.len()) as u64;
    assert_eq!(slab.refused(), refused.wrapping_add(without));
    let shown: Vec<_> = slab.entries().collect();
    let file = fs::read(path).expect("the file");
    let keys: Vec<_> = file[HEADER..].chunks(SLOT).filter_map(key_of).collect();
    for key in &used {
        assert!(
            shown.iter().any(|(shown, _)| shown == key),
            "{key:?}: {shown:?}"
        );
    }
    for (key, snapshot) in &shown {
        assert!(keys.contains(key), "{key:?}: {keys:?}");
        let breaker = slab.get(key).expect("a slot");
        assert_eq!(breaker.snapshot().entered(), snapshot.entered());
    }
    Ok(())
}

fn word(bytes: &[u8], at: usize) -> u64 {
    let bytes = bytes[8 * at..8 * at + 8].try_into();
    u64::from_ne_bytes(bytes.expect("eight"))
}

/// The key of a slot; `None` if it is free or damaged.
fn key_of(slot: &[u8]) -> Option<Vec<u8>> {
    let tag = word(slot, 0);
    let length = (tag >> 53 & 0x3FF) as usize;
    if tag >> 63 == 0 || length > 98 {
        return None;
    }
    let mut key = Vec::new();
    for at in 0..length.div_ceil(7) {
        let word = word(slot, 2 + at);
        let part = (word >> 56).checked_sub(128).filter(|part| *part <= 7)?;
        key.extend((0..part).map(|byte| (word >> (8 * byte)) as u8));
    }
    (key.len() == length).then_some(key)
}

/// The fate of a file.
#[derive(Debug, PartialEq)]
enum Fate {
    Used,
    Replaced,
    Refused,
}

/// The fate that a file must have, where this machine writes such a header.
fn fate(file: &[u8], made: &[u8]) -> Fate {
    let mut header = file.to_vec();
    header.resize(header.len().max(HEADER), 0);
    let differs = |words: &[usize]| words.iter().any(|at| word(&header, *at) != word(made, *at));
    match word(&header, 0) {
        BEGUN => Fate::Replaced,
        WHOLE if file.len() < HEADER => Fate::Refused,
        WHOLE if differs(&[2, 3]) => Fate::Replaced,
        WHOLE if differs(&[1, 4, 5, 6, 7, 8]) || file.len() != made.len() => Fate::Refused,
        WHOLE => Fate::Used,
        // Left by a process that died before it wrote anything; a longer one is somebody else's.
        _ if file.len() <= made.len() && file.iter().all(|byte| *byte == 0) => Fate::Replaced,
        _ => Fate::Refused,
    }
}

/// The bytes of a file as this machine makes it, as it names the boot.
fn made(path: &Path, is_slab: bool) -> Vec<u8> {
    let _ = fs::remove_file(path);
    let made = if is_slab { use_slab } else { use_single };
    made(path).expect("a new file");
    let bytes = fs::read(path).expect("the file");
    fs::remove_file(path).expect("the file");
    bytes
}

/// A single breaker, and a slab.
static MADE: LazyLock<[Vec<u8>; 2]> = LazyLock::new(|| [false, true].map(|it| made(&path(), it)));

/// The bytes of a file with changes: where, and to what.
fn changed(mut file: Vec<u8>, changes: &[u8]) -> Vec<u8> {
    for change in changes.chunks_exact(4) {
        let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % file.len();
        match change[2] % 4 {
            0 => file[at] = change[3],
            1 => file[at] ^= 1 << (change[3] % 8),
            2 => file.truncate(at.max(1)),
            _ => file.extend_from_slice(change),
        }
    }
    file
}

/// For its owner alone, as it would be refused otherwise.
fn write(path: &Path, bytes: &[u8]) {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(path).expect("a file");
    file.write_all(bytes).expect("written");
}

/// Used, or an error that names the file.
pub(crate) fn open(bytes: &[u8]) {
    let path = path();
    let Some((kind, bytes)) = bytes.split_first() else {
        return;
    };
    let file = match kind % 3 {
        0 => bytes.to_vec(),
        kind => changed(made(&path, kind == 2), bytes),
    };
    for (used, made) in [use_single, use_slab].into_iter().zip(&*MADE) {
        write(&path, &file);
        let expected = fate(&file, made);
        let found = used(&path);
        let after = fs::read(&path).expect("the file");
        if let Err(error) = found {
            let error = error.to_string();
            assert!(error.contains("atomic-breaker-fuzz"), "{error}");
            assert_eq!(expected, Fate::Refused, "{error}: {file:?}");
            assert_eq!(after, file, "left alone");
            continue;
        }
        let header = |file: &[u8], end: usize| file[..8 * end].to_vec();
        assert_ne!(expected, Fate::Refused, "{file:?}");
        assert_eq!(header(&after, 9), header(made, 9));
        let is_same = file.len() >= HEADER && header(&after, 11) == header(&file, 11);
        assert_eq!(is_same, expected == Fate::Used, "{file:?}");
    }
    fs::remove_file(&path).expect("the file");
}
