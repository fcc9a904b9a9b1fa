// SPDX-License-Identifier: MIT OR Apache-2.0
//! The output of the command: printed, written and drawn.

use super::{error, folder, log, text, tune};
use serde_json::Value;
use std::fs;

#[test]
fn the_command_reads_searches_prints_writes_and_draws() {
    let folder = folder("whole");
    let path = |name: &str| folder.join(name).display().to_string();
    fs::write(
        path("today.toml"),
        "consecutive_failures = 20\nopen_for_ms = 10000\n",
    )
    .unwrap();
    let output = tune(
        &[
            "-",
            "--tries",
            "100",
            "--today",
            &path("today.toml"),
            "--json",
            &path("out.json"),
            "--picture",
            &path("out.svg"),
        ],
        &log(),
    );
    let text = text(&output);
    assert_eq!(output.status.code(), Some(0), "{}", error(&output));
    for words in [
        "-: 30,000 calls in 19 min 59 s",
        "outcomes taken for failures: timeout (",
        "10 incidents:",
        "after 30.0 s: 150 of 150 calls failed within",
        "without a breaker",
        "today's rules",
        "The recommended settings save ",
        // 150 calls of 300 ms.
        "    costs 195 without a breaker, ",
        "On 3 incidents that the search did not know",
        "the better choice if it costs ",
        "Config::new().",
        "jitter_percent = 20",
        "What a replay cannot know",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    // What is printed to be pasted is what the file for machines has.
    let json: Value = serde_json::from_str(&fs::read_to_string(path("out.json")).unwrap()).unwrap();
    assert_eq!(json["tried"], 100);
    assert_eq!(json["time_limit_us"], 20_000);
    assert_eq!(json["incidents"].as_array().unwrap().len(), 10);
    assert!(json["saves"].as_f64() > Some(0.5) && json["is_better_than_none"] == true);
    assert!(json["recommended"]["cost"].as_f64() < json["today"]["cost"].as_f64());
    assert_eq!(json["today"]["settings"]["open_for_ms"], 10_000);
    let open = format!(
        "open_for_ms = {}\n",
        json["recommended"]["settings"]["open_for_ms"]
    );
    assert!(
        text.contains(&open) || open == "open_for_ms = 5000\n",
        "{open}"
    );
    let picture = fs::read_to_string(path("out.svg")).unwrap();
    for words in [
        "<svg",
        "With today&apos;s rules",
        "With the recommended rules",
        "half-open",
    ] {
        assert!(
            picture.contains(words) || picture.contains(&words.replace("&apos;", "'")),
            "{words}"
        );
    }
    // The recommended rules alone, from their file.
    fs::write(path("rules.toml"), pasted(&text)).unwrap();
    let output = tune(&["-", "--only", &path("rules.toml")], &log());
    assert_eq!(output.status.code(), Some(0), "{}", error(&output));
    assert!(
        self::text(&output).contains("30,000 calls"),
        "{}",
        self::text(&output)
    );
}

/// The part of the output that is to be pasted.
fn pasted(text: &str) -> String {
    let rules = text
        .lines()
        .skip_while(|line| !line.starts_with("Config::new()"))
        .skip_while(|line| !line.is_empty());
    let rules = rules.take_while(|line| !line.contains("Others") && !line.contains("memory"));
    rules.collect::<Vec<_>>().join("\n")
}

#[test]
fn what_is_printed_to_paste_stays_beneath_the_breaker_that_it_is_pasted_to() {
    let json = folder("pasted").join("out.json");
    // Half of the calls fail by chance: better rules than a row of failures are tables.
    let mut random = fastrand::Rng::with_seed(2);
    let log: String = log()
        .lines()
        .map(|line| {
            if line.contains("timeout") && random.bool() {
                line.replace("timeout", "ok") + "\n"
            } else {
                line.to_owned() + "\n"
            }
        })
        .collect();
    let json_path = json.display().to_string();
    let options = ["-", "--tries", "200", "--healthy-rejected", "0.1"];
    let output = tune(&[&options[..], &["--json", &json_path]].concat(), &log);
    let text = text(&output);
    assert_eq!(output.status.code(), Some(0), "{}", error(&output));
    let file = format!("[database]\n{}\n", pasted(&text));
    let file: toml::Table = file.parse().unwrap();
    assert_eq!(file.len(), 1, "{text}");
    let json: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let settings = &json["recommended"]["settings"];
    assert_eq!(&serde_json::to_value(&file["database"]).unwrap(), settings);
    let mut values = settings.as_object().unwrap().values();
    assert!(values.any(Value::is_object), "{text}");
}

#[test]
fn from_a_few_readable_lines_nothing_is_recommended() {
    // As of durations in nanoseconds that are read in milliseconds: only those of refused connections are short enough.
    let log: String = log()
        .lines()
        .map(|line| line.replace(",10,ok", ",10000000,ok") + "\n")
        .collect();
    let output = tune(&["-"], &log);
    assert_eq!(output.status.code(), Some(3));
    let text = text(&output);
    for words in [
        "of 30000 lines were skipped",
        "took longer than 71 minutes: is its unit another one?",
        "Nothing to recommend: most lines were skipped",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    let rules = folder("unread").join("rules.toml");
    fs::write(&rules, "open_for_ms = 500\n").unwrap();
    let output = tune(&["-", "--only", &rules.display().to_string()], &log);
    assert!(self::text(&output).ends_with("those that were read may differ from them\n"));
}

#[test]
fn an_outage_without_a_status_is_an_incident() {
    for none in ["0", "000", "-1"] {
        let log = log().replace("timeout", none);
        let output = tune(&["-", "--tries", "10"], &log);
        let text = text(&output);
        assert!(
            text.contains("\n10 incidents:") && !text.contains("skipped"),
            "{text}"
        );
    }
}

#[test]
fn a_log_without_an_incident_ends_with_three() {
    let log: String = log()
        .lines()
        .map(|line| line.replace("timeout", "ok") + "\n")
        .collect();
    let json = folder("nothing").join("out.json");
    let output = tune(&["-", "--json", &json.display().to_string()], &log);
    assert_eq!(output.status.code(), Some(3));
    assert!(!json.exists(), "a file of nothing");
    assert!(
        text(&output).contains("Nothing to recommend: no incident: none of 30000 calls failed"),
        "{}",
        text(&output)
    );
}

#[test]
fn bad_lines_are_shown_and_the_rest_counts() {
    let log = log().replacen("\n0,", "\nnever,", 1);
    let output = tune(&["-", "--tries", "10"], &log);
    assert_eq!(output.status.code(), Some(0));
    let text = text(&output);
    assert!(
        text.contains("1 of 30000 lines were skipped\n  line 2: its start is \"never\""),
        "{text}"
    );
}

#[test]
fn rejections_and_retries_of_the_log_are_told() {
    let log = log()
        .lines()
        .enumerate()
        .map(|(number, line)| match number {
            0 => format!("{line},attempt\n"),
            number if number % 100 == 0 => line.replace(",ok,", ",rejected,") + ",1\n",
            number if number % 50 == 1 => format!("{line},2\n"),
            _ => format!("{line},\n"),
        })
        .collect::<String>();
    let output = tune(&["-", "--tries", "3"], &log);
    let text = text(&output);
    assert!(
        text.contains("\n600 of them are retries of a request"),
        "{text}"
    );
    assert!(
        text.contains("of them were rejected when the log was written"),
        "{text}"
    );
}
