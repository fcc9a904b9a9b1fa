// SPDX-License-Identifier: MIT OR Apache-2.0
//! Histories as lines of JSON, for the specification of the word in `tests/proof`, which `second_author.py` there plays.
//!
//! A step is written down after the real breaker was compared with the reference, and as the reference has it.

use std::env;
use std::fs::File;
use std::io::{BufWriter, Write as _};

use atomic_breaker::word::{AtomicU32, AtomicU64, Ticks, Word};
use atomic_breaker::{State, Token};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use tests::reference::{Command, Grain, Growth, Mode, Report, Return, Rules, Trip, retry_in};

use super::event::{Event, events};
use super::pair::Pair;
use super::rules::{Kind, rule_sets, rules};
use super::seed::random;

/// The operation of a step, by its name in the specification, and its numbers by theirs.
type Did = (&'static str, Vec<(&'static str, u64)>);

/// Time passes, or nobody has a permit to report.
const LOOK: Did = ("look", Vec::new());

/// A history that is being written down.
struct Record<W: Word> {
    pair: Pair<W, ()>,
    sets: usize,
    steps: Vec<String>,
}

impl<W: Word> Record<W> {
    fn of(word: W, (sets, start, events, others): History) -> String {
        let mut record = Self {
            pair: Pair::new(word, (), &sets, start).unwrap(),
            sets: sets.len(),
            steps: Vec::new(),
        };
        for (event, other) in events.into_iter().zip(others.into_iter().cycle()) {
            record.step(event, other);
        }
        let (bits, tick) = (8 * size_of::<W::Bits>(), sets[0].grain.tick);
        let rules: Vec<_> = sets.iter().map(rules_by_name).collect();
        let (rules, steps) = (rules.join("},{"), record.steps.join("},{"));
        format!(r#"{{"bits":{bits},"tick":{tick},"rules":[{{{rules}}}],"steps":[{{{steps}}}]}}"#)
    }

    /// A step; `other` makes it one of those that no event is.
    fn step(&mut self, event: Event, other: u8) {
        let mut event = event;
        if let Event::LoseRounds(count) = event {
            for _ in 0..count {
                self.step(Event::Acquire(0), u8::MAX);
                self.step(Event::AdvanceToDeadline(0), u8::MAX);
            }
            return;
        }
        match &mut event {
            Event::Report(_, report @ Report::Failure(_)) if other < 32 => *report = Report::Slow,
            Event::Report(_, Report::Failure(weight)) if other < 64 => *weight <<= other % 14,
            _ => {}
        }
        let mut did = self.does(event);
        let reference = &self.pair.reference;
        match event {
            Event::Report(caller, Report::Success) if other < 64 => {
                if let Some(at) = self.held(caller) {
                    // A success without a call has no time of its own.
                    let (token, mut permit) = self.pair.held.remove(at);
                    permit.started = None;
                    let token = Token::from_raw(token.into_raw().0, 0);
                    self.pair.held.insert(at, (token, permit));
                    did.0 = "success_elsewhere";
                }
            }
            Event::Operator(Command::Reset) if other < 128 => {
                let frees = reference.wait().is_none() && reference.state() != State::Disabled;
                did = ("retire", vec![("freed", frees.into())]);
                if !frees {
                    event = Event::Advance(0);
                }
            }
            _ => {}
        }
        let before = self.pair.reference.admitted;
        self.pair.step(event).unwrap();
        if let Event::Acquire(_) = event {
            let reference = &self.pair.reference;
            did.1.push(match reference.wait() {
                Some(wait) if reference.admitted == before => {
                    let wait = retry_in(reference.state(), wait);
                    (
                        "rejected",
                        wait.map_or(u32::MAX.into(), |time| time.as_millis() as u64),
                    )
                }
                _ => ("admitted", reference.admitted),
            });
        }
        self.note(did);
    }

    /// Takes one event of a history, and writes its steps.
    fn does(&self, event: Event) -> Did {
        let number = |name, number| (name, vec![("number", number)]);
        let nothing = |name| (name, Vec::new());
        match event {
            Event::Acquire(dice) => ("acquire", vec![("dice", dice.into())]),
            Event::Report(caller, report) => match report {
                Report::Success => self.reports(caller, "success", 0),
                Report::Failure(weight) => self.reports(caller, "failure", weight.into()),
                Report::Slow => self.reports(caller, "slow", 0),
                Report::TripAtOnce => self.reports(caller, "tripping", 0),
                Report::TripFor(ms) => self.reports(caller, "tripping_for", ms),
                Report::RetryAfter(ms) => self.reports(caller, "retry_after", ms),
                Report::Nothing => self.reports(caller, "ignored", 0),
            },
            Event::Drop(caller) => self.reports(caller, "cancel", 0),
            Event::DropAttempt(caller) => self.reports(caller, "attempt", 0),
            Event::Renew(caller) => self.reports(caller, "renew", 0),
            Event::Operator(command) => match command {
                Command::Trip => nothing("trip"),
                Command::TripFor(ms) => number("trip_for", ms),
                Command::ForceOpen => nothing("force_open"),
                Command::Release => nothing("release"),
                Command::Reset => nothing("reset"),
                Command::Disable => nothing("disable"),
                Command::Enable => nothing("enable"),
                Command::ProbeNow => nothing("probe_now"),
                Command::ProbeEarly => nothing("probe_early"),
            },
            Event::Restore(None) => nothing("restore"),
            Event::Restore(Some(ms)) => number("restore_after", ms),
            Event::RestoreRunning => nothing("restore_running"),
            Event::Rules(set) => number("rules", (set % self.sets) as u64),
            _ => LOOK,
        }
    }

    fn held(&self, caller: usize) -> Option<usize> {
        let count = self.pair.held.len();
        (count != 0).then(|| count - 1 - caller % count)
    }

    /// A report of a permit, if there is any.
    fn reports(&self, caller: usize, name: &'static str, number: u64) -> Did {
        let Some(at) = self.held(caller) else {
            return LOOK;
        };
        let mut permit = self.pair.held[at].1;
        let counts = self.pair.reference.still_counts(permit).into();
        let mut numbers = vec![
            ("token", permit.number),
            ("number", number),
            ("counts", counts),
        ];
        if name == "renew" {
            let renewed = self.pair.reference.clone().renew(&mut permit);
            numbers.push(("renewed", renewed.into()));
        }
        (name, numbers)
    }

    /// The end of a step: what observers are told, and what is seen.
    fn note(&mut self, (name, numbers): Did) {
        let reference = &self.pair.reference;
        let view = reference.view();
        let time = match reference.mode {
            Mode::Closed {
                window_began: time, ..
            }
            | Mode::Open { began: time, .. }
            | Mode::Probing { last: time, .. }
            | Mode::Returning { began: time, .. } => time,
            Mode::Held(_) => 0,
        };
        let seen = [
            view.state as u64,
            view.entered as u64,
            reference.generation,
            view.trips.into(),
            time,
            view.failures.into(),
            view.in_flight as u64,
            view.successes.into(),
            view.lost_rounds.into(),
            view.open_for.unwrap_or(0),
            view.is_demanded.into(),
            view.wait.is_some().into(),
        ];
        let now = reference.now as u32;
        let numbers = by_name(numbers.into_iter().chain([("now", now.into())]));
        let notice = reference.noticed.map(|notice| {
            let (cause, from, to) = (notice.cause, notice.from as u64, notice.to as u64);
            let numbers = [from, to, notice.trips.into(), notice.open_for];
            format!(r#","cause":"{cause:?}","told":{numbers:?}"#)
        });
        let notice = notice.unwrap_or_default();
        self.steps.push(format!(
            r#""do":"{name}",{numbers}{notice},"seen":{seen:?}"#
        ));
    }
}

fn by_name(numbers: impl IntoIterator<Item = (&'static str, u64)>) -> String {
    let all = numbers
        .into_iter()
        .map(|(name, number)| format!(r#""{name}":{number}"#));
    all.collect::<Vec<_>>().join(",")
}

/// The rules, by the names of the settings. What is not set is not there, but for growth of 0 percent.
fn rules_by_name(rules: &Rules) -> String {
    let (trip, failures, time) = match rules.trip {
        Trip::InARow(failures) => (0, failures, 0),
        Trip::Lasting(failures, time) => (1, failures, time),
        Trip::Within(failures, time) => (2, failures, time),
        Trip::ByRatio => unreachable!("needs a tally"),
    };
    let (percent, step, longest) = match rules.growth {
        Some(Growth::Times(factor, most)) => (100 * factor, 0, most),
        Some(Growth::Percent(percent, most)) => (percent, 0, most),
        Some(Growth::Plus(step, most)) => (100, step, most),
        None => (0, 0, 0),
    };
    let numbers = [
        ("rule", trip),
        ("failures", failures.into()),
        ("time_ms", time),
        ("open_ms", rules.open_for),
        ("percent", percent),
        ("step_ms", step),
        ("longest_ms", longest),
        ("jitter", rules.jitter.0),
        ("seed", rules.jitter.1.into()),
        ("probes", rules.probes as u64),
        ("close", rules.close_after.into()),
        ("lease_ms", rules.lease),
        ("cancel_ms", rules.cancel_limit),
    ];
    let retry = rules.max_retry_after.map(|ms| ("retry_ms", ms));
    let slow = rules.slow.map(|ms| ("slow_ms", ms));
    let returning = rules.returning.map(|back| {
        [
            ("over_ms", back.over),
            ("first_percent", back.first_percent),
        ]
    });
    let others = retry
        .into_iter()
        .chain(slow)
        .chain(returning.into_iter().flatten());
    by_name(numbers.into_iter().chain(others))
}

type History = (Vec<Rules>, u32, Vec<Event>, Vec<u8>);

/// Random histories. One of four begins with what is rare by chance: failures of a row that must last, or of a window, while
/// traffic returns; or reports of two probes after a change of the rules to one at a time.
fn histories(grain: Grain, guard: i64) -> impl Strategy<Value = History> {
    let rules = rules(grain, Kind::Plain);
    let rare = (
        rules,
        1_u32..4,
        1_u64..5_000,
        1_u64..=1 << 17,
        any::<bool>(),
    );
    let plain = rule_sets(grain, Kind::Plain);
    let sets = prop_oneof![plain, rule_sets(grain, Kind::WithJitter)];
    let others = prop::collection::vec(any::<u8>(), 300);
    let rare = prop::option::weighted(0.25, rare);
    let all = (sets, any::<u32>(), events(guard), others, rare);
    all.prop_map(move |(mut sets, start, mut events, others, rare)| {
        if let Some((mut rules, limit, time, over, is_row)) = rare {
            let longest = grain.longest_ms();
            let (time, over) = (time.min(longest), over.min(longest));
            let after = u64::from(start) % (2 * over);
            rules.trip = match limit {
                3 => Trip::Within(limit, time),
                _ => Trip::Lasting(limit, time),
            };
            (rules.probes, rules.close_after, rules.slow) = (1, 1, None);
            // The last dice that pass as traffic begins to return, and the first that do not.
            let first_percent = 50;
            let dice = [50 * 42_949_673 - 1, 50 * 42_949_673].map(Event::Acquire);
            rules.returning = Some(Return {
                first_percent,
                over,
            });
            sets = vec![rules, rules];
            (sets[1].probes, sets[1].close_after) = (2, 3);
            let (acquire, trip) = (Event::Acquire(0), Event::Operator(Command::Trip));
            let report = |report| Event::Report(0, report);
            let (due, after) = (Event::AdvanceToDeadline(0), Event::Advance(after));
            let failure = [acquire, report(Report::Failure(1))];
            let mut row = vec![trip, due, acquire, report(Report::Success)];
            row.extend([dice[0], dice[1], after]);
            let back = Event::Report(limit as usize % 2, Report::Nothing);
            let mut crowd = vec![Event::Rules(1), trip, due, acquire, after, acquire];
            crowd.extend([Event::Rules(0), back, failure[1]]);
            let before = if is_row {
                [row, failure.repeat(8)].concat()
            } else {
                crowd
            };
            events.splice(0..0, before);
        }
        (sets, start, events, others)
    })
}

fn narrow() -> AtomicU32 {
    AtomicU32::new(0)
}

#[test]
#[ignore = "writes histories for tests/proof/second_author.py, which runs it"]
fn histories_are_recorded_for_the_specification() {
    let to = env::var("ATOMIC_BREAKER_HISTORIES_TO").expect("a file or fifo");
    let count = env::var("ATOMIC_BREAKER_HISTORIES").expect("how many");
    let count: usize = count.parse().expect("a whole number");
    let mut out = BufWriter::new(File::create(to).unwrap());
    let random = random(tests::random::seed(), "specified");
    let mut runner = TestRunner::new_with_rng(ProptestConfig::default(), random);
    for number in 0..count {
        let mut draw = |grain, guard| {
            let history = histories(grain, guard).new_tree(&mut runner);
            history.unwrap().current()
        };
        let line = match number % 6 {
            0 | 3 => Record::of(AtomicU64::new(0), draw(Grain::WIDE, 1 << 16)),
            1 => Record::of(Ticks::<_, 0>(narrow()), draw(Grain::narrow(1), 64)),
            2 => Record::of(Ticks::<_, 10>(narrow()), draw(Grain::narrow(1_024), 64)),
            _ => Record::of(Ticks::<_, 6>(narrow()), draw(Grain::narrow(64), 64)),
        };
        writeln!(out, "{line}").unwrap();
    }
    out.flush().unwrap();
}
