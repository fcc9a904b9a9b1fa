// SPDX-License-Identifier: MIT OR Apache-2.0
//! No room for a file: an error when it is created, and never a signal later.

use std::fs;
use std::process::Stdio;

use atomic_breaker_mapped::Config;
use atomic_breaker_mapped::MappedSlab;

use super::support::{Dir, command, heard, part, say};
use test_support::mount::with_room;

fn open_as_told(part: &[String]) -> ! {
    let hosts = MappedSlab::builder(Config::new()).open(&part[0]);
    let left = fs::exists(&part[0]).unwrap();
    say(&format!(
        "{:?} {left}",
        hosts.map(drop).map_err(|e| e.to_string())
    ));
}

#[test]
fn a_file_beyond_the_limit_of_the_process_is_an_error_and_leaves_nothing() {
    let test = "room::a_file_beyond_the_limit_of_the_process_is_an_error_and_leaves_nothing";
    if let Some(part) = part() {
        let limit = libc::rlimit {
            rlim_cur: 4_096,
            rlim_max: 4_096,
        };
        // SAFETY: changes limits and signals of this process.
        unsafe {
            libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
            assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit), 0);
        }
        open_as_told(&part);
    }
    for dir in [Dir::new(), Dir::within(&std::env::temp_dir())] {
        let path = dir.file("hosts");
        let child = command(test, &[path.to_str().unwrap()]).spawn().unwrap();
        let said = heard(child);
        assert!(
            said.contains("there is no room for it, free some or use fewer keys"),
            "{said}"
        );
        assert!(said.ends_with("false"), "{said}");
    }
}

#[test]
fn a_full_file_system_is_an_error_and_leaves_nothing() {
    let test = "room::a_full_file_system_is_an_error_and_leaves_nothing";
    if let Some(part) = part() {
        open_as_told(&part);
    }
    let dir = Dir::new();
    // 16 pages.
    let Some(mut child) = with_room("64k", dir.path()) else {
        return;
    };
    let path = dir.file("hosts");
    let inside = command(test, &[path.to_str().unwrap()]);
    child.arg(inside.get_program()).args(inside.get_args());
    for (name, value) in inside.get_envs() {
        child.env(name, value.unwrap());
    }
    let said = heard(child.stdout(Stdio::piped()).spawn().unwrap());
    assert!(said.contains("there is no room for it"), "{said}");
    assert!(said.ends_with("false"), "{said}");
}
