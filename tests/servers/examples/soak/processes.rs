// SPDX-License-Identifier: MIT OR Apache-2.0
//! A breaker in a file, which this process shares with others that are killed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use atomic_breaker_mapped::open;
use test_support::dice::Dice;

use crate::IS_OVER;
use crate::weather::{Part, RULES};

/// The other process: it takes permits, also those of probes, and is killed while it holds one.
pub(crate) fn child(path: &Path) {
    let breaker = open(path, RULES).expect("the file of the parent");
    let parent = std::os::unix::process::parent_id();
    while std::os::unix::process::parent_id() == parent {
        // Dropped, unless it is killed before: it knows nothing of the weather.
        if let Ok(_permit) = breaker.acquire() {
            thread::sleep(Duration::from_micros(500));
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// In memory, where there is such a place.
fn folder() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() {
        memory
    } else {
        std::env::temp_dir()
    }
}

fn another(path: &Path) -> Child {
    let program = std::env::current_exe().expect("this program");
    let mut command = Command::new(program);
    command.arg("child").arg(path).stdin(Stdio::null());
    command.spawn().expect("one more process")
}

/// The part, and the thread that removes its file in the end.
pub(crate) fn start(seed: u64) -> (Vec<Arc<Part>>, JoinHandle<()>) {
    let part = Part::start("processes", 2, seed ^ 5);
    let path = folder().join(format!("atomic-breaker-soak-{}", process::id()));
    let breaker = open(&path, RULES).expect("a file of its own");
    let (others, of_others) = (Arc::clone(&part), path.clone());
    let killing = thread::spawn(move || {
        let mut dice = Dice::new(seed ^ 6);
        while !IS_OVER.load(Ordering::Relaxed) {
            let mut other = another(&of_others);
            thread::sleep(Duration::from_millis(200 + dice.below(1_500)));
            let is_killed = other.kill().and_then(|()| other.wait());
            if let Err(error) = is_killed {
                others.broke(&format!("a process cannot be killed: {error}"));
            }
        }
        let _ = fs::remove_file(of_others);
    });
    let calls = Arc::clone(&part);
    thread::spawn(move || {
        while !IS_OVER.load(Ordering::Relaxed) {
            match breaker.acquire() {
                Ok(permit) if calls.reach() => drop(permit.success()),
                Ok(permit) => drop(permit.failure()),
                Err(_) => calls.rejected(),
            }
            thread::sleep(Duration::from_micros(300));
        }
    });
    (vec![part], killing)
}
