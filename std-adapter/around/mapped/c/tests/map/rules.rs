// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules of a file.

use crate::*;

fn read(dir: &Dir, text: &str, name: &str) -> Result<CSettings, (u32, String)> {
    let path = dir.file("breakers.toml");
    fs::write(&path, text).unwrap();
    let (mut settings, mut error) = (CSettings::default(), blank());
    // SAFETY: all lead to what they say.
    let is_read = unsafe {
        ab_settings_read(
            &mut settings,
            c(&path).as_ptr(),
            CString::new(name).unwrap().as_ptr(),
            &mut error,
        )
    };
    if is_read {
        Ok(settings)
    } else {
        Err((error.status, said(&error)))
    }
}

#[test]
fn rules_of_a_file_open_the_file_that_rust_made_with_the_same_rules() {
    let dir = Dir::new();
    let settings = read(
        &dir,
        "[cache]\n[database]\nfailures_within = { failures = 20, window_ms = 10000 }\nslow_call_ms = 2000\n\
         open_for_ms = 1000\nexponential_percent = { percent = 150, max_ms = 60000 }\njitter_percent = 20\n\
         probes = 3\nclose_after = 5\ngradual_return = { first_percent = 10, over_ms = 30000 }",
        "database",
    );
    let second = std::time::Duration::from_secs(1);
    let config = Config::new()
        .failures_within(20, 10 * second)
        .slow_call(2 * second)
        .open_for(second)
        .exponential_percent(150, 60 * second)
        .jitter_percent(20)
        .probes(3)
        .close_after(5)
        .gradual_return(10, 30 * second);
    let path = dir.file("database");
    let _in_rust = open(&path, config).unwrap();
    let in_c = Opened::new(&path, settings.unwrap(), COptions::default()).unwrap();
    // SAFETY: the map is open.
    assert_eq!(unsafe { ab_map_origin(in_c.0) }, 2);
    // SAFETY: the map is open.
    assert!(unsafe { !ab_map_is_removed(in_c.0) });
    fs::remove_file(&path).unwrap();
    // SAFETY: the map is open.
    assert!(unsafe { ab_map_is_removed(in_c.0) });
    assert_eq!(read(&dir, "[cache]", "cache").unwrap(), DEFAULTS);
}

#[test]
fn a_file_of_rules_that_is_wrong_is_an_error_that_names_it() {
    let dir = Dir::new();
    for (text, name, part) in [
        ("[a]\n[b]", "c", "there is no [c] in it, but: a, b"),
        ("a = 1", "a", "write [a] above"),
        ("[a]\ntick_ms = 64", "a", "tick_ms is for firmware"),
        (
            "[a]\nfailure_ratio = { percent = 50, of_last = 20 }",
            "a",
            "use failures_within",
        ),
        ("[b]\n\n[a]\nprobes = 0", "a", "[a], line 3: with 0 probes"),
        (
            "[a]\nprobes = 70000",
            "a",
            "expected a whole number from 0 to 65535",
        ),
        (
            "[a]\nexponential = { factor = 1.5, max_ms = 60000 }",
            "a",
            "exponential_percent = { percent = 150",
        ),
        ("[a]\nslow_call_ms = 0", "a", "a slow_call of 0"),
        ("[a]\nopen_ms = 1", "a", "open_ms"),
        ("[a", "a", "expected"),
        (
            "",
            "a",
            "there is no [a] in it, nor anything else: begin with [a]",
        ),
        (
            "[b-1.x]\nprobes = 1",
            "b-1.x",
            "there is no [\"b-1.x\"] in it",
        ),
        (
            "[b]\n[a]\nprobes = 2\nopen_for_ms = true",
            "a",
            "[a], line 4: invalid type",
        ),
        (
            "[a]\n\nprobse = 2",
            "a",
            "[a], line 3: unknown field `probse`",
        ),
        (
            "[a]\nexponential = { factor = 2,\n max_ms = -1 }",
            "a",
            "[a], line 3: ",
        ),
    ] {
        let (status, said) = read(&dir, text, name).unwrap_err();
        assert!(
            status == 1 && said.contains(part) && said.contains("breakers.toml: "),
            "{status}: {said}"
        );
    }
    let (_, said_of_key) = read(&dir, "[a]\nprobse = 2", "a").unwrap_err();
    assert!(
        said_of_key.contains("`consecutive_failures`"),
        "{said_of_key}"
    );
    for refused in ["failure_ratio", "tally_only"] {
        assert!(!said_of_key.contains(refused), "{said_of_key}");
    }
    let mut error = blank();
    let missing = c(dir.file("missing"));
    let mut settings = CSettings::default();
    // SAFETY: all lead to what they say.
    assert!(!unsafe {
        ab_settings_read(&mut settings, missing.as_ptr(), c"a".as_ptr(), &mut error)
    });
    assert!(
        error.status == 6 && said(&error).contains("missing: "),
        "{error:?}"
    );
    // SAFETY: as above.
    assert!(!unsafe {
        ab_settings_read(
            &mut settings,
            missing.as_ptr(),
            c"\xFF".as_ptr(),
            &mut error,
        )
    });
    assert!(error.status == 1 && said(&error).contains("UTF-8"));
}

#[test]
fn what_is_no_file_of_rules_is_refused_at_once() {
    let dir = Dir::new();
    let pipe = dir.file("pipe");
    let is_made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(is_made.unwrap().success());
    let (long, latin) = (dir.file("long"), dir.file("latin"));
    fs::write(&long, vec![b'#'; (1 << 20) + 1]).unwrap();
    fs::write(&latin, b"# M\xFCnchen").unwrap();
    for (path, part) in [
        (pipe.as_path(), "is not a regular file"),
        (Path::new("/dev/zero"), "is not a regular file"),
        (dir.file("").as_path(), "is not a regular file"),
        (&long, "is longer than 1 MiB"),
        (&latin, "is not UTF-8"),
    ] {
        let (mut settings, mut error) = (CSettings::default(), blank());
        // SAFETY: all lead to what they say.
        assert!(!unsafe {
            ab_settings_read(&mut settings, c(path).as_ptr(), c"a".as_ptr(), &mut error)
        });
        let said = said(&error);
        let expected = format!("{}: {part}", path.display());
        assert!(error.status == 1 && said.starts_with(&expected), "{said}");
    }
}

/// Each field of `ab_settings` with its default, in the order of the header.
#[test]
fn the_page_lists_every_setting_with_its_default() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../..");
    let page = fs::read_to_string(root.join("docs/c.md")).unwrap();
    let (_, table) = page.split_once("| field of `ab_settings` |").unwrap();
    let rows = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let listed: Vec<(String, String)> = rows
        .map(|row| {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            (cells[1].replace('`', ""), cells[4].replace(',', ""))
        })
        .collect();
    let header = fs::read_to_string(root.join("core/c/include/atomic_breaker.h")).unwrap();
    let (fields, _) = header.split_once("} ab_settings;").unwrap();
    let (_, fields) = fields.rsplit_once("typedef struct {").unwrap();
    let fields = fields.lines().filter_map(|line| {
        let field = line.trim().strip_prefix("uint32_t ")?;
        Some(field.split_once(';')?.0.to_owned())
    });
    let (_, defaults) = header.split_once("#define AB_DEFAULTS {").unwrap();
    let defaults = defaults.split_once('}').unwrap().0.split(", ");
    let expected: Vec<(String, String)> = fields.zip(defaults.map(str::to_owned)).collect();
    assert_eq!(expected.len(), 17);
    assert_eq!(listed, expected);
}
