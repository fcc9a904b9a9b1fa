// SPDX-License-Identifier: MIT OR Apache-2.0
//! One word, several processes, and the clocks that read the same in all of them.

use std::fs::{self, OpenOptions};
use std::path::Path;
use std::thread;
use std::time::Duration;

use atomic_breaker_mapped::word::{AtomicU32, NativeWord};
use atomic_breaker_mapped::{
    BootClock, Breaker, Clock, CoarseClock, Config, SharedClock, State, Wait, open,
};
use memmap2::MmapRaw;

use super::support::{Dir, heard, other, part, say};

const HOUR: Duration = Duration::from_secs(3_600);

fn assert_reads_alike(clock: impl SharedClock, test: &str) {
    if part().is_some() {
        say(&clock.now_ms().to_string());
    }
    let before = clock.now_ms();
    let there: u32 = heard(other(test, &["read"])).parse().unwrap();
    let after = clock.now_ms();
    assert!(
        there.wrapping_sub(before) <= after.wrapping_sub(before),
        "read {there} between {before} and {after}"
    );
}

#[test]
fn another_process_reads_the_same_time_from_the_boot_clock() {
    let test = "clocks::another_process_reads_the_same_time_from_the_boot_clock";
    assert_reads_alike(BootClock, test);
}

#[test]
fn another_process_reads_the_same_time_from_the_coarse_clock() {
    let test = "clocks::another_process_reads_the_same_time_from_the_coarse_clock";
    assert_reads_alike(CoarseClock, test);
}

/// A fleet whose processes all draw the same numbers returns in lockstep.
#[test]
fn two_processes_draw_different_random_numbers() {
    let test = "clocks::two_processes_draw_different_random_numbers";
    if part().is_some() {
        say(&format!("{:?}", [(); 16].map(|()| BootClock.random())));
    }
    let [one, two] = [(); 2].map(|()| heard(other(test, &["draw"])));
    let alike = one.split(", ").zip(two.split(", ")).filter(|(a, b)| a == b);
    assert!(alike.count() <= 1, "{one} {two}");
}

#[test]
fn an_open_word_is_open_in_another_process_for_the_remaining_time() {
    let test = "clocks::an_open_word_is_open_in_another_process_for_the_remaining_time";
    let rules = Config::new().open_for(HOUR);
    if let Some(part) = part() {
        let word = NativeWord::new(part[0].parse().unwrap());
        let breaker = Breaker::shared(&word, rules, BootClock);
        let rejected = breaker.acquire().expect_err("it is open for an hour");
        let Wait::For(left) = rejected.wait() else {
            panic!("{rejected}");
        };
        say(&left.as_millis().to_string());
    }
    let breaker = Breaker::shared(NativeWord::new(0), rules, BootClock);
    let opened = breaker.trip().expect("it was closed").at_ms;
    let child = other(test, &[&breaker.to_bits().to_string()]);
    let left = Duration::from_millis(heard(child).parse().unwrap());
    let passed = Duration::from_millis(BootClock.now_ms().wrapping_sub(opened).into());
    assert!(left <= HOUR, "{left:?} left");
    assert!(left + passed >= HOUR, "{left:?} left after {passed:?}");
}

/// Waits as long as the breaker says, until a probe is admitted here or elsewhere. Returns the time of that, or 0.
fn wait_for_the_probe(path: &str, rules: Config) -> u32 {
    let breaker = open(path, rules).unwrap();
    loop {
        match breaker.acquire() {
            Ok(permit) => {
                assert!(permit.is_probe());
                // In flight until its lease ends: this process ends with it.
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
    let test = "clocks::one_of_many_processes_is_the_probe_and_not_before_the_deadline";
    let rules = Config::new()
        .open_for(Duration::from_millis(300))
        .probe_lease(HOUR);
    if let Some(part) = part() {
        say(&wait_for_the_probe(&part[0], rules).to_string());
    }
    let dir = Dir::new();
    let path = dir.file("database");
    let breaker = open(&path, rules).unwrap();
    let opened = breaker.trip().expect("it was closed").at_ms;
    let children = [(); 4].map(|()| other(test, &[path.to_str().unwrap()]));
    let said = children.map(|child| heard(child).parse::<u32>().unwrap());
    let probes: Vec<_> = said.iter().filter(|at| **at != 0).collect();
    assert_eq!(probes.len(), 1, "{said:?}");
    let waited = probes[0].wrapping_sub(opened);
    assert!(waited >= 300, "opened after {waited} ms");
    let snapshot = breaker.snapshot();
    assert_eq!(snapshot.state(), State::HalfOpen, "{snapshot:?}");
    assert_eq!(snapshot.probes_in_flight(), 1, "{snapshot:?}");
}

/// Memory that the application owns, and a word of half the size.
fn narrow(path: &Path) -> &'static AtomicU32 {
    let file = OpenOptions::new().read(true).write(true).open(path);
    let map = MmapRaw::map_raw(&file.unwrap()).unwrap();
    let word: *const AtomicU32 = map.as_ptr().cast();
    // Mapped for as long as the process lives.
    std::mem::forget(map);
    // SAFETY: a mapped page is aligned and larger than that, and only used as an atomic.
    unsafe { &*word }
}

#[test]
fn failures_of_all_processes_add_up_in_a_32_bit_word() {
    let test = "clocks::failures_of_all_processes_add_up_in_a_32_bit_word";
    let rules = Config::new().consecutive_failures(8).open_for(HOUR / 10);
    if let Some(part) = part() {
        let breaker = Breaker::shared(narrow(Path::new(&part[0])), rules, BootClock);
        let tripped = (0..2).filter(|_| {
            let permit = breaker.acquire().expect("eight are needed");
            permit.failure().is_some()
        });
        say(&tripped.count().to_string());
    }
    let dir = Dir::new();
    let path = dir.file("word");
    fs::write(&path, [0; 4]).unwrap();
    let breaker = Breaker::shared(narrow(&path), rules, BootClock);
    let children = [(); 4].map(|()| other(test, &[path.to_str().unwrap()]));
    let trips = children.map(|child| heard(child).parse::<u32>().unwrap());
    assert_eq!(trips.iter().sum::<u32>(), 1, "only the last failure trips");
    assert_eq!(breaker.state(), State::Open);
}
