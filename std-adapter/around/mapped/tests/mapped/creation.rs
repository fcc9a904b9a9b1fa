// SPDX-License-Identifier: MIT OR Apache-2.0
//! Many processes that open a file at once, and some that are killed while they create it.

use std::fs::{self, File};
use std::process::Child;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use atomic_breaker_mapped::Config;
use atomic_breaker_mapped::{self as mapped, MemoryOrigin};

use super::support::{Dice, Dir, heard, other, part, say, wait_until, word, write_private};

const MANY: Config = Config::new().consecutive_failures(1_000);

/// Waits for the file `go`, opens the breaker, and counts a failure.
fn contend(part: &[String]) -> ! {
    let go = format!("{}.go", part[0]);
    wait_until("started", || fs::exists(&go).unwrap());
    let breaker = mapped::open(&part[0], MANY).unwrap();
    breaker.acquire().unwrap().failure();
    say(&format!("{:?}", breaker.word().origin()));
}

#[test]
fn of_many_processes_that_open_a_file_at_once_one_creates_it_and_all_share_it() {
    let test =
        "creation::of_many_processes_that_open_a_file_at_once_one_creates_it_and_all_share_it";
    if let Some(part) = part() {
        contend(&part);
    }
    let dir = Dir::new();
    for round in 0..5 {
        let path = dir.file(&round.to_string());
        let children: Vec<Child> = (0..8)
            .map(|_| other(test, &[path.to_str().unwrap()]))
            .collect();
        thread::sleep(Duration::from_millis(20));
        File::create(path.with_extension("go")).unwrap();
        let origins: Vec<String> = children.into_iter().map(heard).collect();
        let made = origins.iter().filter(|origin| *origin == "Created");
        assert_eq!(made.count(), 1, "{origins:?}");
        let breaker = mapped::open(&path, MANY).unwrap();
        assert_eq!(breaker.snapshot().failures(), 8);
    }
}

#[test]
fn a_process_that_is_killed_while_it_creates_a_file_holds_up_no_other() {
    let test = "creation::a_process_that_is_killed_while_it_creates_a_file_holds_up_no_other";
    if let Some(part) = part() {
        contend(&part);
    }
    let dir = Dir::new();
    let mut dice = Dice::new();
    for round in 0..20 {
        let path = dir.file(&round.to_string());
        let mut children: Vec<Child> = (0..3)
            .map(|_| other(test, &[path.to_str().unwrap()]))
            .collect();
        thread::sleep(Duration::from_millis(10));
        File::create(path.with_extension("go")).unwrap();
        for child in &mut children {
            thread::sleep(Duration::from_micros(dice.below(700)));
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let breaker = mapped::open(&path, MANY).unwrap();
        assert!(breaker.snapshot().failures() <= 3, "{breaker:?}");
        let entries = fs::read_dir(dir.path()).unwrap().count();
        assert_eq!(entries, 2 * (round + 1), "a file was left behind");
    }
}

/// The contents of a file after each step of its creation: empty; its room reserved; begun; everything but the mark
/// that it is complete.
#[test]
fn a_file_left_unfinished_at_any_step_is_created_again() {
    let dir = Dir::new();
    let path = dir.file("database");
    drop(mapped::open(&path, MANY).unwrap());
    let whole = fs::read(&path).unwrap();
    let begun = u64::from_be_bytes(*b"AtomBrk?").to_ne_bytes();
    let mut states = vec![Vec::new(), vec![0; whole.len()], vec![0; 8]];
    for words in 1..32 {
        let mut state = vec![0; whole.len()];
        state[..words * 8].copy_from_slice(&whole[..words * 8]);
        state[..8].copy_from_slice(&begun);
        states.push(state);
    }
    for state in states {
        fs::remove_file(&path).unwrap();
        write_private(&path, &state);
        let breaker = mapped::open(&path, MANY).unwrap();
        assert_eq!(breaker.word().origin(), MemoryOrigin::Created);
        assert_eq!(word(&path, 0), u64::from_be_bytes(*b"AtomBrkr"));
        assert_eq!(fs::metadata(&path).unwrap().len(), whole.len() as u64);
    }
}

/// Such as the image of a disk at a path that was mistyped. No creator makes more than the length of a whole file.
#[test]
fn a_file_of_zeros_that_is_longer_than_a_whole_one_is_refused_and_kept() {
    let dir = Dir::new();
    let path = dir.file("disk");
    drop(mapped::open(&path, MANY).unwrap());
    let whole = fs::metadata(&path).unwrap().len();
    for length in [whole + 1, 100_000, 1 << 40] {
        fs::remove_file(&path).unwrap();
        write_private(&path, b"");
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(length).unwrap();
        let error = mapped::open(&path, MANY).unwrap_err();
        assert_eq!(error.kind(), mapped::MappedErrorKind::Foreign, "{error}");
        assert_eq!(fs::metadata(&path).unwrap().len(), length);
    }
}

/// A creator of many long keys that dies right after it has reserved the room leaves such a file: nothing but zeros,
/// which take each process long to check.
#[test]
fn of_many_that_find_a_large_file_of_zeros_one_creates_it_again_and_all_share_it() {
    let dir = Dir::new();
    let path = dir.file("database");
    write_private(&path, b"");
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    // 2^18 slots of 128 bytes.
    let hosts = || mapped::MappedSlab::builder(MANY).capacity(1 << 17);
    file.set_len(256 + (32 << 20)).unwrap();
    let start = Barrier::new(8);
    let origins: Vec<MemoryOrigin> = thread::scope(|scope| {
        let workers: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    start.wait();
                    let hosts = hosts().open(&path).unwrap();
                    hosts.breaker("a").unwrap().acquire().unwrap().failure();
                    hosts.origin()
                })
            })
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap())
            .collect()
    });
    let made = origins
        .iter()
        .filter(|origin| **origin == MemoryOrigin::Created);
    assert_eq!(made.count(), 1, "{origins:?}");
    let hosts = hosts().open(&path).unwrap();
    assert_eq!(hosts.breaker("a").unwrap().snapshot().failures(), 8);
}

/// As if a process were stopped while it holds the lock on the file.
#[test]
fn waiting_for_a_lock_in_vain_is_an_error_that_says_so() {
    use std::os::fd::AsRawFd;
    let dir = Dir::new();
    let path = dir.file("database");
    write_private(&path, b"");
    let file = File::open(&path).unwrap();
    // SAFETY: the descriptor is open.
    assert_eq!(unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) }, 0);
    let error = mapped::open(&path, MANY).unwrap_err();
    assert_eq!(error.kind(), mapped::MappedErrorKind::Busy);
    let error = error.to_string();
    assert!(
        error.contains("has been locked by another process for 2 s"),
        "{error}"
    );
    drop(file);
    let breaker = mapped::open(&path, MANY).unwrap();
    assert_eq!(breaker.word().origin(), MemoryOrigin::Created);
}
