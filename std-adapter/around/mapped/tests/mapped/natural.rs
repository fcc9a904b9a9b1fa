// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that users write first.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::{LazyLock, Mutex};
use std::thread;

use atomic_breaker_mapped::{
    self as mapped, MappedBreaker, MappedBuilder, MappedSlab, MemoryOrigin,
};
use atomic_breaker_mapped::{Cause, Config, OnTransition, Permit, State, Transition};

use super::support::{Dir, heard, other, part, say};

const RULES: Config = Config::new().consecutive_failures(2);

#[test]
fn a_breaker_that_one_process_trips_is_open_in_the_other() {
    let test = "natural::a_breaker_that_one_process_trips_is_open_in_the_other";
    if let Some(part) = part() {
        let database = mapped::open(&part[0], RULES).unwrap();
        for _ in 0..2 {
            let _ = database.call(|| Err::<(), _>("no answer"));
        }
        say(&format!("{:?}", database.word().origin()));
    }
    let dir = Dir::new();
    let path = dir.file("database");
    let database = mapped::open(&path, RULES).unwrap();
    assert_eq!(database.word().origin(), MemoryOrigin::Created);
    assert_eq!(heard(other(test, &[path.to_str().unwrap()])), "Joined");
    assert_eq!(database.state(), State::Open);
    let rejected = database.acquire().unwrap_err();
    assert!(rejected.retry_in_ms() <= Some(RULES.open_for_ms));
}

#[test]
fn the_hosts_of_one_process_are_those_of_the_other() {
    let test = "natural::the_hosts_of_one_process_are_those_of_the_other";
    if let Some(part) = part() {
        let hosts = MappedSlab::builder(RULES).open(&part[0]).unwrap();
        for _ in 0..2 {
            let host = hosts.breaker("a.example").unwrap();
            host.acquire().unwrap().failure();
        }
        say("done");
    }
    let dir = Dir::new();
    let path = dir.file("hosts");
    let hosts = MappedSlab::builder(RULES).open(&path).unwrap();
    heard(other(test, &[path.to_str().unwrap()]));
    assert_eq!(hosts.breaker("a.example").unwrap().state(), State::Open);
    assert!(hosts.get("b.example").is_none());
    assert_eq!(
        hosts.breaker("b.example").unwrap().call(|| Ok::<_, ()>(7)),
        Ok(7)
    );
    assert_eq!((hosts.keys(), hosts.refused()), (2, 0));
}

#[test]
fn only_its_owner_can_use_the_file_whatever_the_umask() {
    let test = "natural::only_its_owner_can_use_the_file_whatever_the_umask";
    if let Some(part) = part() {
        // SAFETY: sets a number of this process.
        unsafe { libc::umask(part[1].parse().unwrap()) };
        drop(mapped::open(&part[0], RULES).unwrap());
        say("done");
    }
    let dir = Dir::new();
    for mask in ["0", "63"] {
        let path = dir.file(mask);
        heard(other(test, &[path.to_str().unwrap(), mask]));
        let made = fs::metadata(&path).unwrap();
        assert_eq!(made.permissions().mode() & 0o7777, 0o600, "mask {mask}");
    }
}

#[test]
fn the_space_of_a_file_is_reserved() {
    let dir = Dir::within(&std::env::temp_dir());
    let path = dir.file("hosts");
    let hosts = MappedSlab::builder(RULES).open(&path).unwrap();
    let made = fs::metadata(&path).unwrap();
    assert!(made.len() > 2 * 1_024 * 100, "{} bytes", made.len());
    assert!(
        made.blocks() * 512 >= made.len(),
        "{} blocks of 512 for {} bytes",
        made.blocks(),
        made.len()
    );
    drop(hosts);
}

#[test]
fn a_transition_is_reported_once_by_the_process_that_made_it() {
    let dir = Dir::new();
    let path = dir.file("database");
    let (ours, theirs) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    let listen = |to: &Mutex<Vec<Cause>>, transition: &Transition| {
        to.lock().unwrap().push(transition.cause);
    };
    let one = MappedBuilder::new(RULES)
        .observer(OnTransition(|t: &Transition| listen(&ours, t)))
        .open(&path)
        .unwrap();
    let other = MappedBuilder::new(RULES)
        .observer(OnTransition(|t: &Transition| listen(&theirs, t)))
        .open(&path)
        .unwrap();
    one.trip();
    other.reset();
    assert_eq!(*ours.lock().unwrap(), [Cause::Manual]);
    assert_eq!(*theirs.lock().unwrap(), [Cause::Manual]);
}

