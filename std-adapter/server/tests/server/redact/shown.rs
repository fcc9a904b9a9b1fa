// SPDX-License-Identifier: MIT OR Apache-2.0
//! The words that are kept of a failure, and names from outside, have a limited length and a safe form.

use std::time::Duration;

use atomic_breaker_server::redact::{failure, printable, too_slow, without_secrets};
use atomic_breaker_server::{Config, Guard, LastFailure, Registry, Resource, breaker};

#[test]
fn of_a_failure_256_bytes_are_kept() {
    let cases = [
        ("x".repeat(256), "x".repeat(256)),
        ("x".repeat(257), "x".repeat(253) + "…"),
        ("é".repeat(129), "é".repeat(126) + "…"),
        ("x".repeat(254) + "\n", "x".repeat(254) + r"\n"),
        ("x".repeat(255) + "\n", "x".repeat(253) + "…"),
    ];
    for (text, kept) in cases {
        assert_eq!(*failure(&text).text, kept);
    }
}

#[test]
fn the_error_of_another_program_writes_no_lines_into_a_log() {
    const FORGED: &str = "refused\r\n2026-11-30 ERROR \u{1b}[31madmin logged in\u{202e}";
    const ESCAPED: &str = r"refused\r\n2026-11-30 ERROR \u{1b}[31madmin logged in\u{202e}";
    let server = Resource::new(breaker(Config::new().consecutive_failures(1)));
    let hosts = Registry::new(Config::new().consecutive_failures(1)).unwrap();
    let fails = || Err::<(), _>(FORGED);
    let _ = server.call(fails);
    let _ = hosts.of("a").call(fails);
    let rejections = [
        server.call(fails).unwrap_err().to_string(),
        hosts.of("a").call(fails).unwrap_err().to_string(),
        format!("{:?}", server.call(fails).unwrap_err()),
    ];
    for shown in rejections {
        assert!(!shown.contains(char::is_control), "{shown:?}");
        assert!(!shown.contains('\u{202e}'), "{shown:?}");
    }
    assert_eq!(&*failure(FORGED).text, ESCAPED);
    assert_eq!(&*LastFailure::now(FORGED).text, ESCAPED);
    let whole = "x".repeat(1_000);
    assert_eq!(*LastFailure::now(&*whole).text, whole);
}

#[test]
fn a_call_that_took_too_long_says_how_long_even_if_the_clock_wraps() {
    let limit = Duration::from_millis(50);
    assert_eq!(
        too_slow(100, 175, Some(limit)),
        "too slow: took 75ms, limit 50ms"
    );
    assert_eq!(too_slow(u32::MAX, 1_999, None), "too slow: took 2s");
}

#[test]
fn of_a_name_128_bytes_are_kept_and_no_escape_is_cut() {
    let x = |count| "x".repeat(count);
    let cases = [
        (x(128), x(128)),
        (x(129), x(125) + "…"),
        (x(126) + "\n", x(126) + r"\n"),
        (x(127) + "\n", x(125) + "…"),
        (x(124) + "éé", x(124) + "éé"),
        (x(124) + "ééx", x(124) + "…"),
    ];
    for (name, shown) in cases {
        assert_eq!(printable(&name), shown);
    }
}

#[test]
fn of_a_name_what_changes_how_others_are_shown_is_escaped() {
    // The first and the last of each range, and their neighbours.
    let hidden = "\0\u{1f}\u{7f}\u{9f}\u{ad}\u{61c}\u{180e}\u{200b}\u{200f}\u{2028}\u{202e}\
                  \u{2060}\u{206f}\u{feff}\u{fff9}\u{fffb}\u{e0000}\u{e007f}";
    for char in hidden.chars() {
        assert_eq!(printable(char), char.escape_default().to_string());
    }
    let shown = " ~\u{a0}\u{ac}\u{ae}\u{61b}\u{180f}\u{200a}\u{2010}\u{2027}\u{202f}\u{205f}\
                 \u{2070}\u{fefe}\u{fff8}\u{fffc}\u{dffff}\u{e0080}\\\"é…";
    for char in shown.chars() {
        assert_eq!(printable(char), char.to_string());
    }
}

#[test]
fn of_a_long_text_the_first_16_kib_are_read_up_to_a_line_or_word() {
    let half = 8 * 1024;
    let (line, word) = ("a".repeat(half), "b".repeat(4_000));
    let long = "c".repeat(2 * half);
    // A line that is too short is not worth the loss.
    let cases = [
        (long.clone(), long.clone()),
        (long.clone() + "d", long.clone()),
        (format!("{line}a\n{word} {long}"), format!("{line}a")),
        (format!("{line}\n{word} {long}"), format!("{line}\n{word}")),
        (format!("{line}{word} {long}"), format!("{line}{word}")),
    ];
    for (at, (text, left)) in cases.iter().enumerate() {
        assert!(without_secrets(text) == *left, "case {at}");
    }
}
