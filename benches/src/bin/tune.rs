// SPDX-License-Identifier: MIT OR Apache-2.0
//! Speed and memory of replays, and of a search for settings.
//!
//! ```console
//! cargo run --release -p benches --bin tune
//! ```
//!
//! Prints Markdown; takes about a minute. Claims are held against that very run; ends with 1 and says what was missed if
//! one does not hold.

use std::fs;
use std::hint::black_box;
use std::io;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use atomic_breaker_tune::{
    BreakerScope, CallLog, CallRecorder, Completion, Config, Failure, LoggedCall, NoRecommendation,
    Outcome, Ratio, Recommend, RecordedOutcome, Replay,
};
use benches::claim::{self, Claim};
use benches::head;
use benches::table::Table;

const CALLS: u32 = 1_000_000;
const ROUNDS: usize = 11;
const RULE_SETS: usize = 1_000;

/// 400 calls a second for 42 minutes, of which 8 to 50 ms long ones overlap; every four minutes the resource fails for
/// half a minute, and one call in 200 fails at any time.
fn calls() -> Vec<LoggedCall> {
    let mut random = fastrand::Rng::with_seed(1);
    let call = |number: u64| {
        let start_us = number * 2_500;
        let is_down = (start_us / 1_000_000) % 240 >= 210;
        let outcome = if is_down || random.u32(..200) == 0 {
            Failure::new().into()
        } else {
            Outcome::Success
        };
        let duration = Duration::from_micros(8_000 + random.u64(..42_000));
        LoggedCall::new(start_us, Completion::new(outcome, duration)).key(random.u32(..50))
    };
    (0..u64::from(CALLS)).map(call).collect()
}

fn rules() -> [(&'static str, Config); 3] {
    let half = Ratio::percent(50).min_calls(20);
    [
        ("five in a row", Config::new()),
        (
            "half of the last 20",
            Config::new().failure_ratio(half.of_last(20)),
        ),
        (
            "half within 10 s",
            Config::new().failure_ratio(half.within(Duration::from_secs(10))),
        ),
    ]
}

const BREAKERS: [(&str, BreakerScope); 2] = [
    ("one breaker", BreakerScope::Single),
    ("50 keys", BreakerScope::PerKey { capacity: 4_096 }),
];

/// Million calls a second of each case: the median of interleaved rounds.
fn speeds(log: &CallLog) -> Vec<(String, f64)> {
    let cases: Vec<_> = rules()
        .into_iter()
        .flat_map(|(rule, config)| {
            BREAKERS.map(|(name, breakers)| (format!("{rule}, {name}"), config, breakers))
        })
        .collect();
    let mut rounds = vec![Vec::new(); cases.len()];
    for _ in 0..ROUNDS {
        for ((_, config, breakers), round) in cases.iter().zip(&mut rounds) {
            let begin = Instant::now();
            let replayed = Replay::new().breakers(*breakers).run(config, log);
            black_box(replayed.expect("valid rules"));
            round.push(f64::from(CALLS) / begin.elapsed().as_secs_f64() / 1e6);
        }
    }
    let median = |mut round: Vec<f64>| {
        round.sort_by(f64::total_cmp);
        round[round.len() / 2]
    };
    let names = cases.into_iter().map(|(name, ..)| name);
    names.zip(rounds.into_iter().map(median)).collect()
}

/// Bytes a call that a log takes at the most, also while it is made; and what a run takes besides.
fn memory() -> (f64, u64) {
    let calls = calls();
    let mut log = None;
    let made = allocation_counter::measure(|| log = Some(CallLog::new(calls.clone(), Vec::new())));
    let log = log.expect("a log");
    let run = allocation_counter::measure(|| {
        let _ = black_box(Replay::new().run(&Config::new(), &log));
    });
    (bytes(made.bytes_max) / f64::from(CALLS), run.bytes_max)
}

#[expect(clippy::cast_precision_loss, reason = "no machine has so much memory")]
fn bytes(bytes: u64) -> f64 {
    bytes as f64
}

/// Nanoseconds that a recorded call costs, its queue never full: the median of interleaved rounds.
fn recording() -> io::Result<f64> {
    const RECORDED: u32 = 100_000;
    let path = std::env::temp_dir().join(format!("recorded-{}.csv", std::process::id()));
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let recorder = CallRecorder::builder()
            .queue(RECORDED as usize)
            .start(&path)?;
        let begin = Instant::now();
        for _ in 0..RECORDED {
            recorder
                .begin(black_box("host-1.example"))
                .end(RecordedOutcome::Ok);
        }
        rounds.push(begin.elapsed().as_secs_f64() * 1e9 / f64::from(RECORDED));
        let summary = recorder.finish();
        fs::remove_file(&path)?;
        if summary.written != u64::from(RECORDED) {
            return Err(io::Error::other(format!("{summary:?}")));
        }
    }
    rounds.sort_by(f64::total_cmp);
    Ok(rounds[ROUNDS / 2])
}

/// Seconds that a search takes.
fn search(log: &mut CallLog) -> Result<f64, NoRecommendation> {
    let begin = Instant::now();
    let recommend = Recommend::new().tries(RULE_SETS);
    black_box(recommend.run(log)?);
    Ok(begin.elapsed().as_secs_f64())
}

fn main() -> ExitCode {
    let mut log = CallLog::new(calls(), Vec::new());
    let speeds = speeds(&log);
    head::print("Replays, and a search for settings", "tune");
    println!("Replays of {CALLS} calls: median of {ROUNDS} interleaved rounds.\n");
    let mut table = Table::new(["rules", "million calls a second"]);
    for (name, speed) in &speeds {
        table.row([name.as_str(), &format!("{speed:.1}")]);
    }
    println!("{table}");
    let speed = |name: &str| {
        let found = speeds.iter().find(|(case, _)| case == name);
        found.map_or(0.0, |(_, speed)| *speed)
    };
    let seconds = match search(&mut log) {
        Ok(seconds) => seconds,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let (per_call, run) = memory();
    println!("A run takes {run} bytes besides its log.\n");
    match recording() {
        Ok(ns) => {
            println!("A recorded call costs {ns:.0} ns, two readings of the clock among them.\n");
        }
        Err(error) => eprintln!("the recorder was not measured: {error}"),
    }
    let claims = [
        Claim::at_least(
            "five in a row, one breaker",
            10.0,
            speed("five in a row, one breaker"),
            "million calls a second and core",
        ),
        Claim::at_least(
            "half within 10 s, one breaker",
            3.0,
            speed("half within 10 s, one breaker"),
            "million calls a second and core",
        ),
        Claim::at_most(
            format!("{RULE_SETS} rule sets over {CALLS} calls"),
            60.0,
            seconds,
            "s on the cores of this machine",
        ),
        Claim::at_most("memory of a log", 24.0, per_call, "bytes a call"),
    ];
    println!("{}", claim::table(&claims));
    claim::verdict(&claims)
}
