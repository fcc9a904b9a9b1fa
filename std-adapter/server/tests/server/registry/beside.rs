// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random histories of a registry with room for all its keys, beside a bare breaker for each of them, while rules with and
//! without a failure ratio replace each other: each call is admitted, counted and trips in both alike.
//!
//! `BREAKER_SEED` repeats the histories of a run.

use atomic_breaker_server::SlidingRatio;
use atomic_breaker_server::{
    AnyPermit, Breaker, Cause, Config, Failure, Guard, GuardPermit, KeyGuard, LastCalls,
    ManualClock, Observer, Outcome, Permit, Ratio, Registry, Rejected, Rules, Tally, Token,
    Transition, WhenFull, word::AtomicU64,
};
use std::cell::Cell;

use super::threads::{Random, seed};
use super::{MS, SECOND};

const KEYS: usize = 3;
const HISTORIES: u64 = 500;
const STEPS: u32 = 200;

const PLAIN: Config = Config::new()
    .consecutive_failures(6)
    .open_for(SECOND)
    .probes(2)
    .close_after(2);

/// The ratio of the last calls, or of those within a time, with all other settings of these rules.
type Share = fn(Config) -> Config;

/// Rules that replace each other: half of them need no memory of calls.
fn rules(share: Share) -> [Config; 6] {
    [
        PLAIN,
        share(PLAIN),
        share(PLAIN.tally_only()),
        PLAIN.failures_within(5, 10 * SECOND),
        share(PLAIN.failures_within(5, 10 * SECOND)).slow_call(50 * MS),
        PLAIN.slow_call(50 * MS),
    ]
}

fn last(config: Config) -> Config {
    config.failure_ratio(Ratio::percent(50).of_last(8).min_calls(4))
}

fn within(config: Config) -> Config {
    config.failure_ratio(Ratio::percent(50).within(8 * SECOND).min_calls(4))
}

/// Remembers why it tripped.
#[derive(Default)]
struct Trips(Cell<u32>);

impl Observer for &Trips {
    fn transition(&self, made: &Transition) {
        let is_meant = made.cause == Cause::FailureRatio;
        self.0.set(self.0.get() + u32::from(is_meant));
    }
}

/// The bare breaker of a key.
struct Bare<T> {
    word: AtomicU64,
    tally: T,
}

type Keys<'a, T> = Registry<usize, &'a ManualClock, T>;

/// The permits of a call: of the registry, and of the bare breaker.
type Held<'a, T> = (usize, GuardPermit<KeyGuard<&'a Keys<'a, T>>>, Token<u64>);

struct World<'a, T: Tally> {
    clock: &'a ManualClock,
    keys: &'a Keys<'a, T>,
    bare: Vec<Bare<T>>,
    rules: [Config; 6],
    /// Those that apply now.
    current: Rules<u64>,
    held: Vec<Held<'a, T>>,
    trips: Trips,
    random: Random,
    history: Vec<String>,
}

type Model<'a, T> = Breaker<&'a ManualClock, &'a AtomicU64, &'a T, &'a Trips, &'a Rules<u64>>;

