//! One word and several processes, with the clock that they read alike.
//!
//! Each test plays its other processes itself: it starts this program again with the part to play in
//! the environment.
#![cfg(all(feature = "shared", unix))]

use std::env;
use std::fs::{self, OpenOptions};
use std::path::PathBuf;
use std::process::{self, Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use atomic_breaker_std::word::{AtomicU32, AtomicU64, NativeWord};
use atomic_breaker_std::{BootClock, Breaker, Cause, Clock, Config, SharedClock, State, Wait};
use memmap2::MmapRaw;

const PART: &str = "PART_OF_THE_OTHER_PROCESS";
const HOUR: Duration = Duration::from_secs(3_600);

/// What the parent gave this process to do, if it is a child.
fn part() -> Option<Vec<String>> {
    let part = env::var(PART).ok()?;
    Some(part.split(' ').map(Into::into).collect())
}

/// This program again, with nothing to do but the named test, in the part of another process.
fn other_process(test: &str, part: &str) -> Child {
    let program = env::current_exe().unwrap();
    Command::new(program)
        .args(["--exact", test, "--nocapture"])
        .env(PART, part)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// What a child has to say, between the lines of the test harness.
fn say(numbers: &[u32]) -> ! {
    println!();
    println!("says {numbers:?}");
    process::exit(0);
}

fn heard(child: Child) -> Vec<u32> {
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let said = text.lines().find_map(|line| line.strip_prefix("says ["));
    let said = said.unwrap_or_else(|| panic!("the other process failed: {text}"));
    let numbers = said.trim_end_matches(']').split(", ");
    numbers.map(|number| number.parse().unwrap()).collect()
}

fn is_read_alike(clock: impl SharedClock, test: &str) {
    if part().is_some() {
        say(&[clock.now_ms()]);
    }
    let before = clock.now_ms();
    let there = heard(other_process(test, "read"))[0];
    let after = clock.now_ms();
    assert!(
        there.wrapping_sub(before) <= after.wrapping_sub(before),
        "read {there} between {before} and {after}"
    );
}

#[test]
fn the_boot_clock_is_read_alike_by_another_process() {
    is_read_alike(BootClock, "the_boot_clock_is_read_alike_by_another_process");
}

/// A fleet in which everybody throws the same dice comes back in step.
#[test]
fn two_processes_throw_different_dice() {
    const THROWS: usize = 16;
    if part().is_some() {
        say(&[(); THROWS].map(|()| BootClock.random()));
    }
    let [one, other] = [(); 2].map(|()| {
        let name = "two_processes_throw_different_dice";
        heard(other_process(name, ""))
    });
    assert_eq!((one.len(), other.len()), (THROWS, THROWS));
    let alike = one.iter().zip(&other).filter(|(one, other)| one == other);
    assert!(alike.count() <= 1, "{one:?} {other:?}");
}

#[cfg(all(feature = "coarse", any(target_os = "linux", target_os = "android")))]
#[test]
fn the_coarse_clock_is_read_alike_by_another_process() {
    is_read_alike(
        atomic_breaker_std::CoarseClock,
        "the_coarse_clock_is_read_alike_by_another_process",
    );
}

#[test]
fn the_content_of_an_open_word_is_open_in_another_process_for_the_time_left() {
    let rules = Config::new().open_for(HOUR);
    if let Some(part) = part() {
        let word = NativeWord::new(part[0].parse().unwrap());
        let breaker = Breaker::shared(&word, rules, BootClock);
        let rejected = breaker.acquire().expect_err("it is open for an hour");
        let Wait::For(left) = rejected.wait() else {
            panic!("{rejected}");
        };
        say(&[left.as_millis().try_into().unwrap()]);
    }
    let breaker = Breaker::shared(NativeWord::new(0), rules, BootClock);
    let opened = breaker.trip().expect("it was closed").at_ms;
    let child = other_process(
        "the_content_of_an_open_word_is_open_in_another_process_for_the_time_left",
        &breaker.to_bits().to_string(),
    );
    let left = Duration::from_millis(heard(child)[0].into());
    let passed = Duration::from_millis(BootClock.now_ms().wrapping_sub(opened).into());
    assert!(left <= HOUR, "{left:?} left");
    assert!(left + passed >= HOUR, "{left:?} left after {passed:?}");
}

/// A word in memory that processes share, of either size.
struct Shared {
    path: PathBuf,
}

impl Shared {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("{name}-{}", process::id()));
        fs::write(&path, [0; 8]).unwrap();
        Self { path }
    }

    /// Mapped for as long as the process lives.
    fn map(path: impl Into<PathBuf>) -> *const u8 {
        let file = OpenOptions::new().read(true).write(true).open(path.into());
        let map = MmapRaw::map_raw(&file.unwrap()).unwrap();
        let memory = map.as_ptr();
        std::mem::forget(map);
        memory
    }

    fn part(&self) -> &str {
        self.path.to_str().unwrap()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn wide(memory: *const u8) -> &'static AtomicU64 {
    // SAFETY: a mapped page is aligned and larger than that, and is touched as an atomic only.
    unsafe { &*memory.cast() }
}

fn narrow(memory: *const u8) -> &'static AtomicU32 {
    // SAFETY: as above.
    unsafe { &*memory.cast() }
}

