// SPDX-License-Identifier: MIT OR Apache-2.0
//! One process for each seed.

use std::collections::BTreeMap;
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use test_support::dice::Dice;
use tokio::runtime::Builder;

use crate::plan::SECOND;
use crate::trace;
use crate::week::week;
use crate::world::World;

/// The variable with the number of seeds.
const MANY: &str = "ATOMIC_BREAKER_DEPLOYMENT";
/// Repeats one; or so many, from this one on.
const SEED: &str = "ATOMIC_BREAKER_DEPLOYMENT_SEED";
/// Tells a process which one it is to simulate.
const OF_PROCESS: &str = "ATOMIC_BREAKER_DEPLOYMENT_OF_PROCESS";
/// The number of seeds unless it is set.
const USUAL: u64 = 3;
/// The longest real time of one. If it takes longer, it does not end.
const LIMIT: Duration = Duration::from_secs(120);

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().expect("a whole number"))
}

/// Different in each run, unless one is given.
fn seeds() -> Vec<u64> {
    if let Some(seed) = number(SEED) {
        let many = number(MANY).unwrap_or(1);
        return (seed..seed.saturating_add(many)).collect();
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let mut base = Dice::new(now.map_or(0, |now| now.as_nanos() as u64));
    let many = number(MANY).unwrap_or(USUAL);
    (0..many).map(|_| base.next() >> 24).collect()
}

/// The output of a process: the sums of its figures, by name.
type Figures = BTreeMap<String, u64>;

fn figures(output: &Output) -> Option<Figures> {
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("figures: "))?;
    let figures = line.split_whitespace().filter_map(|figure| {
        let (name, value) = figure.split_once('=')?;
        Some((name.to_owned(), value.parse().ok()?))
    });
    output.status.success().then(|| figures.collect())
}

/// Simulates a seed in a process of its own.
fn run(seed: u64) -> Result<Figures, String> {
    let program = std::env::current_exe().expect("a test");
    let mut process = Command::new(program)
        .args(["--exact", "seeds::one_deployment", "--nocapture"])
        .env(OF_PROCESS, seed.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a process");
    let began = Instant::now();
    while process.try_wait().expect("a child").is_none() {
        if began.elapsed() > LIMIT {
            process.kill().expect("a child");
            break;
        }
        thread::sleep(Duration::from_millis(2));
    }
    let output = process.wait_with_output().expect("a child");
    figures(&output).ok_or_else(|| {
        let texts = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
        format!("{}\n{}\nto repeat it: {SEED}={seed} cargo test -p servers --test deployment -- --nocapture", texts[0], texts[1])
    })
}

/// The results of the seeds.
#[derive(Default)]
struct Results {
    sums: Figures,
    ended: u32,
    /// The first that broke, and after how many.
    broken: Option<(u32, String)>,
}

impl Results {
    fn add(&mut self, result: Result<Figures, String>) {
        self.ended += 1;
        match result {
            Ok(figures) => {
                for (name, value) in figures {
                    let is_longest = name.starts_with("slowest");
                    let sum = self.sums.entry(name).or_default();
                    *sum = if is_longest {
                        value.max(*sum)
                    } else {
                        sum.wrapping_add(value)
                    };
                }
            }
            Err(text) => {
                self.broken.get_or_insert((self.ended, text));
            }
        }
    }
}

#[test]
fn deployments_keep_their_promises() {
    if number(OF_PROCESS).is_some() {
        return;
    }
    let began = Instant::now();
    let (left, results) = (Mutex::new(seeds()), Mutex::<Results>::default());
    let work = || {
        while results.lock().unwrap().broken.is_none() {
            let Some(seed) = left.lock().unwrap().pop() else {
                return;
            };
            let result = run(seed);
            results.lock().unwrap().add(result);
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let Results {
        sums,
        ended,
        broken,
    } = results.into_inner().unwrap();
    println!(
        "figure: {ended} deployments in {:?}: {sums:?}",
        began.elapsed()
    );
    if let Some((after, text)) = broken {
        println!("{text}");
        let words = text.lines().find(|line| line.starts_with("BROKEN"));
        panic!("deployment {after}: {}", words.unwrap_or("it did not end"));
    }
}

#[test]
fn the_same_seed_has_the_same_history() {
    if number(OF_PROCESS).is_some() {
        return;
    }
    let seed = seeds()[0];
    let two = [(); 2].map(|()| run(seed).unwrap_or_else(|text| panic!("{text}")));
    assert_eq!(two[0], two[1], "seed {seed}");
}

/// The run of a process for one seed.
#[test]
fn one_deployment() {
    let Some(seed) = number(OF_PROCESS) else {
        return;
    };
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build();
    fastrand::seed(seed);
    runtime.expect("a runtime").block_on(async {
        trace::begin(seed);
        let world = World::new(seed);
        let figures = week(world).await;
        let (events, hash) = trace::sum();
        let calls = *world.seen.lock().unwrap();
        let days = trace::time().as_secs() / (SECOND.as_secs() * 86_400);
        let [shops, webs] = calls.slowest.map(|time| time.as_secs());
        println!(
            "figures: hash={hash} events={events} days={days} incidents={} faults={} served={} failed={} rejected={} left={} sent={} reached={} jobs={} steps={} told={} sole_probes={} slowest_shops={shops} slowest_webs={webs}",
            figures.incidents, figures.faults, calls.served, calls.failed, calls.rejected, calls.left,
            world.net.sent(), world.hosts.iter().map(crate::host::Host::reached).sum::<u64>(),
            world.promises.acknowledged(), world.book.steps(), world.promises.told(), world.probing.checked(),
        );
    });
}
