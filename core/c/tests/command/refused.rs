// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of the command about files that are wrong.

use atomic_breaker_c::generate::{self, generate};

#[test]
fn a_table_above_which_no_breaker_stands_is_refused_if_it_is_named_like_a_setting() {
    for name in atomic_breaker::config::SETTING_NAMES {
        let file = format!("[database]\nopen_for_ms = 500\n\n[{name}]\nmax_ms = 60000\n");
        let words =
            format!("[{name}] is a setting, not a breaker: write {name} = {{ .. }} in one line");
        let error = generate(&file).unwrap_err();
        assert!(error.contains(&words), "{error}");
        let error = generate::settings(&file, "database").unwrap_err();
        assert!(error.contains(&words), "{error}");
    }
    let beneath = "[database.exponential]\nfactor = 2\nmax_ms = 60000\n";
    let read = generate::settings(beneath, "database").unwrap();
    assert_eq!((read.growth_percent, read.max_open_ms), (200, 60_000));
}

/// A file, and what is said about it.
const WRONG: &[(&str, &str)] = &[
    ("", "no breaker in it: begin with [radio]"),
    ("probes = 1", "probes: settings belong to a breaker"),
    (
        "[radio]\nprobes = 0",
        "[radio]: with 0 probes an open breaker never closes: set at least 1",
    ),
    (
        "[radio]\nprobes = 16",
        "[radio]: a word holds at most 255 probes (15 in a 32-bit word): lower",
    ),
    (
        "[radio]\nprobse = 1",
        "[radio]: unknown field `probse`, expected one of",
    ),
    ("[radio]\nprobes = \"1\"", "[radio]: invalid type: string"),
    (
        "[radio]\nprobes = -1",
        "expected a whole number from 0 to 65535",
    ),
    (
        "[radio]\nexponential = { factor = 1.5, max_ms = 60000 }",
        "a factor of 1.5 is exponential_percent",
    ),
    (
        "[radio]\nconsecutive_failures = 3\nfailures_within = { failures = 2, window_ms = 1000 }",
        "[radio]: consecutive_failures and failures_within exclude each other: keep one",
    ),
    (
        "[radio]\nconsecutive_failures = 128\nlasting_ms = 1",
        "[radio]: with lasting a word counts at most 32767 failures in a row (127 in a 32-bit word): lower",
    ),
    (
        "[radio]\nlasting_ms = 1048577",
        "the longest time with this tick is 1048576 ms",
    ),
    (
        "[radio]\nfailures_within = { failures = 2, window_ms = 1000 }\nlasting_ms = 100",
        "set consecutive_failures of at least 1 with it, not failures_within",
    ),
    (
        "[radio]\nopen_for_ms = 1048577",
        "the longest time with this tick is 1048576 ms",
    ),
    (
        "[radio]\nopen_for_ms = 1048577\ntick_ms = 1",
        "the longest time with this tick is 16384 ms",
    ),
    (
        "[radio]\ntick_ms = 100",
        "[radio]: tick_ms: set a power of two from 1 to 65536",
    ),
    (
        "[radio]\ntick_ms = 131072",
        "[radio]: tick_ms: set a power of two from 1 to 65536",
    ),
    (
        "[radio]\ntick_ms = 0",
        "[radio]: tick_ms: set a power of two from 1 to 65536",
    ),
    (
        "[radio]\nretained = 1",
        "[radio]: retained: set true or false",
    ),
    (
        "[radio]\nfailure_ratio = { percent = 50 }",
        "[radio]: failure_ratio needs more memory",
    ),
    (
        "[radio]\ntally_only = true",
        "[radio]: tally_only needs more memory",
    ),
    (
        "[radio]\njitter_percent = 10",
        "[radio]: jitter without a seed is the same on every device",
    ),
    (
        "[radio]\nseed_from = \"id\"",
        "[radio]: seed_from has no effect without jitter_percent",
    ),
    (
        "[radio]\njitter_percent = 10\nseed = 1\nseed_from = \"id\"",
        "seed and seed_from: set one",
    ),
    (
        "[radio]\njitter_percent = 10\nseed_from = 7",
        "seed_from: set the name of a variable",
    ),
    (
        "[radio]\njitter_percent = 10\nseed_from = \"a b\"",
        "seed_from: \"a b\" cannot be a variable",
    ),
    ("[Radio]", "\"Radio\" cannot be a variable of C here"),
    ("[while]", "\"while\" cannot be a variable of C here"),
    ("[class]", "\"class\" cannot be a variable of C here"),
    (
        "[ab_radio]",
        "no ab, ab32 or ab64 before the first underscore",
    ),
    ("[\"radio; int x\"]", "cannot be a variable of C here"),
    ("[\"*/ #include <x>\"]", "cannot be a variable of C here"),
    ("[\"\"]", "cannot be a variable of C here"),
    (
        "[radio]\n[radio_state]",
        "radio_state would be a variable, and a function of [radio]",
    ),
    (
        "[radio]\njitter_percent = 1\nseed_from = \"modem\"\n[modem]",
        "seed_from = \"modem\" is a breaker: name another variable",
    ),
    ("[radio", "TOML parse error"),
    ("[radio]\n[radio]", "TOML parse error"),
];

