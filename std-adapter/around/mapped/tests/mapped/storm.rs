// SPDX-License-Identifier: MIT OR Apache-2.0
//! Workers on one word that are killed at any moment.
//!
//! A few seconds; `MAPPED_STORM_SECONDS=60 cargo test -p atomic-breaker-mapped storm` for a minute.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use atomic_breaker_mapped as mapped;
use atomic_breaker_mapped::{BootClock, Breaker, Config};

use super::storm_log::{Log, longest_pause, lost, now, probes, together};
use super::support::{Dice, Dir, other, part, wait_until};

const WORKERS: usize = 8;
const LEASE: Duration = Duration::from_millis(40);
const RULES: Config = Config::new()
    .consecutive_failures(3)
    .open_for(Duration::from_millis(4))
    .probe_lease(LEASE)
    .cancel_limit(Duration::from_secs(1));
/// A lease doubles at most four times, and the machine may be busy.
const LONGEST: Duration = Duration::from_millis(40 * 16 + 2_000);

/// Makes calls that often fail, until the process is killed.
fn work(part: &[String]) -> ! {
    let breaker = mapped::open(&part[0], RULES).unwrap();
    let mut log = Log::append(Path::new(&part[1]));
    let mut dice = Dice::new();
    loop {
        let asked = now();
        match breaker.acquire() {
            Ok(permit) if permit.is_probe() => {
                log.granted(asked, now());
                thread::sleep(Duration::from_micros(
                    [50, 500, 3_000, 15_000][dice.below(4) as usize],
                ));
                log.reports();
                match dice.below(4) {
                    0 => drop(permit),
                    1 => drop(permit.failure()),
                    _ => drop(permit.success()),
                }
                log.reported();
            }
            Ok(permit) if dice.below(3) > 0 => drop(permit.failure()),
            Ok(permit) => drop(permit.success()),
            Err(rejected) => {
                let wait = rejected.retry_in().unwrap();
                assert!(wait <= LONGEST, "{rejected}");
                thread::sleep(wait.min(Duration::from_millis(2)));
            }
        }
    }
}

/// The process whose probe was granted last.
fn last_granted(log: &Path) -> Option<u32> {
    let text = fs::read_to_string(log).unwrap();
    let line = text.lines().rev().find(|line| line.contains("granted"))?;
    line.split(' ').next()?.parse().ok()
}

#[test]
fn workers_that_are_killed_leave_one_probe_at_a_time_and_never_a_stuck_breaker() {
    let test = "storm::workers_that_are_killed_leave_one_probe_at_a_time_and_never_a_stuck_breaker";
    if let Some(part) = part() {
        work(&part);
    }
    let seconds = env::var("MAPPED_STORM_SECONDS").map_or(3, |s| s.parse().unwrap());
    let dir = Dir::new();
    let (path, log) = (dir.file("database"), dir.file("log"));
    let parts = [path.to_str().unwrap(), log.to_str().unwrap()];
    let mut workers: Vec<Child> = (0..WORKERS).map(|_| other(test, &parts)).collect();
    wait_until("probed", || log.exists() && last_granted(&log).is_some());
    let mut dice = Dice::new();
    let (begun, mut kills) = (Instant::now(), 0);
    while begun.elapsed() < Duration::from_secs(seconds) {
        thread::sleep(Duration::from_millis(10 + dice.below(40)));
        // Every second time the victim is usually the process with the probe.
        let holder = last_granted(&log).filter(|_| kills % 2 == 0);
        let found = workers
            .iter()
            .position(|worker| Some(worker.id()) == holder);
        let victim = found.unwrap_or(dice.below(WORKERS as u64) as usize);
        assert!(
            workers[victim].try_wait().unwrap().is_none(),
            "a worker ended by itself"
        );
        workers[victim].kill().unwrap();
        workers[victim].wait().unwrap();
        workers[victim] = other(test, &parts);
        kills += 1;
    }
    for worker in &mut workers {
        assert!(
            worker.try_wait().unwrap().is_none(),
            "a worker ended by itself"
        );
        worker.kill().unwrap();
        worker.wait().unwrap();
    }
    let probes = probes(&fs::read_to_string(&log).unwrap());
    println!(
        "{kills} killed, {} probes, {} of them lost, at most {:?} between two",
        probes.len(),
        lost(&probes),
        longest_pause(&probes)
    );
    assert!(probes.len() > 20, "{} probes", probes.len());
    assert!(lost(&probes) > 0);
    let together = together(&probes, LEASE);
    assert!(together.is_empty(), "{together:#?}");
    assert!(
        longest_pause(&probes) < LONGEST,
        "{:?}",
        longest_pause(&probes)
    );
    comes_back(&mapped::open(&path, RULES).unwrap());
}

/// It closes once its calls succeed.
fn comes_back(breaker: &Breaker<BootClock, mapped::MappedWord>) {
    assert_eq!(breaker.check(), Ok(()));
    wait_until("closed", || match breaker.acquire() {
        Ok(permit) => {
            let is_closed = !permit.is_probe();
            permit.success();
            is_closed
        }
        Err(_) => false,
    });
}
