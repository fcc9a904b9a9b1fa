// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parent, and its workers.

use std::error::Error;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};
use std::{env, process, thread};

use atomic_breaker_mapped::{self as mapped, AnyBreaker, BootClock, Breaker, Config};

type Failure = Box<dyn Error>;

const WORKERS: usize = 4;
const DOWN: Duration = Duration::from_millis(1_500);
const RULES: Config = Config::new()
    .consecutive_failures(5)
    .open_for(Duration::from_millis(100))
    .probe_lease(Duration::from_millis(200));

/// The directory of the example's files.
struct Place(PathBuf);

impl Place {
    fn breaker(&self) -> PathBuf {
        self.0.join("database")
    }

    /// The database is down as long as this file exists.
    fn down(&self) -> PathBuf {
        self.0.join("down")
    }

    /// A byte for each call that failed at the database.
    fn wasted(&self) -> PathBuf {
        self.0.join("wasted")
    }
}

pub(crate) fn main() -> Result<(), Failure> {
    let mut arguments = env::args().skip(1);
    if let (Some(kind), Some(place)) = (arguments.next(), arguments.next()) {
        let place = Place(place.into());
        return match kind.as_str() {
            "shared" => work(&mapped::open(place.breaker(), RULES)?, &place),
            _ => work(&Breaker::new(RULES, BootClock), &place),
        };
    }
    for kind in ["own", "shared"] {
        let place = Place(env::temp_dir().join(format!("prefork-{}-{kind}", process::id())));
        fs::create_dir(&place.0)?;
        let outcome = outage(kind, &place);
        fs::remove_dir_all(&place.0)?;
        outcome?;
    }
    Ok(())
}

/// Serves requests until the parent ends it, or removes the directory.
fn work(breaker: &impl AnyBreaker, place: &Place) -> Result<(), Failure> {
    let mut wasted = OpenOptions::new().append(true).open(place.wasted())?;
    while place.0.exists() {
        let _ = breaker.as_breaker().call(|| query(place, &mut wasted));
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

fn query(place: &Place, wasted: &mut File) -> Result<(), Failure> {
    thread::sleep(Duration::from_millis(2));
    if !place.down().exists() {
        return Ok(());
    }
    wasted.write_all(b".")?;
    Err("the database is down".into())
}

fn worker(kind: &str, place: &Path) -> Result<Child, Failure> {
    let program = env::current_exe()?;
    Ok(Command::new(program).arg(kind).arg(place).spawn()?)
}

/// The database goes down, workers are killed meanwhile, and it comes back.
fn outage(kind: &str, place: &Place) -> Result<(), Failure> {
    File::create(place.wasted())?;
    let mut workers = Vec::new();
    for _ in 0..WORKERS {
        workers.push(worker(kind, &place.0)?);
    }
    thread::sleep(Duration::from_millis(200));
    File::create(place.down())?;
    let (begun, mut kills) = (Instant::now(), 0);
    while begun.elapsed() < DOWN {
        thread::sleep(Duration::from_millis(150));
        let next = kills % WORKERS;
        workers[next].kill()?;
        workers[next].wait()?;
        workers[next] = worker(kind, &place.0)?;
        kills += 1;
    }
    let wasted = fs::metadata(place.wasted())?.len();
    println!(
        "{kind:>6} breaker: {wasted} calls to a database that was down; {kills} workers killed meanwhile"
    );
    fs::remove_file(place.down())?;
    thread::sleep(Duration::from_millis(400));
    for worker in &mut workers {
        worker.kill()?;
        worker.wait()?;
    }
    if kind == "shared" {
        println!(
            "       and after it: {}",
            mapped::open(place.breaker(), RULES)?.state()
        );
    }
    Ok(())
}
