// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each change of a word in random histories is one that the page lists for what was done.

use std::collections::BTreeMap;
use std::time::Duration;

use atomic_breaker_mapped::word::AtomicU64;
use atomic_breaker_mapped::{Breaker, Clock, Config, ManualClock, MappedSlab, Rules, State};
use atomic_breaker_std::{Failure, Outcome, Token, TripRule};
use test_support::dice::Dice;

use crate::ask::{ask, dice, quoted};
use crate::rules::draw;
use crate::shown::all;
use crate::support::Dir;

type Slot<'a> = Breaker<&'a &'a ManualClock, &'a AtomicU64, (), (), &'a Rules<u64>>;

/// An action, and the events of the page that it may be. A demand is in milliseconds.
struct Done {
    what: &'static str,
    events: &'static [&'static str],
    weight: u16,
    demand: u32,
    /// `true` if the library reports that it changed the word.
    has_changed: bool,
}

impl Done {
    fn new(what: &'static str, events: &'static [&'static str]) -> Self {
        Self {
            what,
            events,
            weight: 1,
            demand: 0,
            has_changed: false,
        }
    }
}

/// A failure.
const FAILURE: &[&str] = &[
    "failure",
    "window begins",
    "row begins",
    "row goes on",
    "row is reached",
    "trip",
];
/// One that trips at once, or comes late.
const TRIPPING: &[&str] = &["trip", "demanded", "moved"];
/// One that asks for a pause.
const WEIGHED: &[&str] = &[
    "failure",
    "window begins",
    "row begins",
    "row goes on",
    "row is reached",
    "trip",
    "demanded",
    "moved",
];

/// A call, or what becomes of one.
fn call(dice: &mut Dice, host: &Slot<'_>, calls: &mut Vec<Token<u64>>) -> Done {
    if calls.is_empty() || dice.percent(45) {
        let events = &["first probe", "probe admitted", "round lost", "returned"];
        let mut done = Done::new("acquire", events);
        if let Ok(permit) = host.acquire() {
            done.has_changed = permit.is_probe();
            calls.push(permit.into_token());
        }
        return done;
    }
    let token = calls.swap_remove(dice.below(calls.len() as u64) as usize);
    let mut permit = host.resume(token);
    // So that rows of failures last while traffic returns, too.
    let is_returning = host.state() == State::Returning && dice.percent(85);
    match if is_returning { 4 } else { dice.below(12) } {
        0..4 => {
            permit.success();
            let events = &[
                "success",
                "probe succeeded",
                "late success",
                "closed",
                "returning",
                // It took too long.
                "failure",
                "window begins",
                "row begins",
                "row goes on",
                "row is reached",
                "trip",
            ];
            Done::new("success", events)
        }
        4..8 => {
            let weight = dice.pick(&[0, 1, 1, 1, 2, 7]);
            permit.report(Failure::with_weight(weight));
            Done {
                weight,
                ..Done::new("failure", FAILURE)
            }
        }
        8 => {
            let demand = dice.within(0..20_000);
            let time = Duration::from_millis(demand.into());
            let (what, failure, events): (_, _, &[_]) = match dice.below(2) {
                0 => ("tripping_for", Failure::tripping_for(time), TRIPPING),
                _ => ("retry_after", Failure::retry_after(time), WEIGHED),
            };
            permit.report(failure);
            let most = host.config().longest_retry_after_ms(1 << 31);
            Done {
                demand: demand.min(most),
                ..Done::new(what, events)
            }
        }
        9 => {
            permit.cancel();
            let events = &[
                "probe ended",
                "failure",
                "window begins",
                "row begins",
                "row goes on",
                "row is reached",
                "trip",
            ];
            Done::new("drop", events)
        }
        10 => {
            permit.report(Outcome::Ignored);
            Done::new("ignored", &["probe ended"])
        }
        _ => {
            let has_changed = permit.renew() && host.state() == State::HalfOpen;
            calls.push(permit.into_token());
            Done {
                has_changed,
                ..Done::new("renew", &["renewed"])
            }
        }
    }
}

fn command(dice: &mut Dice, host: &Slot<'_>) -> Done {
    let mut demand = 0;
    let (made, what, events): (_, _, &[_]) = match dice.below(12) {
        0..3 => (host.trip(), "trip", &["trip", "trip again"]),
        3 => {
            demand = dice.within(1..50_000);
            let made = host.trip_for(Duration::from_millis(demand.into()));
            (made, "trip_for", &["trip", "trip again", "demanded"])
        }
        4 => (host.force_open(), "force_open", &["forced open"]),
        5 => (host.disable(), "disable", &["disabled"]),
        6 | 7 => (host.release(), "release", &["released"]),
        8 => (host.enable(), "enable", &["enabled"]),
        9 => (host.reset(), "reset", &["reset"]),
        10 => (host.probe_now(), "probe_now", &["round by command"]),
        _ => {
            let made = host.restore_running().unwrap();
            (made, "restore_running", &["restored"])
        }
    };
    Done {
        demand,
        has_changed: made.is_some(),
        ..Done::new(what, events)
    }
}

fn wait(dice: &mut Dice, clock: &ManualClock, rules: &Config) {
    let back = rules.gradual_return.map_or(1, |back| back.over_ms);
    let lease = rules.lease_ms(1 << 31);
    let lasting = match rules.trip {
        TripRule::Lasting { lasting_ms, .. } => lasting_ms,
        _ => 50,
    };
    let time = match dice.below(8) {
        0..3 => dice.within(0..50),
        3 => rules.open_for_ms,
        4 => lease.saturating_mul(dice.pick(&[1, 2, 4, 8, 16])),
        5 => back,
        6 => lasting,
        _ => return clock.step_back(Duration::from_millis(dice.below(60_000))),
    };
    clock.advance(Duration::from_millis(time.min(1 << 30).into()));
}

#[test]
#[ignore = "needs Python: tests/shared-file/run"]
fn each_change_in_random_histories_is_one_of_the_page() {
    let mut dice = dice(4);
    let dir = Dir::new();
    let (mut requests, mut done) = (vec![], vec![]);
    let (mut files, mut wanted) = (vec![], vec![]);
    for round in 0..300 {
        let rules = draw(&mut dice);
        let clock = ManualClock::starting_at(dice.next() as u32);
        let path = dir.file(&round.to_string());
        let builder = MappedSlab::builder(rules.config).clock(&clock).capacity(4);
        let hosts = builder.open(&path).unwrap();
        let mut calls = [const { Vec::new() }; 4];
        for _ in 0..400 {
            if dice.percent(15) {
                wait(&mut dice, &clock, &rules.config);
            }
            let key = dice.below(4) as usize;
            let host = hosts.breaker([key as u8]).unwrap();
            let before = host.to_bits();
            let did = if dice.percent(85) {
                call(&mut dice, &host, &mut calls[key])
            } else {
                command(&mut dice, &host)
            };
            let after = host.to_bits();
            if before != after || did.has_changed {
                let (now, weight, demand) = (clock.now_ms(), did.weight, did.demand);
                let is_fixed = rules.config.growth.is_none() && rules.config.jitter_percent == 0;
                requests.push(format!(
                    "[{before},{after},{now},{weight},{demand},{is_fixed},{}]",
                    rules.json
                ));
                done.push((did, rules.json.clone()));
            }
        }
        files.push(format!(
            "[{},{},{}]",
            quoted(&path),
            clock.now_ms(),
            rules.json
        ));
        wanted.push(all(&hosts));
    }
    let mut seen = BTreeMap::<_, usize>::new();
    for ((answer, request), (did, rules)) in
        ask("changes", &requests).iter().zip(&requests).zip(&done)
    {
        let is_event = |event: &&&str| answer.contains(&format!("\"{event}\""));
        let event = did.events.iter().find(is_event);
        let event = event.unwrap_or_else(|| panic!("{} {request} {rules}: {answer}", did.what));
        *seen.entry((did.what, *event)).or_default() += 1;
    }
    println!("{} changes: {seen:?}", requests.len());
    assert!(seen.len() >= 45, "{}", seen.len());
    assert!(seen.contains_key(&("failure", "row is reached")));
    assert_eq!(ask("show", &files), wanted);
}
