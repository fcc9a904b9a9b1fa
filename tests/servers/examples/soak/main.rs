// SPDX-License-Identifier: MIT OR Apache-2.0
//! Breakers of all kinds, guarding resources that fail and heal at random, in real time, for as long as asked:
//!
//! ```console
//! tests/soak           a minute
//! tests/soak 600       ten hours
//! ```
//!
//! While it runs, it checks that a resource which is well is served again, that one which is down is not hammered, that
//! no more probes are in flight than allowed, and that each part goes on; and that memory, open files and threads do not
//! grow after the first half. Prints a line every ten seconds, and exits with 1 if something broke.
//!
//! | module | what |
//! |---|---|
//! | `weather` | when a resource is up, and what is owed to its callers |
//! | `threads` | a breaker, a share of failures, and a registry with more keys than room, called by threads |
//! | `tasks` | layers with retries and time limits, whose callers leave; jobs of several steps |
//! | `processes` | a breaker in a file, called by processes that are killed |
//! | `process` | what the system says of this process |

#[cfg(target_os = "linux")]
mod process;
#[cfg(target_os = "linux")]
mod processes;
mod tasks;
mod threads;
mod weather;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use weather::Part;

/// Says when the parts are to end.
pub(crate) static IS_OVER: AtomicBool = AtomicBool::new(false);

const LINE: Duration = Duration::from_secs(10);

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    eprintln!("the soak reads /proc: run it on Linux");
    ExitCode::FAILURE
}

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [role, path] = &arguments[..] {
        if role == "child" {
            processes::child(path.as_ref());
            return ExitCode::SUCCESS;
        }
    }
    let minutes = match &arguments[..] {
        [] => Ok(1.0),
        [minutes] => minutes.parse().map_err(|_| minutes.clone()),
        _ => Err(arguments.join(" ")),
    };
    let minutes = minutes.ok().filter(|it: &f64| (0.1..=1e6).contains(it));
    let Some(minutes) = minutes else {
        eprintln!("how many minutes, from 0.1 to 1000000: tests/soak 60");
        return ExitCode::FAILURE;
    };
    let seed = std::env::var("BREAKER_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    println!("BREAKER_SEED={seed}, {minutes} minutes");
    soak(Duration::from_secs_f64(minutes * 60.0), seed)
}

#[cfg(target_os = "linux")]
fn soak(time: Duration, seed: u64) -> ExitCode {
    let (of_processes, killing) = processes::start(seed);
    let parts: Vec<Arc<Part>> = [threads::start(seed), tasks::start(seed), of_processes]
        .into_iter()
        .flatten()
        .collect();
    let began = Instant::now();
    let mut growth = process::Growth::new(time);
    let mut calls = vec![0; parts.len()];
    let mut lines = 0;
    while began.elapsed() < time && parts.iter().all(|part| part.what_broke().is_none()) {
        thread::sleep(Duration::from_millis(100));
        growth.look(began.elapsed());
        if began.elapsed() < LINE * (lines + 1) {
            continue;
        }
        lines += 1;
        print!("{:6.0} s", began.elapsed().as_secs_f64());
        for (part, before) in parts.iter().zip(&mut calls) {
            let made = part.made();
            if made == *before {
                part.broke(&format!("no call for {LINE:?}: a thread is stuck"));
            }
            print!("  {} {}", part.name, (made - *before) / LINE.as_secs());
            *before = made;
        }
        println!("  {}", process::Seen::now());
    }
    IS_OVER.store(true, Ordering::Relaxed);
    let _ = killing.join();
    let mut is_well = true;
    println!(
        "{:12} {:>12} {:>12} {:>8} {:>10} {:>10}",
        "part", "calls", "reached", "outages", "slowest", "most"
    );
    for part in &parts {
        println!("{part}");
        if let Some(what) = part.what_broke() {
            eprintln!("{}: {what}", part.name);
            is_well = false;
        }
    }
    match growth.judge() {
        Ok(what) => println!("{what}"),
        Err(what) => {
            eprintln!("{what}");
            is_well = false;
        }
    }
    if is_well {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
