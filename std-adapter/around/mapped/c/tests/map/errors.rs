// SPDX-License-Identifier: MIT OR Apache-2.0
//! The input that is refused, and the messages.

use crate::*;

fn fails(result: Result<Opened, (u32, String)>, status: u32, text: &str) {
    let (found, said) = result.err().expect("it should not open");
    assert!(found == status && said.contains(text), "{found}: {said}");
}

#[test]
fn each_kind_of_error_has_its_code_and_says_what_to_do() {
    let dir = Dir::new();
    let path = dir.file("database");
    let opened = |settings, options| Opened::new(&path, settings, options);
    let one = COptions::default();
    fails(
        opened(
            CSettings {
                failures: 0,
                ..DEFAULTS
            },
            one,
        ),
        1,
        "failures: 1 to 65535",
    );
    fails(
        opened(
            DEFAULTS,
            COptions {
                key_bytes: 9,
                ..one
            },
        ),
        1,
        "key_bytes: only with keys",
    );
    fails(
        opened(
            DEFAULTS,
            COptions {
                keys: 1 << 21,
                ..one
            },
        ),
        1,
        "set at least 1, at most 1048576",
    );
    assert!(!path.exists());
    let in_use = opened(DEFAULTS, one).unwrap();
    let other = CSettings {
        failures: 4,
        ..DEFAULTS
    };
    fails(opened(other, one), 2, "was made with other rules");
    fails(opened(DEFAULTS, KEYED), 2, "holds a single breaker");
    let replacing = COptions {
        replace_unused: true,
        ..one
    };
    fails(
        opened(other, replacing),
        2,
        "is not replaced: stop the processes that use it (",
    );
    drop(in_use);
    let replaced = opened(other, replacing).unwrap();
    // SAFETY: the map is open.
    assert_eq!(unsafe { ab_map_origin(replaced.0) }, 4);
    drop(replaced);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    fails(opened(DEFAULTS, one), 4, "set 0600");
    let foreign = dir.file("foreign");
    fs::write(&foreign, "something else").unwrap();
    fs::set_permissions(&foreign, fs::Permissions::from_mode(0o600)).unwrap();
    fails(
        Opened::new(&foreign, DEFAULTS, one),
        5,
        "is not a file of breakers",
    );
    fails(
        Opened::new(&dir.file("none/database"), DEFAULTS, one),
        6,
        "make its directory first",
    );
}

#[test]
fn names_that_get_no_breaker_are_errors() {
    let dir = Dir::new();
    let keyed = Opened::new(&dir.file("hosts"), DEFAULTS, KEYED).unwrap();
    for name in ["a", "b", "c", "d"] {
        keyed.breaker(Some(name)).unwrap();
    }
    let (status, text) = keyed.breaker(Some("e")).unwrap_err();
    assert!(
        status == 7 && text.contains("all 4 places are taken"),
        "{status}: {text}"
    );
    let (status, text) = keyed.breaker(Some(&"x".repeat(99))).unwrap_err();
    assert!(status == 1 && text.contains("99 bytes"), "{status}: {text}");
    let (status, text) = keyed.breaker(None).unwrap_err();
    assert!(status == 1 && text.contains("give one"), "{status}: {text}");
    let single = Opened::new(&dir.file("database"), DEFAULTS, COptions::default()).unwrap();
    let (status, text) = single.breaker(Some("a")).unwrap_err();
    assert!(
        status == 1 && text.contains("single breaker"),
        "{status}: {text}"
    );
}

#[test]
fn a_text_that_is_too_long_is_cut_between_characters() {
    let dir = Dir::new();
    for length in 240..249 {
        let path = dir.file(&"ä".repeat(length));
        let (_, text) = Opened::new(&path.join("é"), DEFAULTS, COptions::default())
            .err()
            .unwrap();
        assert!(text.len() < 500, "{}", text.len());
        assert!(text.contains("...") == (text.len() > 490), "{text}");
        assert!(
            text.contains("cannot be opened") && text.starts_with("/dev/shm/"),
            "{text}"
        );
    }
}

#[test]
fn messages_name_the_file_the_field_and_its_value() {
    let dir = Dir::new();
    let path = dir.file("hosts");
    let place = format!("{}: ", path.display());
    let starts = |found: Result<Opened, _>, text: &str| {
        let (status, said): (u32, String) = found.err().unwrap();
        let expected = format!("{place}{text}");
        assert!(
            status == 1 && said.starts_with(&expected),
            "{status}: {said}"
        );
    };
    let open = |settings| Opened::new(&path, settings, KEYED);
    starts(
        open(CSettings::default()),
        "settings: begin with AB_DEFAULTS",
    );
    let many = CSettings {
        probes: 256,
        ..DEFAULTS
    };
    starts(open(many), "probes: 1 to 255, and it is 256");
    let keys = COptions {
        keys: 0,
        key_bytes: 9,
        ..KEYED
    };
    starts(
        Opened::new(&path, DEFAULTS, keys),
        "key_bytes: only with keys",
    );
    let keyed = open(DEFAULTS).unwrap();
    for name in ["", "b\n", "ö", "d"] {
        keyed.breaker(Some(name)).unwrap();
    }
    let (_, said) = keyed.breaker(Some("e")).unwrap_err();
    assert!(
        said.starts_with(&place) && said.contains("greater `keys`"),
        "{said}"
    );
    let (_, said) = keyed.breaker(Some(&"x".repeat(99))).unwrap_err();
    assert!(
        said.starts_with(&place) && said.contains("greater `key_bytes`"),
        "{said}"
    );
    let mut error = blank();
    // SAFETY: the map is open.
    assert!(unsafe { ab_map_breaker(keyed.0, c"\xFF".as_ptr(), &mut error) }.is_null());
    assert!(error.status == 1 && crate::said(&error).contains("not UTF-8"));
}

#[test]
fn null_is_refused_everywhere() {
    // SAFETY: NULL is allowed.
    unsafe {
        let mut error = blank();
        assert!(ab_map_open(null(), null(), null(), &mut error).is_null());
        assert_eq!(
            (error.status, said(&error).contains("AB_DEFAULTS")),
            (1, true)
        );
        assert!(ab_map_open(null(), null(), null(), null_mut()).is_null());
        assert!(ab_map_breaker(null(), null(), &mut error).is_null());
        // Why there is no map is still there.
        assert_eq!(
            (error.status, said(&error).contains("AB_DEFAULTS")),
            (1, true)
        );
        assert!(ab_map_rules(null()).is_null());
        ab_map_each(null(), None, null_mut());
        assert_eq!(ab_map_origin(null()), 0);
        assert!(!ab_map_is_removed(null()));
        ab_map_close(null_mut());
        assert!(!ab_settings_read(null_mut(), null(), null(), &mut error));
        assert_eq!(error.status, 1);
        // Whoever goes on without a map is rejected, not wrong.
        let permit = wide::acquire(null(), null(), ab_now_ms());
        assert!(!permit.admitted);
    }
}
