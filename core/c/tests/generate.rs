// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the command makes of `breakers.toml`, and what it says about files that are wrong.

use atomic_breaker_c::generate::{self, Generated, generate};

fn made(text: &str) -> Generated {
    generate(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Every setting that there is.
const ALL: &str = r#"
[radio]
consecutive_failures = 3
lasting_ms = 250
slow_call_ms = 900
open_for_ms = 2_000
exponential = { factor = 2, max_ms = 60000 }
jitter_percent = 20
seed = 7
max_retry_after_ms = 120000
probes = 2
close_after = 3
probe_lease_ms = 10000
cancel_limit_ms = 100
gradual_return = { first_percent = 10, over_ms = 5000 }

[modem]
failures_within = { window_ms = 30000, failures = 5 }
linear = { step_ms = 1000, max_ms = 9000 }
retained = true

[sensor]
tick_ms = 1024
exponential_percent = { percent = 150, max_ms = 3600000 }
open_for_ms = 600000
jitter_percent = 100
seed_from = "device_id"
"#;

#[test]
fn every_setting_becomes_a_call_of_the_builder_with_its_numbers_in_order() {
    let rust = made(ALL).rust;
    for call in [
        ".consecutive_failures(3)",
        ".lasting(Duration::from_millis(250))",
        ".slow_call(Duration::from_millis(900))",
        ".open_for(Duration::from_millis(2000))",
        ".exponential(2, Duration::from_millis(60000))",
        ".jitter_percent(20)",
        ".seed(7)",
        ".max_retry_after(Duration::from_millis(120000))",
        ".probes(2)",
        ".close_after(3)",
        ".probe_lease(Duration::from_millis(10000))",
        ".cancel_limit(Duration::from_millis(100))",
        ".gradual_return(10, Duration::from_millis(5000))",
        ".failures_within(5, Duration::from_millis(30000))",
        ".linear(Duration::from_millis(1000), Duration::from_millis(9000))",
        ".exponential_percent(150, Duration::from_millis(3600000))",
    ] {
        assert_eq!(rust.matches(call).count(), 1, "{call}\n{rust}");
    }
    assert!(rust.contains("Ticks<AtomicU32, 10>") && rust.contains("Ticks<AtomicU32, 6>"));
    assert!(
        rust.contains("functions!(\"radio\" = Handle(1));"),
        "{rust}"
    );
    assert!(
        rust.contains("functions!(\"modem\" = Handle(0), retained in &WORD_0);"),
        "{rust}"
    );
}

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

#[test]
fn the_header_declares_what_the_program_defines_and_what_it_calls() {
    let header = made(ALL).header;
    for line in [
        "extern ab_t radio;",
        "extern ab_retained modem;",
        "extern uint32_t device_id;",
        "AB_USE_RESULT ab_permit radio_acquire(uint32_t now_ms);",
        "bool radio_report(ab_token *, bool succeeded, uint32_t now_ms);",
        "bool radio_report_retry_after(ab_token *, uint32_t at_least_ms, uint32_t now_ms);",
        "bool modem_restore(uint32_t now_ms);",
        "bool modem_restore_after(uint32_t asleep_ms, uint32_t now_ms);",
        "bool modem_restore_running(uint32_t now_ms);",
        "/* In ticks of 1024 ms. Your program defines it, where you like: ab_t sensor; */",
    ] {
        assert!(header.contains(line), "{line}\n{header}");
    }
    assert!(
        !header.contains("radio_restore"),
        "its memory is cleared by a reset"
    );
}

#[test]
fn the_same_file_makes_the_same_text_whatever_the_order_of_its_tables() {
    let one = made("[a]\nprobes = 2\n[b]\nprobes = 3\n");
    let other = made("[b]\nprobes = 3\n[a]\nprobes = 2\n");
    assert_eq!((one.header, one.rust), (other.header, other.rust));
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
        made(&format!("[{name}]"));
    }
}

/// Whatever is in the file, what comes out is text that names only what was checked.
#[test]
fn files_with_random_changes_are_refused_or_give_plain_text() {
    let mut state = std::time::UNIX_EPOCH
        .elapsed()
        .map_or(0, |time| time.as_nanos() as u64);
    println!("seed {state}");
    let mut random = |end: usize| {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        (state >> 33) as usize % end
    };
    let mut accepted = 0;
    for _ in 0..20_000 {
        let mut text = ALL.as_bytes().to_vec();
        for _ in 0..=random(4) {
            let at = random(text.len());
            match random(3) {
                0 => text[at] = b" \"[]{}=\n#_0129azAZ*/;\\'\xFF"[random(24)],
                1 => drop(text.remove(at)),
                _ => text.insert(at, b"0=\"[a]/*"[random(8)]),
            }
        }
        let Ok(text) = String::from_utf8(text) else {
            continue;
        };
        if let Ok(made) = generate(&text) {
            accepted += 1;
            assert!(made.rust.is_ascii() && made.header.is_ascii());
            assert_eq!(
                made.header.matches("/*").count(),
                made.header.matches("*/").count()
            );
            assert!(!made.rust.contains("include"), "{text}");
        }
    }
    assert!(accepted > 100, "{accepted}");
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
