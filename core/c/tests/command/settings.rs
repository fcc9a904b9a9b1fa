// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings of one breaker, read while a program starts; what else may be wrong with them is tested through the library
//! for C.

use atomic_breaker_c::generate::settings;

#[test]
fn a_file_of_settings_has_at_most_a_mebibyte() {
    let of_bytes = |bytes: usize| format!("[a]\n#{}", "x".repeat(bytes - 5));
    assert!(settings(&of_bytes(1 << 20), "a").is_ok());
    let error = settings(&of_bytes((1 << 20) + 1), "a").unwrap_err();
    assert_eq!(error, "it is longer than 1 MiB");
}

#[test]
fn a_row_that_lasts_is_read_beside_its_number() {
    let read = settings("[a]\nlasting_ms = 100\nconsecutive_failures = 7", "a").unwrap();
    assert_eq!(
        (read.failures, read.window_ms, read.lasting_ms),
        (7, 0, 100)
    );
    let without = settings("[a]\nconsecutive_failures = 7", "a").unwrap();
    assert_eq!((without.failures, without.lasting_ms), (7, 0));

    let error = "[a]\nlasting_ms = 100\nfailures_within = { failures = 7, window_ms = 1000 }";
    let error = settings(error, "a").unwrap_err();
    assert_eq!(
        error,
        "[a], line 1: lasting is the time that failures in a row must last: set consecutive_failures of at least 1 \
         with it, not failures_within"
    );
}

#[test]
fn a_breaker_that_is_not_in_the_file_is_named_beside_those_that_are() {
    for (name, said) in [
        ("c", "there is no [c] in it, but: a"),
        ("c.x", "there is no [c.x] in it, but: a"),
        (
            "a.x",
            "there is no [\"a.x\"] in it: a name with a dot stands in quotes",
        ),
    ] {
        assert_eq!(settings("[a]", name).unwrap_err(), said);
    }
}