/// Waits as it is told to, until a probe is admitted here or elsewhere. When that was, or 0.
fn wait_for_the_probe(memory: *const u8, rules: Config) -> u32 {
    let breaker = Breaker::shared(wide(memory), rules, BootClock);
    loop {
        match breaker.acquire() {
            Ok(permit) => {
                assert!(permit.is_probe());
                // In flight until its lease is over: this process ends with it.
                let _ = permit.into_token();
                return BootClock.now_ms().max(1);
            }
            Err(rejected) if rejected.state() == State::Open => {
                thread::sleep(rejected.retry_in().unwrap());
            }
            Err(rejected) => {
                assert_eq!(rejected.state(), State::HalfOpen);
                return 0;
            }
        }
    }
}

#[test]
fn one_of_many_processes_is_the_probe_and_not_before_the_deadline() {
    let rules = Config::new()
        .open_for(Duration::from_millis(300))
        .probe_lease(HOUR);
    if let Some(part) = part() {
        say(&[wait_for_the_probe(Shared::map(&part[0]), rules)]);
    }
    let shared = Shared::new("one-probe");
    let memory = Shared::map(&shared.path);
    let breaker = Breaker::shared(wide(memory), rules, BootClock);
    let opened = breaker.trip().expect("it was closed").at_ms;
    let children: Vec<_> = (0..4)
        .map(|_| {
            other_process(
                "one_of_many_processes_is_the_probe_and_not_before_the_deadline",
                shared.part(),
            )
        })
        .collect();
    let said: Vec<u32> = children.into_iter().map(|child| heard(child)[0]).collect();
    let probes: Vec<_> = said.iter().filter(|at| **at != 0).collect();
    assert_eq!(probes.len(), 1, "{said:?}");
    let waited = probes[0].wrapping_sub(opened);
    assert!(waited >= 300, "opened after {waited} ms");
    let snapshot = breaker.snapshot();
    assert_eq!(snapshot.state(), State::HalfOpen, "{snapshot:?}");
    assert_eq!(snapshot.probes_in_flight(), 1, "{snapshot:?}");
}

#[test]
fn failures_of_all_processes_add_up_in_a_32_bit_word() {
    let rules = Config::new().consecutive_failures(8).open_for(HOUR / 10);
    if let Some(part) = part() {
        let word = narrow(Shared::map(&part[0]));
        let breaker = Breaker::shared(word, rules, BootClock);
        let tripped = (0..2).filter(|_| {
            let permit = breaker.acquire().expect("eight are needed");
            permit.failure().is_some()
        });
        say(&[tripped.count().try_into().unwrap()]);
    }
    let shared = Shared::new("add-up");
    let breaker = Breaker::shared(narrow(Shared::map(&shared.path)), rules, BootClock);
    let children: Vec<_> = (0..4)
        .map(|_| {
            other_process(
                "failures_of_all_processes_add_up_in_a_32_bit_word",
                shared.part(),
            )
        })
        .collect();
    let made: u32 = children.into_iter().map(|child| heard(child)[0]).sum();
    assert_eq!(
        made, 1,
        "the one whose failure was the last has made the transition"
    );
    assert_eq!(breaker.state(), State::Open);
}

#[test]
fn the_probe_of_a_process_that_died_is_taken_for_lost() {
    let rules = Config::new().probe_lease(Duration::from_millis(100));
    if let Some(part) = part() {
        let breaker = Breaker::shared(wide(Shared::map(&part[0])), rules, BootClock);
        let _probe = breaker.acquire().expect("a slot is free");
        // Without dropping anything.
        say(&[1]);
    }
    let shared = Shared::new("lost");
    let breaker = Breaker::shared(wide(Shared::map(&shared.path)), rules, BootClock);
    breaker.trip();
    breaker.probe_now();
    heard(other_process(
        "the_probe_of_a_process_that_died_is_taken_for_lost",
        shared.part(),
    ));
    let mut rejections = 0;
    let probe = loop {
        match breaker.acquire() {
            Ok(permit) => break permit,
            Err(rejected) => {
                assert_eq!(rejected.state(), State::HalfOpen);
                rejections += 1;
                assert!(rejections < 1_000, "never admitted again");
                thread::sleep(rejected.retry_in().unwrap());
            }
        }
    };
    assert_eq!(breaker.snapshot().lost_rounds(), 1);
    let closed = probe.success().expect("that closes");
    assert_eq!(closed.cause, Cause::ProbesSucceeded);
}
