// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that the other side creates, leaves unfinished, or has in use.

use std::fs;
use std::sync::Barrier;
use std::thread;

use atomic_breaker_mapped::{Config, MappedBuilder, MappedSlab, MemoryOrigin, State, open};

use crate::ask::{Python, ask, dice, quoted};
use crate::rules::draw;
use crate::support::{Dir, set_word, word};

#[test]
#[ignore = "needs Python: tests/shared-file/run"]
fn a_file_that_python_creates_is_byte_for_byte_the_librarys_and_is_used() {
    let mut dice = dice(6);
    let dir = Dir::new();
    for round in 0..60 {
        let rules = draw(&mut dice);
        let (own, theirs) = (
            dir.file(&format!("own-{round}")),
            dir.file(&format!("{round}")),
        );
        let (keys, bytes) = (dice.within(1..50), dice.within(1..1_001));
        let is_slab = round % 2 == 1;
        let builder = MappedSlab::builder(rules.config);
        let builder = builder.capacity(keys).max_key_bytes(bytes);
        let make = |path| {
            if is_slab {
                return builder.clone().open(path).unwrap().origin();
            }
            open(path, rules.config).unwrap().word().origin()
        };
        assert_eq!(make(&own), MemoryOrigin::Created);
        let [fingerprint, k0, k1] = [7, 9, 10].map(|at| word(&own, at));
        let (keys, bytes) = if is_slab { (keys, bytes) } else { (0, 0) };
        let request = format!(
            "[{},[1,{keys},{bytes},{fingerprint}],[{k0},{k1}]]",
            quoted(&theirs)
        );
        assert_eq!(ask("create", &[request]), [r#""made""#]);
        assert!(
            fs::read(&own).unwrap() == fs::read(&theirs).unwrap(),
            "{}",
            rules.json
        );
        assert_eq!(make(&theirs), MemoryOrigin::Joined);
    }
}

fn expected(path: &std::path::Path) -> String {
    drop(open(path, Config::new()).unwrap());
    let expected = format!("[1,0,0,{}]", word(path, 7));
    fs::remove_file(path).unwrap();
    expected
}

/// The creator dies before it reserves the room, before it writes the header, and before it marks it as complete.
#[test]
#[ignore = "needs Python: tests/shared-file/run"]
fn a_file_that_the_other_side_left_unfinished_is_taken_afresh() {
    let dir = Dir::new();
    let path = dir.file("database");
    let expected = expected(&path);
    for step in 0..3 {
        let mut python = Python::start("die");
        let request = format!("[{},{expected},{step}]", quoted(&path));
        assert_eq!(python.ask(&request), None);
        assert_eq!(python.end(), Some(9));
        let left = fs::read(&path).unwrap();
        assert_eq!(left.len(), if step == 0 { 0 } else { 256 });
        let breaker = open(&path, Config::new()).unwrap();
        assert_eq!(breaker.word().origin(), MemoryOrigin::Created);
        drop(breaker);
        fs::write(&path, left).unwrap();
        let request = format!("[{},{expected}]", quoted(&path));
        assert_eq!(ask("join", &[request]), [r#""made""#]);
        fs::remove_file(&path).unwrap();
    }
}

/// The creator dies before it sets the mode, under a umask that takes some of it away.
#[test]
#[ignore = "needs Python: tests/shared-file/run"]
fn an_empty_file_whose_mode_was_not_set_is_taken_afresh_on_both_sides() {
    use std::os::unix::fs::PermissionsExt;
    let dir = Dir::new();
    let path = dir.file("database");
    let expected = expected(&path);
    for mode in [0o600, 0o400, 0o200, 0] {
        let leave = || {
            let _ = fs::remove_file(&path);
            crate::support::write_private(&path, b"");
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        };
        leave();
        let is_opened = open(&path, Config::new()).is_ok();
        leave();
        let request = format!("[{},{expected}]", quoted(&path));
        // Only root opens a file in spite of its mode.
        let wanted = if is_opened { r#""made""# } else { r#""mode""# };
        assert_eq!(ask("join", &[request]), [wanted], "{mode:o}");
        assert!(is_opened || mode != 0o600);
    }
}

#[test]
#[ignore = "needs Python: tests/shared-file/run"]
fn of_many_that_open_a_file_at_once_on_both_sides_one_creates_it_and_all_share_it() {
    let dir = Dir::new();
    let expected = expected(&dir.file("expected"));
    let mut pythons = [(); 3].map(|()| Python::start("join"));
    for round in 0..60 {
        let path = dir.file(&round.to_string());
        // Left by a process that died, in two of three rounds.
        match round % 3 {
            0 => (),
            1 => crate::support::write_private(&path, b""),
            _ => crate::support::write_private(&path, &[0; 256]),
        }
        let start = Barrier::new(4);
        let made = thread::scope(|scope| {
            let own = [(); 3].map(|()| {
                scope.spawn(|| {
                    start.wait();
                    let breaker = open(&path, Config::new()).unwrap();
                    breaker.acquire().unwrap().failure();
                    breaker.word().origin()
                })
            });
            start.wait();
            for python in &mut pythons {
                python.request(&format!("[{},{expected}]", quoted(&path)));
            }
            let said = pythons.each_mut().map(|python| python.answer().unwrap());
            let made = said.iter().filter(|said| *said == r#""made""#).count();
            assert!(
                said.iter()
                    .all(|it| it == r#""made""# || it == r#""joined""#),
                "{said:?}"
            );
            let own = own.map(|own| own.join().unwrap());
            made + own
                .iter()
                .filter(|origin| **origin == MemoryOrigin::Created)
                .count()
        });
        assert_eq!(made, 1, "round {round}");
        assert_eq!(open(&path, Config::new()).unwrap().snapshot().failures(), 3);
    }
}

#[test]
#[ignore = "needs Python: tests/shared-file/run"]
fn a_file_in_use_on_one_side_is_not_replaced_by_the_other() {
    let dir = Dir::new();
    let path = dir.file("database");
    let expected = expected(&path);
    let request = format!("[{},{expected}]", quoted(&path));
    let changed = || MappedBuilder::new(Config::new().probes(2)).replace_unused();

    let mut python = Python::start("join");
    assert_eq!(python.ask(&request).unwrap(), r#""made""#);
    let error = changed().open(&path).unwrap_err().to_string();
    assert!(error.contains("was made with other rules"), "{error}");
    assert_eq!(python.end(), Some(0));
    let breaker = changed().open(&path).unwrap();
    assert_eq!(breaker.word().origin(), MemoryOrigin::AfterOtherRules);
    drop(breaker);
    fs::remove_file(&path).unwrap();

    let breaker = open(&path, Config::new()).unwrap();
    breaker.trip();
    set_word(&path, 2, word(&path, 2) ^ 1);
    assert_eq!(
        ask("join", std::slice::from_ref(&request)),
        [r#""restart""#]
    );
    assert_eq!(breaker.state(), State::Open);
    drop(breaker);
    assert_eq!(ask("join", &[request]), [r#""made""#]);
    assert_eq!(open(&path, Config::new()).unwrap().state(), State::Closed);
}
