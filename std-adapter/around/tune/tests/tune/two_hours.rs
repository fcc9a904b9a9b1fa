// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two hours of nginx's lines, and what the command makes of them for someone who runs it for the first time.

use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use std::process::Command;

const HOSTS: [&str; 2] = ["10.0.0.1:8080", "10.0.0.2:8080"];
/// The first host answers a third of its calls, late another third, and the rest not within its limit of five seconds.
const SICK: Range<u64> = 2_400..2_640;
/// The second one refuses connections.
const REFUSED: [Range<u64>; 2] = [4_500..4_590, 6_300..6_330];

/// Ten requests a second by turns, in the order in which nginx writes them: when they end.
fn two_hours(seed: u64) -> String {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut lines = Vec::new();
    for number in 0..72_000_u64 {
        let (host, began) = ((number % 2) as usize, number * 100 + random.u64(..100));
        let second = began / 1_000;
        let usual = 20 + random.u64(..80);
        let tries = if host == 0 && SICK.contains(&second) {
            match random.u32(..100) {
                0..35 => vec![(0, 504, 5_000)],
                35..65 => vec![(0, 200, 1_500 + random.u64(..3_000))],
                _ => vec![(0, 200, usual)],
            }
        } else if host == 1 && REFUSED.iter().any(|it| it.contains(&second)) {
            vec![(1, 502, 0), (0, 200, usual)]
        } else {
            let status = if random.u32(..1_000) == 0 { 500 } else { 200 };
            vec![(host, status, usual)]
        };
        let took: u64 = tries.iter().map(|(.., took)| took).sum();
        let list = |show: fn(&(usize, u32, u64)) -> String| {
            tries.iter().map(show).collect::<Vec<_>>().join(", ")
        };
        let seconds = |ms: u64| format!("{}.{:03}", ms / 1_000, ms % 1_000);
        let ended = began + took;
        lines.push((
            ended,
            format!(
                "msec={} request_time={} upstream={} status={} time={}\n",
                seconds(1_795_521_600_000 + ended),
                seconds(took),
                list(|(host, ..)| HOSTS[*host].to_owned()),
                list(|(_, status, _)| status.to_string()),
                list(|(.., took)| format!("{}.{:03}", took / 1_000, took % 1_000)),
            ),
        ));
    }
    lines.sort();
    lines.into_iter().map(|(_, line)| line).collect()
}

/// The output of the command, and the status it ends with.
fn tune(name: &str, log: &str, options: &[&str]) -> (String, Option<i32>) {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, log).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_atomic-breaker-tune"))
        .arg(&path)
        .args(["--tries", "100"])
        .args(options)
        .output()
        .unwrap();
    fs::remove_file(&path).unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    println!("{text}");
    (text, output.status.code())
}

fn seed() -> u64 {
    let seed = std::env::var("SEED").map_or_else(|_| fastrand::u64(..), |it| it.parse().unwrap());
    println!("SEED={seed}");
    seed
}

/// The figures of a row, without the commas within numbers.
fn row(text: &str, name: &str) -> Vec<String> {
    let line = text.lines().find(|line| line.starts_with(name)).unwrap();
    let cells = line[name.len()..].split("   ").map(str::trim);
    let cells = cells.filter(|cell| !cell.is_empty());
    cells.map(|cell| cell.replace(',', "")).collect()
}

#[test]
fn savings_of_a_breaker_are_told_apart_from_those_of_limits() {
    let (text, code) = tune("plain.log", &two_hours(seed()), &[]);
    assert_eq!(code, Some(0));
    for words in [
        ": 72,600 calls of 2 keys in 1 h 59 min",
        "3 incidents:",
        ", 10.0.0.1:8080\n    costs ",
        // How much it is worth, and of what.
        "The recommended settings save ",
        "in wasted calls, for ",
        // Most of the cost stays, and why; what to do instead.
        "They hardly help in the outage after ",
        "failed, and the others were answered: a breaker that opens rejects these, too.",
        "Time limit for a call: 200 ms.",
        "A time limit of 200 ms helps there: failed calls took 5.0 s on average",
        "--useful-within 200ms, and settings that open there may be worth it",
        // A reason for each of the others.
        "Others, if a healthy call that is rejected costs you more or less than 5 wasted ones",
        ", the better choice if it costs ",
    ] {
        assert!(text.contains(words), "{words}");
    }
    // It may begin with a failure of any other second before.
    let after = |minute: u32| text.contains(&format!("in the outage after {minute} min "));
    assert!(after(40) || after(39));
    let saved = text.split("settings save ").nth(1).unwrap();
    let saved: u32 = saved.split(' ').next().unwrap().parse().unwrap();
    assert!((3..35).contains(&saved), "{saved}");
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(115), "{widest:?}");
    // The outages that a breaker is for are not among those it hardly helps in.
    assert_eq!(text.matches("\nThey ").count(), 1);
}

#[test]
fn the_advised_time_limit_leads_to_settings_that_save_time() {
    let (text, code) = tune(
        "late.log",
        &two_hours(seed()),
        &["--useful-within", "500ms"],
    );
    assert_eq!(code, Some(0));
    assert!(!text.contains("in the outage after") && !text.contains("--useful-within"));
    let cost = |name: &str| row(&text, name).pop().unwrap().parse::<f64>().unwrap();
    assert!(cost("recommended") < 0.8 * cost("without a breaker"));
}

#[test]
fn settings_no_better_than_no_breaker_are_not_recommended() {
    // Only the outage of which a third of the calls fails, at once.
    let log: String = two_hours(seed())
        .lines()
        .filter(|line| !line.contains("status=502"))
        .map(|line| line.replace("time=5.000", "time=0.050") + "\n")
        .collect();
    let (text, code) = tune("none.log", &log, &[]);
    assert_eq!(code, Some(3));
    for words in [
        "1 incident:",
        "None of the settings is better than no breaker",
        "Retries with a budget help there",
    ] {
        assert!(text.contains(words), "{words}");
    }
    assert!(!text.contains("Config::new()") && !text.contains("recommended"));
}
