// SPDX-License-Identifier: MIT OR Apache-2.0
//! Are predictions true? The calls of a run without a breaker are replayed before four breakers, and compared with runs of
//! those four that play the same scene at the same time.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

use atomic_breaker::{Failure, LastCalls};
use atomic_breaker_http::{Config, Ratio};
use atomic_breaker_server::{SlidingRatio, StdClock};
use atomic_breaker_tune::{CallLog, Completion, Figures, LoggedCall, Replay};

use super::guard::{Guard, Guarding, USEFUL};
use super::load::{self, Outcome, PACE, Run, THREADS};
use super::scenario::OUTAGE;
use super::scene::ms;

/// The argument that asks for it.
pub(crate) const ARGUMENT: &str = "predict";

/// The tolerance of a prediction: in percent of what a real run shows, or in calls where these are few.
const TOLERANCE: (f64, u64) = (15.0, 5);

/// A base whose open time is not spread. Short ones below: whether a probe comes just before the recovery or just after it is
/// luck, and costs an open time.
const PLAIN: Config = Config::new().slow_call(USEFUL).probe_lease(ms(1_000));

const HALF: Ratio = Ratio::percent(50);

/// The four that were not recorded.
fn guards() -> [(&'static str, Config, Box<dyn Guarding>); 4] {
    let in_a_row = PLAIN.consecutive_failures(20).open_for(ms(400));
    let within = PLAIN
        .failures_within(10, ms(500))
        .open_for(ms(250))
        .linear(ms(250), ms(1_000));
    let of_last = PLAIN
        .tally_only()
        .failure_ratio(HALF.of_last(40).min_calls(20))
        .open_for(ms(200));
    let over_time = PLAIN
        .tally_only()
        .failure_ratio(HALF.within(ms(800)).min_calls(20))
        .open_for(ms(250));
    [
        ("20 in a row", in_a_row, Box::new(Guard::new(in_a_row))),
        ("10 within 0.5 s", within, Box::new(Guard::new(within))),
        (
            "half of the last 40",
            of_last,
            Box::new(Guard::with_tally(of_last, LastCalls::<_>::new())),
        ),
        (
            "half within 0.8 s",
            over_time,
            Box::new(Guard::with_tally(over_time, SlidingRatio::new(StdClock))),
        ),
    ]
}

/// The view of the callers, as a log.
fn log_of(run: &Run) -> CallLog {
    let calls = run.calls.iter().map(|call| {
        let outcome = match call.outcome {
            Outcome::Answered => atomic_breaker::Outcome::Success,
            Outcome::Failed | Outcome::Rejected => Failure::new().into(),
        };
        let start_us = call.began.as_micros() as u64;
        let replayed = LoggedCall::new(start_us, Completion::new(outcome, call.took));
        if call.outcome == Outcome::Rejected {
            replayed.rejected()
        } else {
            replayed
        }
    });
    CallLog::new(calls.collect(), Vec::new())
}

/// The same as a file for `atomic-breaker-tune`.
pub(crate) fn write(run: &Run, path: &Path) -> io::Result<()> {
    let mut csv = String::from("start_ms,duration_ms,outcome\n");
    for call in &run.calls {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let outcome = match call.outcome {
            Outcome::Answered => "ok",
            Outcome::Failed => "failed",
            Outcome::Rejected => "rejected",
        };
        let _ = writeln!(csv, "{:.3},{:.3},{outcome}", ms(call.began), ms(call.took));
    }
    fs::write(path, csv)
}

/// Calls that were wasted, and calls that were rejected.
fn measured(run: &Run) -> (u64, u64) {
    let wasted = |call: &&load::Call| {
        call.outcome == Outcome::Failed || call.outcome == Outcome::Answered && call.took > USEFUL
    };
    let rejected = |call: &&load::Call| call.outcome == Outcome::Rejected;
    let count = |is: &dyn Fn(&&load::Call) -> bool| run.calls.iter().filter(is).count() as u64;
    (count(&wasted), count(&rejected))
}

fn predicted(config: &Config, log: &CallLog) -> Result<Figures, Box<dyn Error>> {
    let replay = Replay::new().useful_within(USEFUL).callers(THREADS, PACE);
    Ok(replay.run(config, log)?.figures)
}

/// In percent of what was measured.
#[expect(clippy::cast_precision_loss, reason = "counts of calls are small")]
fn off_by(measured: u64, predicted: u64) -> f64 {
    100.0 * (predicted as f64 - measured as f64) / measured as f64
}

fn is_off(measured: u64, predicted: u64) -> bool {
    let (percent, calls) = TOLERANCE;
    off_by(measured, predicted).abs() > percent && measured.abs_diff(predicted) > calls
}

/// Plays all five, and fails if a prediction is off by more than the tolerance.
pub(crate) fn play() -> Result<(), Box<dyn Error>> {
    let guards = guards();
    let (recorded, runs) = thread::scope(|scope| {
        let recorded = scope.spawn(|| load::run("without a breaker", &OUTAGE, None));
        let runs = guards
            .each_ref()
            .map(|(name, _, guard)| scope.spawn(|| load::run(name, &OUTAGE, Some(&**guard))));
        (recorded.join(), runs.map(thread::ScopedJoinHandle::join))
    });
    let panicked = |_| "a run panicked";
    let log = log_of(&recorded.map_err(panicked)??);
    println!(
        "\n{:<22}{:>10}{:>10}{:>8}{:>12}{:>10}{:>8}",
        "rules", "wasted", "predicted", "off", "rejected", "predicted", "off"
    );
    let mut misses = Vec::new();
    for ((name, config, _), run) in guards.iter().zip(runs) {
        let (wasted, rejected) = measured(&run.map_err(panicked)??);
        let figures = predicted(config, &log)?;
        let [wasted_off, rejected_off] = [(wasted, figures.wasted), (rejected, figures.rejected)]
            .map(|(real, predicted)| off_by(real, predicted));
        if is_off(wasted, figures.wasted) || is_off(rejected, figures.rejected) {
            misses.push(*name);
        }
        println!(
            "{name:<22}{wasted:>10}{:>10}{wasted_off:>6.1} %{rejected:>12}{:>10}{rejected_off:>6.1} %",
            figures.wasted, figures.rejected
        );
    }
    if misses.is_empty() {
        Ok(())
    } else {
        let (percent, calls) = TOLERANCE;
        let misses = misses.join(", ");
        Err(format!("off by more than {percent} % and {calls} calls: {misses}").into())
    }
}
