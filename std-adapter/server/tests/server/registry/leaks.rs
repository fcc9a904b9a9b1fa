// SPDX-License-Identifier: MIT OR Apache-2.0
//! Panics, cancels and threads at every point leave no count, no probe and no pin behind.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use atomic_breaker_server::{
    Admit, AnyPermit, ByKey, ConnectionId, Failure, Guard, GuardPermit, InFlightLimit, ManualClock,
    Outcome, Registry, Rejected, State, Transition, WhenFull,
};
use futures_util::FutureExt;

use super::panicking::{Key, Where, arm};
use super::threads::{Random, seed};
use super::{Keys, RULES, build};

const HOUR: Duration = Duration::from_secs(3_600);
const ALL: [Where; 4] = [Where::Hash, Where::Eq, Where::Clone, Where::Drop];

type PanickingKeys<'a> = Registry<Key, &'a ManualClock>;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as requests are passed")]
fn request(key: &u32) -> Key {
    Key(*key)
}

type Limited<'a> = InFlightLimit<ByKey<&'a PanickingKeys<'a>, fn(&u32) -> Key>, Key>;

fn act(limited: &Limited<'_>, key: u32, what: u64) {
    let keys = *limited.get_ref().registry();
    let broken = || -> String { panic!("in the words") };
    match what {
        0 => drop(limited.admit(&key).map(|it| it.report(Outcome::Success))),
        1 => drop(
            limited
                .admit(&key)
                .map(|it| it.report(Failure::new().into())),
        ),
        2 => drop(limited.admit(&key)),
        3 => drop(limited.admit(&key).map(|it| {
            it.report_shared(Failure::new().into(), ConnectionId::UNKNOWN, || {
                "lost".into()
            })
        })),
        4 => drop([0; 4].map(|_| limited.admit(&key))),
        5 => drop(keys.of(Key(key)).call_with(
            |_: &Result<(), ()>| -> Outcome { panic!("in the classifier") },
            || Ok(()),
        )),
        6 => drop(
            keys.of(Key(key))
                .call(|| -> Result<(), &str> { panic!("in the operation") }),
        ),
        7 => drop(
            keys.of(Key(key))
                .call_async(std::future::pending::<Result<(), &str>>)
                .now_or_never(),
        ),
        8 => drop(
            limited
                .admit(&key)
                .map(|it| it.report_because(Failure::tripping().into(), broken)),
        ),
        9 => drop(limited.admit(&key).map(|it| it.into_parts())),
        10 => drop(keys.command(&Key(key), |breaker| breaker.trip())),
        _ => drop(
            keys.of(Key(key))
                .acquire()
                .map(GuardPermit::failing_when_dropped),
        ),
    }
}

#[test]
fn panics_leave_no_count_and_no_probe_behind() {
    let mut random = Random(seed() | 1);
    for _ in 0..200 {
        let seed = random.0;
        let clock = ManualClock::new();
        let keys: PanickingKeys<'_> = Registry::builder(RULES)
            .clock(&clock)
            .capacity(3)
            .build()
            .unwrap();
        let request: fn(&u32) -> Key = request;
        let limited: Limited<'_> = InFlightLimit::by_key(ByKey::new(&keys, request), 2).tripping();
        for _ in 0..300 {
            let (key, what) = (random.below(5) as u32, random.below(12));
            let here = ALL[random.below(4) as usize];
            // Two panics at once abort.
            let arms = !matches!(what, 5 | 6 | 8) && random.below(2) == 0;
            arm(arms.then(|| (here, random.below(6) as u32)));
            let limit = &limited;
            let _ = catch_unwind(AssertUnwindSafe(|| act(limit, key, what)));
            arm(None);
            for key in 0..5 {
                assert_eq!(
                    limited.in_flight_of(&Key(key)),
                    0,
                    "{seed}: {what}, {here:?}"
                );
            }
            if random.below(8) == 0 {
                clock.advance(Duration::from_secs(10));
            }
        }
        clock.advance(HOUR);
        for key in 0..5 {
            let permit = (&limited)
                .admit(&key)
                .unwrap_or_else(|it| panic!("{seed}: {key} {it}"));
            permit.report(Outcome::Success);
            assert_eq!(keys.state(&Key(key)), State::Closed, "{seed}: {key}");
        }
    }
}

#[derive(Debug, Default)]
struct Loud(AtomicU64);

impl Loud {
    fn pass(&self) {
        let left = self.0.load(Ordering::Relaxed);
        self.0.store(left.saturating_sub(1), Ordering::Relaxed);
        assert_ne!(left, 1, "in the observer");
    }
}

