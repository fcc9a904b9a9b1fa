// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command `atomic-breaker-c`: what it writes, says and returns.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn run(arguments: &[&Path]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_atomic-breaker-c"))
        .args(arguments)
        .output()
        .expect("it starts")
}

/// A new folder for one test, with a file of breakers.
fn with_file(name: &str, text: &str) -> (PathBuf, PathBuf) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("breakers.toml");
    fs::write(&file, text).expect("a file");
    (file, folder.join("made/out"))
}

#[test]
fn the_command_writes_both_files_and_leaves_them_alone_when_nothing_has_changed() {
    let (file, out) = with_file("writes", "[radio]\nopen_for_ms = 2000\n");
    let output = run(&[&file, &out]);
    assert!(output.status.success(), "{output:?}");
    let made = ["breakers.h", "breakers.rs"].map(|made| out.join(made));
    for path in &made {
        assert!(fs::read_to_string(path).is_ok_and(|text| text.contains("radio")));
    }
    let written = |path| {
        fs::metadata(path)
            .and_then(|it| it.modified())
            .expect("a time")
    };
    let before = made.each_ref().map(written);
    assert!(run(&[&file, &out]).status.success());
    assert_eq!(made.each_ref().map(written), before);

    fs::write(&file, "[modem]\nopen_for_ms = 3000\n").expect("a file");
    assert!(run(&[&file, &out]).status.success());
    for path in &made {
        let text = fs::read_to_string(path).expect("a text");
        assert!(text.contains("modem") && !text.contains("radio"), "{text}");
    }
}

#[test]
fn rules_that_do_not_fit_are_an_error_that_names_the_file() {
    let (file, out) = with_file("wrong", "[radio]\nprobes = 0\n");
    let output = run(&[&file, &out]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).expect("a text");
    assert!(
        said.contains("breakers.toml") && said.contains("radio"),
        "{said}"
    );
    assert!(!out.exists());
}

#[test]
fn other_than_two_arguments_are_answered_with_the_usage() {
    let (file, _) = with_file("usage", "");
    for arguments in [&[][..], &[&*file][..], &[&*file, &file, &file][..]] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).starts_with("usage: atomic-breaker-c"));
    }
}
