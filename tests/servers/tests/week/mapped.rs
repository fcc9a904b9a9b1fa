// SPDX-License-Identifier: MIT OR Apache-2.0
//! Breakers that processes share, with a clock that the test advances.

use std::error::Error;
use std::fs;
use std::io;
use std::mem::forget;
use std::sync::Arc;

use atomic_breaker_http::State;
use atomic_breaker_mapped::{MappedBreaker, MappedBuilder, MappedSlab};
use atomic_breaker_server::{ManualClock, Permit};

use super::SECOND;
use test_support::week::{Host, config, protects, week_by_hand};

type Database<'a> = MappedBreaker<&'a ManualClock>;

fn for_forks(clock: &ManualClock) -> Database<'_> {
    let builder = MappedBuilder::new(config()).clock(clock);
    builder.for_forks().unwrap()
}

#[test]
fn a_call_that_is_left_by_the_question_mark() {
    fn ask(database: &Database<'_>, host: &Host) -> Result<u32, Box<dyn Error>> {
        let value = database.call(|| host.answer_at_once())?;
        Ok(value + 1)
    }
    let (host, clock) = (Host::default(), ManualClock::new());
    let database = for_forks(&clock);
    let week = week_by_hand(&host, &clock, || ask(&database, &host).is_ok());
    protects(&week, 70);
}

/// The same for a key with an attempt: a permit that counts as a failure unless it is reported.
#[test]
fn an_attempt_of_a_key_that_is_left_by_the_question_mark() {
    fn ask(hosts: &MappedSlab<&ManualClock>, host: &Host) -> Result<u32, Box<dyn Error>> {
        let breaker = hosts.breaker("a.example")?;
        let attempt = breaker.acquire()?.failing_when_dropped();
        let value = host.answer_at_once()?;
        attempt.success();
        Ok(value)
    }
    let (host, clock) = (Host::default(), ManualClock::new());
    let hosts = MappedSlab::builder(config()).clock(&clock);
    let hosts = hosts.for_forks().unwrap();
    let week = week_by_hand(&host, &clock, || ask(&hosts, &host).is_ok());
    protects(&week, 70);
    assert_eq!((hosts.keys(), hosts.refused()), (1, 0));
}

/// A client with its own time limit.
#[test]
fn a_call_that_times_out() {
    let (host, clock) = (Host::default(), ManualClock::new());
    let database = for_forks(&clock);
    let query = || {
        let answer = host.answer_at_once();
        if answer.is_err() {
            clock.advance(2 * SECOND);
        }
        answer.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))
    };
    let week = week_by_hand(&host, &clock, || database.call(query).is_ok());
    protects(&week, 70);
}

#[test]
fn clones_of_an_arc_in_permits() {
    let (host, clock) = (Host::default(), ManualClock::new());
    let database = Arc::new(for_forks(&clock));
    let ask = || {
        let Ok(permit) = Permit::acquire(Arc::clone(&database)) else {
            return false;
        };
        let answer = host.answer_at_once();
        match answer {
            Ok(_) => permit.success(),
            Err(_) => permit.failure(),
        };
        answer.is_ok()
    };
    protects(&week_by_hand(&host, &clock, ask), 70);
}

/// A file that is opened twice, as two processes do.
#[test]
fn one_file_in_two_places() {
    let directory = std::env::temp_dir().join(format!("mapped-week-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    let path = directory.join("database");
    let (host, clock) = (Host::default(), ManualClock::new());
    let open = || {
        let builder = MappedBuilder::new(config()).clock(&clock);
        builder.open(&path).unwrap()
    };
    let places = [open(), open()];
    let mut number = 0;
    let ask = || {
        number += 1;
        places[number % 2].call(|| host.answer_at_once()).is_ok()
    };
    let week = week_by_hand(&host, &clock, ask);
    fs::remove_dir_all(&directory).unwrap();
    protects(&week, 70);
}

/// Every third call that gets no response is dropped, and some probes lose their process.
#[test]
fn permits_that_are_dropped_in_the_middle_or_lost() {
    let (host, clock) = (Host::default(), ManualClock::new());
    let rules = config().probe_lease(5 * SECOND);
    let database = MappedBuilder::new(rules).clock(&clock);
    let database = database.for_forks().unwrap();
    let mut number = 0_u32;
    let ask = || {
        number += 1;
        let Ok(permit) = database.acquire() else {
            return false;
        };
        let answer = host.answer_at_once();
        if answer.is_err() && permit.is_probe() && number.is_multiple_of(7) {
            forget(permit);
            return false;
        }
        match answer {
            Ok(_) => permit.success(),
            Err(_) if number.is_multiple_of(3) => permit.cancel(),
            Err(_) => permit.failure(),
        };
        answer.is_ok()
    };
    protects(&week_by_hand(&host, &clock, ask), 160);
    assert_eq!(database.state(), State::Closed);
}
