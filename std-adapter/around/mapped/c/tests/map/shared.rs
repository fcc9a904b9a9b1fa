// SPDX-License-Identifier: MIT OR Apache-2.0
//! The data that processes and languages share.

use crate::*;

unsafe extern "C" fn add(
    list: *mut c_void,
    name: *const c_char,
    length: usize,
    breaker: *const AtomicU64,
) {
    // SAFETY: as `ab_map_each` promises, and the context is the list, beside its rules.
    let ((list, rules), name) = unsafe {
        let name = std::slice::from_raw_parts(name.cast::<u8>(), length);
        (
            &mut *list.cast::<(Vec<(String, u32)>, *const CRules<u64>)>(),
            name,
        )
    };
    // SAFETY: as above.
    let state = unsafe { wide::state(breaker, *rules, ab_now_ms()) };
    list.push((String::from_utf8(name.into()).unwrap(), state));
}

#[test]
fn what_one_language_learns_the_other_knows() {
    let dir = Dir::new();
    let path = dir.file("database");
    let in_c = Opened::new(&path, DEFAULTS, COptions::default()).unwrap();
    let in_rust = open(&path, Config::new()).unwrap();
    let breaker = in_c.breaker(None).unwrap();
    for _ in 0..5 {
        assert_eq!(in_rust.state(), State::Closed);
        assert!(in_c.call(breaker, false));
    }
    assert_eq!(in_rust.state(), State::Open);
    assert!(!in_c.call(breaker, true));
    in_rust.probe_now();
    assert!(in_c.call(breaker, true));
    assert_eq!(in_rust.state(), State::Closed);
}

#[test]
fn breakers_of_names_are_those_of_a_slab() {
    let dir = Dir::new();
    let path = dir.file("hosts");
    let in_c = Opened::new(&path, DEFAULTS, KEYED).unwrap();
    let builder = MappedSlab::builder(Config::new()).capacity(4);
    let in_rust = builder.open(&path).unwrap();
    let first = in_c.breaker(Some("a.example")).unwrap();
    for _ in 0..5 {
        assert!(in_c.call(first, false));
    }
    assert_eq!(in_rust.get("a.example").unwrap().state(), State::Open);
    in_rust.breaker("b.example").unwrap().trip();
    let second = in_c.breaker(Some("b.example")).unwrap();
    assert!(!in_c.call(second, true));
    assert!(std::ptr::eq(
        first,
        in_c.breaker(Some("a.example")).unwrap()
    ));
    // SAFETY: the map is open.
    let rules = unsafe { ab_map_rules(in_c.0) };
    let mut listed = (Vec::<(String, u32)>::new(), rules);
    // SAFETY: the map is open, and the context is the list, beside its rules.
    unsafe { ab_map_each(in_c.0, Some(add), (&raw mut listed).cast()) };
    let (mut list, _) = listed;
    list.sort();
    assert_eq!(list, [("a.example".into(), 1), ("b.example".into(), 1)]);
}

#[test]
fn without_a_path_it_is_shared_through_a_fork_alone() {
    let without_a_path = || {
        // SAFETY: all lead to what they say.
        Opened(unsafe { ab_map_open(null(), &DEFAULTS, null(), null_mut()) })
    };
    let (forked, other) = (without_a_path(), without_a_path());
    let breaker = forked.breaker(None).unwrap();
    // SAFETY: the child calls nothing that needs a lock of another thread, and ends by itself.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let trips = (0..5).all(|_| forked.call(breaker, false)) && !forked.call(breaker, false);
        // SAFETY: as above.
        unsafe { libc::_exit(i32::from(!trips)) };
    }
    assert!(child > 0);
    let mut status = 0;
    // SAFETY: the status is writable.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0, "the child's calls");
    assert!(!forked.call(breaker, false));
    assert!(other.call(other.breaker(None).unwrap(), false));
}

/// Processes that are started at the same moment, and trip by different breakers, should not all probe at the same one.
#[test]
fn a_seed_that_is_not_set_is_drawn() {
    let dir = Dir::new();
    let jitter = CSettings {
        jitter_percent: 100,
        ..DEFAULTS
    };
    let waits = [0, 1, 2, 3, 4, 5].map(|number| {
        let path = dir.file(&number.to_string());
        let opened = Opened::new(&path, jitter, COptions::default()).unwrap();
        let breaker = opened.breaker(None).unwrap();
        // SAFETY: the map is open.
        unsafe {
            let rules = ab_map_rules(opened.0);
            assert!(wide::trip(breaker, rules, 0, 1_000));
            wide::snapshot(breaker, rules, 1_000).wait_ms
        }
    });
    assert!(waits.iter().any(|wait| *wait != waits[0]), "{waits:?}");
}