#[test]
fn what_is_wrong_is_said_with_the_breaker_and_the_fix() {
    for (text, expected) in WRONG.iter().copied() {
        let error = generate(text).expect_err(text);
        assert!(error.contains(expected), "{text}\n{error}");
    }
    let long = format!("#{}", "x".repeat(1 << 20));
    assert_eq!(generate(&long).unwrap_err(), "it is longer than 1 MiB");
    let many: Vec<_> = (0..201).map(|n| format!("[b{n}]")).collect();
    assert!(
        generate(&many.join(
            "
"
        ))
        .unwrap_err()
        .contains("more than 200 breakers")
    );
}

/// Lists would leave their numbers out of the Rust that is made of them.
#[test]
fn a_list_is_not_a_setting_of_several_numbers() {
    for setting in [
        "failures_within",
        "exponential",
        "exponential_percent",
        "linear",
        "gradual_return",
    ] {
        let error = generate(&format!("[radio]\n{setting} = [10, 5000]")).unwrap_err();
        assert!(
            error.contains("expected a table of settings by name"),
            "{error}"
        );
    }
}

#[test]
fn names_of_c_and_of_the_library_are_no_breakers() {
    for name in [
        "ab",
        "ab32",
        "ab64",
        "ab32_radio",
        "ab64_radio",
        "concept",
        "requires",
        "wchar_t",
        "typeof",
        "typeof_unqual",
        "co_await",
        "consteval",
        "char8_t",
        "linux",
        "unix",
        "uint32_t",
        "size_t",
        "radio_t",
        "errno",
        "stdout",
        "memcpy",
        "static_assert",
        "thread_local",
        "and_eq",
    ] {
        let error = generate(&format!("[{name}]")).expect_err(name);
        assert!(
            error.contains("cannot be a variable of C here"),
            "{name}: {error}"
        );
        let seed = format!("[radio]\njitter_percent = 1\nseed_from = \"{name}\"");
        assert!(generate(&seed).is_err(), "{name}");
    }
    for name in ["ab3", "abs_sensor", "t", "linux_board", "radio_t1"] {
        generate(&format!("[{name}]")).expect(name);
    }
}

#[test]
fn what_is_refused_for_c_is_not_offered() {
    for (wrong, offered) in [
        ("probse = 1", "`gradual_return`"),
        (
            "failures_within = { failures = 2, window_ms = 1000 }\nlasting_ms = 100",
            "consecutive_failures",
        ),
    ] {
        let said = generate(&format!("[radio]\n{wrong}")).unwrap_err();
        assert!(said.contains(offered), "{said}");
        for refused in ["failure_ratio", "tally_only"] {
            assert!(!said.contains(refused), "{said}");
        }
    }
}
