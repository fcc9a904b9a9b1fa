// SPDX-License-Identifier: MIT OR Apache-2.0
//! Workers that are forked, with a mapping that existed before.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use atomic_breaker_mapped::{self as mapped, MappedSlab};
use atomic_breaker_mapped::{Config, State};
use atomic_breaker_std::breaker;

use super::support::{Dir, heard, other, part, say};

/// Runs `f` in this many children of this process at once, and waits for them.
fn in_forks(children: usize, f: impl Fn(usize)) {
    let pids: Vec<_> = (0..children)
        .map(|child| {
            // SAFETY: the child only works on mapped memory, and ends without returning.
            let pid = unsafe { libc::fork() };
            assert!(pid >= 0);
            if pid == 0 {
                f(child);
                // SAFETY: ends the process.
                unsafe { libc::_exit(0) };
            }
            pid
        })
        .collect();
    for pid in pids {
        let mut status = 0;
        // SAFETY: `status` is valid for writes.
        assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
        assert_eq!(status, 0);
    }
}

fn die() -> ! {
    // SAFETY: a signal to this process.
    unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    unreachable!("it was killed");
}

#[test]
fn failures_of_workers_that_were_forked_later_add_up_without_a_file() {
    let test = "forks::failures_of_workers_that_were_forked_later_add_up_without_a_file";
    if part().is_some() {
        let breaker = mapped::for_forks(Config::new().consecutive_failures(8)).unwrap();
        in_forks(7, |_| {
            breaker.acquire().unwrap().failure();
        });
        let failures = breaker.snapshot().failures();
        breaker.acquire().unwrap().failure();
        say(&format!("{failures} {:?}", breaker.state()));
    }
    assert_eq!(heard(other(test, &["fork"])), "7 Open");
}

/// A process draws its number once; drawn before the fork, it is the same in all of them.
#[test]
fn each_forked_worker_draws_its_own_open_time() {
    const WORKERS: usize = 8;
    let test = "forks::each_forked_worker_draws_its_own_open_time";
    if part().is_some() {
        let rules = Config::new().open_for(Duration::from_secs(100));
        let database = breaker(rules.jitter_percent(50));
        database.trip();
        database.reset();
        let (mut here, there) = UnixStream::pair().unwrap();
        in_forks(WORKERS, |_| {
            let opened = database.trip().unwrap();
            let time = opened.open_for_ms.to_ne_bytes();
            (&there).write_all(&time).unwrap();
        });
        let mut times = [[0; 4]; WORKERS];
        here.read_exact(times.as_flattened_mut()).unwrap();
        let different = BTreeSet::from(times).len();
        // There are 50,000 possible times, so two are occasionally the same.
        say(if different > 5 { "different" } else { "alike" });
    }
    assert_eq!(heard(other(test, &["fork"])), "different");
}

#[test]
fn workers_that_were_forked_share_the_slots_of_keys() {
    let test = "forks::workers_that_were_forked_share_the_slots_of_keys";
    if part().is_some() {
        let hosts = MappedSlab::builder(Config::new().consecutive_failures(1_000))
            .capacity(50)
            .for_forks()
            .unwrap();
        in_forks(4, |worker| {
            for key in 0..50 {
                let key = (key * 7 + worker * 13) % 50;
                let host = hosts.breaker(format!("host-{key}")).unwrap();
                host.acquire().unwrap().failure();
            }
        });
        let entries: Vec<_> = hosts.entries().collect();
        let all_four = entries
            .iter()
            .filter(|(_, snapshot)| snapshot.failures() == 4);
        say(&format!(
            "{} {} {}",
            entries.len(),
            all_four.count(),
            hosts.refused()
        ));
    }
    assert_eq!(heard(other(test, &["fork"])), "50 50 0");
}

/// A fork inherits the mapping of a file, and the lock by which others see that it is in use.
#[test]
fn a_fork_keeps_a_file_in_use_when_its_parent_has_closed_it() {
    let test = "forks::a_fork_keeps_a_file_in_use_when_its_parent_has_closed_it";
    let changed = Config::new().probes(2);
    if let Some(part) = part() {
        let breaker = mapped::open(&part[0], Config::new()).unwrap();
        // SAFETY: the child only works on mapped memory, and ends without returning.
        if unsafe { libc::fork() } == 0 {
            thread::sleep(Duration::from_secs(10));
            breaker.force_open();
            die();
        }
        say("forked");
    }
    let dir = Dir::new();
    let path = dir.file("database");
    // The child holds the pipe, too, so closing it does not make the parent wait for the child.
    let mut parent = other(test, &[path.to_str().unwrap()]);
    parent.wait().unwrap();
    let builder = mapped::MappedBuilder::new(changed).replace_unused();
    let error = builder.open(&path).unwrap_err().to_string();
    assert!(error.contains("was made with other rules"), "{error}");
}

#[test]
fn the_probe_of_a_fork_that_was_killed_is_presumed_lost() {
    let test = "forks::the_probe_of_a_fork_that_was_killed_is_presumed_lost";
    if part().is_some() {
        let lease = Duration::from_millis(100);
        let breaker = mapped::for_forks(Config::new().probe_lease(lease)).unwrap();
        breaker.trip();
        breaker.probe_now();
        // SAFETY: the child only works on mapped memory, and ends without returning.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            let _probe = breaker.acquire().unwrap();
            die();
        }
        // SAFETY: the status may be null.
        unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
        let begun = Instant::now();
        let probe = loop {
            match breaker.acquire() {
                Ok(probe) => break probe,
                Err(rejected) => thread::sleep(rejected.retry_in().unwrap()),
            }
            assert!(
                begun.elapsed() < Duration::from_secs(5),
                "never admitted again"
            );
        };
        assert_eq!(breaker.snapshot().lost_rounds(), 1);
        probe.success();
        assert_eq!(breaker.state(), State::Closed);
        say("closed");
    }
    assert_eq!(heard(other(test, &["fork"])), "closed");
}

const FILES: usize = 300;

/// A fork inherits a lock that another thread happens to hold.
#[test]
fn a_fork_while_a_file_is_being_created_does_not_keep_it_locked() {
    let test = "forks::a_fork_while_a_file_is_being_created_does_not_keep_it_locked";
    if let Some(part) = part() {
        let forking = thread::spawn(|| {
            for _ in 0..60 {
                // SAFETY: the child only sleeps, and ends without returning.
                if unsafe { libc::fork() } == 0 {
                    unsafe {
                        libc::sleep(5);
                        libc::_exit(0);
                    }
                }
            }
        });
        for file in 0..FILES {
            drop(mapped::open(format!("{}-{file}", part[0]), Config::new()).unwrap());
        }
        forking.join().unwrap();
        say("made");
    }
    let dir = Dir::new();
    let path = dir.file("database").to_str().unwrap().to_string();
    other(test, &[&path]).wait().unwrap();
    for file in 0..FILES {
        let there = mapped::open(format!("{path}-{file}"), Config::new()).unwrap();
        assert_eq!(there.word().origin(), mapped::MemoryOrigin::Joined);
    }
}
