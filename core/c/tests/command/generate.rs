// SPDX-License-Identifier: MIT OR Apache-2.0
//! The files that the command makes of `breakers.toml`.

use atomic_breaker_c::generate::{Generated, generate};

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

/// The output is text that names only what was checked, for any file.
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
