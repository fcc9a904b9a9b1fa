// SPDX-License-Identifier: MIT OR Apache-2.0
//! A file that processes share, with whatever in it: any bytes, or one that was right, with some of its bytes changed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;

use atomic_breaker_mapped::{Config, MappedError, MappedSlab, open as open_single};

const CONFIG: Config = Config::new().consecutive_failures(2);

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
    let slab = MappedSlab::builder(CONFIG).capacity(4).open(path)?;
    for key in ["a", "b", "c", "d", "e"] {
        if let Ok(breaker) = slab.breaker(key) {
            let _ = breaker.call(|| Err::<(), _>("no answer"));
        }
    }
    let _ = slab.refused();
    Ok(())
}

/// The bytes of a file as this machine makes it, as it names the boot; then changed: where, and to what.
fn changed(path: &Path, is_slab: bool, changes: &[u8]) -> Vec<u8> {
    let _ = fs::remove_file(path);
    let made = if is_slab { use_slab } else { use_single };
    made(path).expect("a new file");
    let mut file = fs::read(path).expect("the file");
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

/// Used, or an error that names the file.
pub(crate) fn open(bytes: &[u8]) {
    let path = path();
    let Some((kind, bytes)) = bytes.split_first() else {
        return;
    };
    let file = match kind % 3 {
        0 => bytes.to_vec(),
        kind => changed(&path, kind == 2, bytes),
    };
    for used in [use_single, use_slab] {
        fs::write(&path, &file).expect("a file");
        if let Err(error) = used(&path) {
            let error = error.to_string();
            assert!(error.contains("atomic-breaker-fuzz"), "{error}");
        }
    }
    fs::remove_file(&path).expect("the file");
}