#[test]
fn a_restarted_service_finds_the_state_that_it_left() {
    let dir = Dir::new();
    let path = dir.file("database");
    let before = mapped::open(&path, RULES).unwrap();
    before.force_open();
    drop(before);
    let after = mapped::open(&path, RULES).unwrap();
    assert_eq!(after.word().origin(), MemoryOrigin::Joined);
    assert_eq!(after.state(), State::ForcedOpen);
}

/// A server keeps its breakers in a static.
static DATABASE: LazyLock<MappedBreaker> =
    LazyLock::new(|| mapped::for_forks(RULES).expect("constant rules"));
static HOSTS: LazyLock<MappedSlab> = LazyLock::new(|| {
    MappedSlab::builder(RULES)
        .for_forks()
        .expect("constant rules")
});

#[test]
fn breakers_in_a_static_give_permits_that_other_threads_own() {
    let of_database = Permit::acquire(&*DATABASE).unwrap();
    let of_host = Permit::acquire(HOSTS.breaker("a.example").unwrap()).unwrap();
    let call = thread::spawn(|| {
        of_database.failure();
        of_host.failure();
    });
    call.join().unwrap();
    assert_eq!(DATABASE.snapshot().failures(), 1);
    assert_eq!(HOSTS.get("a.example").unwrap().snapshot().failures(), 1);
}

/// `unwrap` and a `main` that returns it show an error so.
#[test]
fn the_debug_output_of_an_error_is_its_message() {
    let error = mapped::open("/dev/null", RULES).unwrap_err();
    assert_eq!(
        format!("{error:?}"),
        "MappedError(/dev/null: is not a regular file: use another path)"
    );
}

/// A user who set the mode as advised would have changed another user's file, and learned only then that it is one.
#[test]
fn a_wrong_file_with_another_mode_is_called_that_at_once() {
    let dir = Dir::new();
    let path = dir.file("passwd");
    fs::write(&path, "root:x:0:0::/root:/bin/sh\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let said = mapped::open(&path, Config::new()).unwrap_err().to_string();
    let end = "has mode 0644, and is not a file of breakers: use another path";
    assert!(said.ends_with(end), "{said}");
}

/// As a daemon does that calls `closefrom(3)` after it has opened its breakers.
#[test]
fn a_descriptor_that_was_closed_and_given_to_another_file_is_left_open() {
    let test = "natural::a_descriptor_that_was_closed_and_given_to_another_file_is_left_open";
    if let Some(part) = part() {
        let breaker = mapped::open(&part[0], Config::new()).unwrap();
        let is_file = |fd: &i32| {
            fs::read_link(format!("/proc/self/fd/{fd}")).is_ok_and(|to| to.as_os_str() == &*part[0])
        };
        let fd = (3..100).find(is_file).unwrap();
        let mut ends = [0; 2];
        // SAFETY: `ends` is valid for writes; a number that is in use is replaced.
        unsafe {
            assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
            assert_eq!(libc::dup2(ends[1], fd), fd);
        }
        drop(breaker);
        // SAFETY: asks whether it is open.
        let is_open = unsafe { libc::fcntl(fd, libc::F_GETFD) } >= 0;
        // Otherwise it is closed with the breaker.
        let breaker = mapped::open(&part[0], Config::new()).unwrap();
        let own = (3..100).find(is_file).unwrap();
        drop(breaker);
        // SAFETY: as above.
        let is_own_closed = unsafe { libc::fcntl(own, libc::F_GETFD) } < 0;
        say(&format!("{is_open} {is_own_closed}"));
    }
    let dir = Dir::new();
    let path = dir.file("database");
    let path = path.to_str().unwrap();
    assert_eq!(heard(other(test, &[path])), "true true");
}

/// As of a variable of the environment that is empty.
#[test]
fn an_empty_path_is_an_error_that_says_so() {
    let error = mapped::open("", Config::new()).unwrap_err();
    assert_eq!(error.kind(), mapped::MappedErrorKind::Settings);
    let said = error.to_string();
    assert!(said.starts_with("the path is empty: "), "{said}");
}