impl<T: Tally> World<'_, T> {
    fn model(&self, key: usize) -> Model<'_, T> {
        let Bare { word, tally } = &self.bare[key];
        Breaker::from_parts(word, &self.current, self.clock, tally, &self.trips)
    }

    fn acquire(&mut self, key: usize) {
        self.history.push(format!("acquire {key}"));
        let ours = self.keys.of(key).acquire();
        let bare = self
            .model(key)
            .acquire()
            .map(Permit::into_token)
            .map_err(Rejected::wait);
        match (ours, bare) {
            (Ok(permit), Ok(token)) => self.held.push((key, permit, token)),
            (Err(rejection), Err(wait)) => assert_eq!(rejection.wait(), wait),
            (ours, bare) => panic!("{ours:?}, and {bare:?} without a registry"),
        }
    }

    fn end(&mut self) {
        let index = self.random.below(self.held.len() as u64) as usize;
        let (key, permit, token) = self.held.swap_remove(index);
        let outcome = match self.random.below(16) {
            0 => None,
            1 => Some(Outcome::Ignored),
            2 => Some(Failure::with_weight(2).into()),
            3 => Some(Failure::with_weight(0).into()),
            4..10 => Some(Failure::new().into()),
            _ => Some(Outcome::Success),
        };
        self.history.push(format!("{outcome:?} of {key}"));
        let model = self.model(key);
        let bare = model.resume(token);
        let (ours, bare) = if let Some(outcome) = outcome {
            (permit.report(outcome), bare.report(outcome))
        } else {
            permit.cancel();
            bare.cancel();
            (None, None)
        };
        let seen = |made: Option<Transition>| made.map(|made| (made.to, made.cause));
        assert_eq!(seen(ours), seen(bare), "of {key}");
    }

    fn set_rules(&mut self) {
        let next = self.random.below(6) as usize;
        self.history.push(format!("rules {next}"));
        self.keys.set_config(self.rules[next]).unwrap();
        self.current = Rules::new(self.rules[next]);
    }

    fn step(&mut self) {
        match self.random.below(20) {
            0 => self.set_rules(),
            1..4 => {
                let ms = MS * (1_u32 << self.random.below(12));
                self.history.push(format!("{ms:?} later"));
                self.clock.advance(ms);
            }
            4..12 => {
                let key = self.random.below(KEYS as u64) as usize;
                self.acquire(key);
            }
            _ if self.held.is_empty() => {}
            _ => self.end(),
        }
        for key in 0..KEYS {
            let bare = self.model(key).snapshot();
            assert_eq!(self.keys.state(&key), bare.state(), "of {key}");
            let failures = self.keys.entry(&key).map_or(0, |it| it.snapshot.failures());
            assert_eq!(failures, bare.failures(), "of {key}");
        }
    }
}

/// Says what happened, if a history ends with a panic.
struct Told<'a, T: Tally>(World<'a, T>);

impl<T: Tally> Drop for Told<'_, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{}", self.0.history.join("\n"));
        }
    }
}

/// Returns how many trips by a ratio were compared.
fn compare<T: Tally>(share: Share, clock: &ManualClock, tally: impl Fn() -> T) -> u32 {
    let seed = seed();
    println!("BREAKER_SEED={seed}");
    let mut trips = 0;
    for number in 0..HISTORIES {
        clock.set_ms(3_600_000);
        let keys = Registry::<usize>::builder(PLAIN)
            .clock(clock)
            .tally(&tally)
            .when_full(WhenFull::Reject)
            .capacity(KEYS)
            .build()
            .unwrap();
        let bare = |_| Bare {
            word: AtomicU64::new(0),
            tally: tally(),
        };
        let world = World {
            clock,
            keys: &keys,
            bare: (0..KEYS).map(bare).collect(),
            rules: rules(share),
            current: Rules::new(PLAIN),
            held: Vec::new(),
            trips: Trips::default(),
            random: Random(
                seed.wrapping_add(number)
                    .wrapping_mul(0x9E37_79B9_7F4A_7C15)
                    | 1,
            ),
            history: Vec::new(),
        };
        let mut told = Told(world);
        for _ in 0..STEPS {
            told.0.step();
        }
        trips += told.0.trips.0.get();
    }
    println!("{trips} trips by a failure ratio");
    trips
}

#[test]
fn a_key_trips_by_its_last_calls_as_a_bare_breaker_does() {
    let trips = compare(last, &ManualClock::new(), LastCalls::<AtomicU64>::new);
    assert!(trips > HISTORIES as u32 / 4, "{trips}");
}

#[test]
fn a_key_trips_by_a_share_within_a_time_as_a_bare_breaker_does() {
    let clock = ManualClock::new();
    let trips = compare(within, &clock, || SlidingRatio::<_, 1>::by(&clock));
    assert!(trips > HISTORIES as u32 / 4, "{trips}");
}
