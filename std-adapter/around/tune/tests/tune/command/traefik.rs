// SPDX-License-Identifier: MIT OR Apache-2.0
//! A verdict from Traefik's log, without an option.

use super::{error, text, tune};

/// A second of ten calls of 1 to 4 ms, as JSON; some of them fail as fast.
fn second(second: u32, is_bad: bool) -> String {
    let line = |call: u32| {
        let (status, took) = (if is_bad { 502 } else { 200 }, 1_000_000 + call * 300_000);
        format!(
            r#"{{"ClientHost":"172.19.0.1","DownstreamStatus":{status},"Duration":{},"OriginDuration":{took},"OriginStatus":{status},"Overhead":96291,"RequestHost":"shop.example","RetryAttempts":0,"ServiceAddr":"10.0.1.12:80","ServiceName":"shop@docker","StartUTC":"2026-08-25T17:{:02}:{:02}.{call}00072471Z","level":"info","time":"2026-08-25T17:44:29Z"}}"#,
            took + 96_291,
            second / 60,
            second % 60
        ) + "\n"
    };
    (0..10).map(line).collect()
}

#[test]
fn a_fast_service_behind_traefik_gets_a_verdict_by_its_real_durations() {
    let healthy: String = (0..600).map(|it| second(it, false)).collect();
    let output = tune(&["-", "--tries", "20"], &healthy);
    let (out, err) = (text(&output), error(&output));
    assert_eq!(output.status.code(), Some(3), "{out}{err}");
    assert!(out.contains("6,000 calls in 9 min 59 s"), "{out}{err}");
    assert!(!out.contains("skipped"), "{out}{err}");

    let three: String = (0..600).map(|it| second(it, it % 200 >= 180)).collect();
    let output = tune(&["-", "--tries", "50"], &three);
    let (out, err) = (text(&output), error(&output));
    assert_eq!(output.status.code(), Some(0), "{out}{err}");
    assert!(out.contains("3 incidents"), "{out}{err}");
    // Longer ones would be shown in minutes.
    assert!(out.contains("999 of 1,000 3.7 ms"), "{out}{err}");
}