impl atomic_breaker_server::KeyedObserver<u32> for Loud {
    fn transition(&self, _: &u32, _: &Transition) {
        self.pass();
    }
    fn rejected(&self, _: &u32, _: Rejected) {
        self.pass();
    }
    fn would_reject(&self, _: &u32, _: Rejected) {
        self.pass();
    }
    fn outcome(&self, _: &u32, _: Outcome) {
        self.pass();
    }
    fn cancelled(&self, _: &u32) {
        self.pass();
    }
}

#[test]
fn observers_that_panic_leave_no_count_and_no_probe_behind() {
    let mut random = Random(seed() | 1);
    for _ in 0..200 {
        let seed = random.0;
        let clock = ManualClock::new();
        let keys: Keys<'_, Loud> = build(&clock)
            .capacity(3)
            .max_shut_out(1)
            .observer(Loud::default())
            .build()
            .unwrap();
        let limited = InFlightLimit::by_key(ByKey::new(&keys, |key: &u32| *key), 2).tripping();
        for _ in 0..300 {
            let (key, what) = (random.below(5) as u32, random.below(6));
            // Two panics at once abort.
            let at = if what == 5 { 0 } else { random.below(5) };
            keys.observer().0.store(at, Ordering::Relaxed);
            let percent = [0, 50, 100, 100][random.below(4) as usize];
            keys.enforcement().set_percent(percent).unwrap();
            let _ = catch_unwind(AssertUnwindSafe(|| match what {
                0 => drop((&limited).admit(&key).map(|it| it.report(Outcome::Success))),
                1 => drop(
                    (&limited)
                        .admit(&key)
                        .map(|it| it.report(Failure::new().into())),
                ),
                2 => drop((&limited).admit(&key)),
                3 => drop([0; 4].map(|_| (&limited).admit(&key))),
                4 => drop(
                    keys.of(key)
                        .acquire()
                        .map(|it| it.replace(Failure::tripping().into(), || "gone".into())),
                ),
                _ => drop(
                    keys.of(key)
                        .call(|| -> Result<(), &str> { panic!("in the operation") }),
                ),
            }));
            keys.observer().0.store(0, Ordering::Relaxed);
            for key in 0..5 {
                assert_eq!(limited.in_flight_of(&key), 0, "{seed}: {what}");
            }
            if random.below(8) == 0 {
                clock.advance(Duration::from_secs(10));
            }
        }
        keys.enforcement().set_percent(100).unwrap();
        clock.advance(HOUR);
        for key in 0..5 {
            let permit = (&limited)
                .admit(&key)
                .unwrap_or_else(|it| panic!("{seed}: {key} {it}"));
            permit.report(Outcome::Success);
            assert_eq!(keys.state(&key), State::Closed, "{seed}: {key}");
        }
    }
}

/// Eight threads, through the layer and through `of`, with keys that lose their slots while permits are held.
#[test]
fn threads_in_shadow_and_eviction_leave_nothing_behind() {
    let clock = ManualClock::new();
    let keys: Keys<'_> = build(&clock)
        .capacity(8)
        .max_shut_out(2)
        .when_full(WhenFull::Reject)
        .build()
        .unwrap();
    let limited = Arc::new(InFlightLimit::by_key(
        ByKey::new(&keys, |key: &u32| *key),
        3,
    ));
    let seed = seed();
    thread::scope(|scope| {
        for number in 0..8 {
            let (limited, keys, clock) = (Arc::clone(&limited), &keys, &clock);
            scope.spawn(move || {
                let mut random = Random((seed ^ (number + 1)) | 1);
                let mut held = Vec::new();
                let mut plain = Vec::new();
                for _ in 0..20_000 {
                    let key = random.below(32) as u32;
                    let outcome = [Outcome::Success, Failure::new().into(), Outcome::Ignored]
                        [random.below(3) as usize];
                    match random.below(8) {
                        0..3 => held.extend(limited.admit(&key)),
                        3 => plain.extend(keys.of(key).acquire()),
                        4 => drop(held.pop()),
                        5 => drop(plain.pop().map(|it| it.report(outcome))),
                        6 => drop(held.pop().map(|it| it.report(outcome))),
                        _ => {
                            let _ = keys.enforcement().set_percent(random.below(101) as u8);
                            if random.below(16) == 0 {
                                clock.advance(Duration::from_secs(11));
                            }
                        }
                    }
                    if held.len() > 20 {
                        held.clear();
                    }
                    if plain.len() > 20 {
                        plain.clear();
                    }
                }
            });
        }
    });
    keys.enforcement().set_percent(100).unwrap();
    clock.advance(HOUR);
    for key in 0..32 {
        assert_eq!(limited.in_flight_of(&key), 0, "{seed}: {key}");
        let permit = limited
            .admit(&key)
            .unwrap_or_else(|it| panic!("{seed}: {key} {it}"));
        permit.report(Outcome::Success);
        assert_eq!(keys.state(&key), State::Closed, "{seed}: {key}");
    }
}
