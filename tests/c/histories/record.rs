// SPDX-License-Identifier: MIT OR Apache-2.0
//! Histories as lines of JSON, for implementations in other languages: `tests/conformance/README.md` says what is in them.
//!
//! A step is written down after it was compared, so what it shows is what the reference showed.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::{env, fs};

use atomic_breaker::Wait;
use atomic_breaker::word::{AtomicU64, Retained};
use atomic_breaker_c::types::CSettings;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use tests::reference::{Command, Grain, Growth, Report, Return, Rules, Trip, View};

use super::event::{Event, events};
use super::given::settings;
use super::pair::Pair;
use super::rules::{Kind, rule_sets};
use super::seed::random;
use super::through::{How, Side as _, Since};

/// The version of the lines' content and meaning: that of the shared file, whose words they show.
const VERSION: u32 = 2;

/// A history that is being written down.
pub(super) struct Record {
    line: String,
    /// The act of this step and its answer, if it does anything.
    pub(super) did: String,
}

impl Record {
    fn new(rules: &[Rules], start: u32) -> Self {
        let sets: Vec<_> = rules.iter().map(settings).map(named).collect();
        let sets = sets.join(",");
        Self {
            line: format!(r#"{{"version":{VERSION},"start":{start},"rules":[{sets}],"steps":["#),
            did: String::new(),
        }
    }

    /// The end of a step: what the breaker shows, with the wait that C is told.
    pub(super) fn shows(&mut self, now_ms: u32, word: u64, view: View, epoch: u64, wait_ms: u32) {
        if self.did.is_empty() {
            return;
        }
        let comma = if self.line.ends_with('[') { "" } else { "," };
        let (did, also) = (&self.did, also(view));
        let (state, failures, trips) = (view.state as u32, view.failures, view.trips);
        let _ = write!(
            self.line,
            r#"{comma}{{"now":{now_ms},"do":{did},"word":"{word:016x}","shows":[{state},{failures},{trips},{epoch},{wait_ms}]{also}}}"#
        );
        self.did.clear();
    }

    fn finish(self) -> String {
        self.line + "]}"
    }
}

/// Settings by the names of C.
fn named(settings: CSettings) -> String {
    macro_rules! fields {
        ($($field:ident)*) => {
            [$(format!(r#""{}":{}"#, stringify!($field), settings.$field)),*].join(",")
        };
    }
    let fields = fields!(
        failures window_ms lasting_ms open_ms growth_percent growth_step_ms max_open_ms jitter_percent seed max_retry_after_ms
        probes close_after probe_lease_ms cancel_limit_ms slow_call_ms return_first_percent return_over_ms
    );
    format!("{{{fields}}}")
}

/// The fields that only a reader of the word shows, by the names of `around/docs/shared-file.md`: what is not 0, false or
/// none.
fn also(view: View) -> String {
    let wait = view.wait.map(|wait| match wait {
        Wait::For(time) | Wait::AtMost(time) => time.as_millis() as u64,
        Wait::UntilReleased => 0,
    });
    let positive = |number: u64| (number > 0).then_some(number);
    let numbers = [
        ("opened_at", view.opened_at.map(u64::from)),
        ("open_for", view.open_for),
        ("in_flight", positive(view.in_flight as u64)),
        ("successes", positive(view.successes.into())),
        ("lost", positive(view.lost_rounds.into())),
        ("percent", view.returning_percent),
        ("wait", wait),
    ];
    let mut all = Vec::new();
    for (name, number) in numbers {
        all.extend(number.map(|number| format!(r#""{name}":{number}"#)));
    }
    for (name, is_so) in [("demanded", view.is_demanded), ("due", view.is_due)] {
        all.extend(is_so.then(|| format!(r#""{name}":true"#)));
    }
    if all.is_empty() {
        return String::new();
    }
    format!(r#","also":{{{}}}"#, all.join(","))
}

/// A call that may be made, with this number of its token.
pub(super) fn admitted(token: u64, trips: u32) -> String {
    format!(r#""acquire","admitted":true,"token":{token},"trips":{trips}"#)
}

/// A call that may not be made.
pub(super) fn rejected(wait_ms: u32) -> String {
    format!(r#""acquire","admitted":false,"wait":{wait_ms}"#)
}

/// A report of this token, by its name in C.
pub(super) fn report(how: How, token: u64, has_changed: bool) -> String {
    let (name, argument) = match how {
        How::Report(succeeded) => ("report", format!(r#","succeeded":{succeeded}"#)),
        How::Ignore => ("ignore", String::new()),
        How::Failures(weight) => ("report_failures", format!(r#","weight":{weight}"#)),
        How::Down(ms) => ("report_down", format!(r#","at_least_ms":{ms}"#)),
        How::RetryAfter(ms) => ("report_retry_after", format!(r#","at_least_ms":{ms}"#)),
        How::Cancel => ("cancel", String::new()),
        How::Renew => return format!(r#""renew","token":{token},"holds":{has_changed}"#),
    };
    format!(r#""{name}","token":{token}{argument},"changed":{has_changed}"#)
}

/// A command, as `through.c` numbers them.
pub(super) fn command(which: i32, number: u32, has_changed: bool) -> String {
    let names = [
        "trip",
        "force_open",
        "release",
        "disable",
        "enable",
        "reset",
        "probe_now",
    ];
    let argument = match which {
        0 => format!(r#","at_least_ms":{number}"#),
        _ => String::new(),
    };
    format!(
        r#""{}"{argument},"changed":{has_changed}"#,
        names[which as usize]
    )
}

/// A word that is taken up again.
pub(super) fn restore(since: Since) -> String {
    match since {
        Since::Unknown => r#""restore""#.to_owned(),
        Since::After(ms) => format!(r#""restore_after","asleep_ms":{ms}"#),
        Since::Running => r#""restore_running""#.to_owned(),
    }
}

/// Any bits, mostly those that look like some state.
fn any_word() -> impl Strategy<Value = u64> {
    // Without trips, without a payload, without either, with a small payload, and closed with at most the highest bit of the
    // failures.
    let masks = [!0, !0x7C, !0x7F_FF80, !0x7F_FFFC, !0x7F_FC7C, !0x3F_FFFF];
    let mask = prop::sample::select(masks.to_vec());
    // Some in the last epoch, before the wrap.
    let last = prop::sample::select(vec![0, 0, 0, 0x1FF << 55]);
    (any::<u64>(), mask, last).prop_map(|(bits, mask, last)| bits & mask | last)
}

/// A word that something else has written, and a call of a breaker that finds it. The reference knows of no such words: what
/// is shown and answered is what the library does.
fn find(record: &mut Record, pair: &Pair<AtomicU64, ()>, succeeded: bool, token: u64) {
    let (word, rules, now_ms) = (pair.kept.word(), pair.rules(), pair.now_ms());
    let mut shows = |did: String| {
        record.did = did;
        let seen = u64::snapshot(word, rules, now_ms);
        let view = View::from(pair.view());
        record.shows(now_ms, pair.bits(), view, seen.epoch.into(), seen.wait_ms);
    };
    let bits = pair.bits();
    shows(r#""word""#.to_owned());
    // Closed with a time and no failure: whether a call that passes makes it right is not promised.
    if bits & 0x7F_FFFF == 0 && (bits >> 23) as u32 != 0 {
        return;
    }
    let mut permit = u64::acquire(word, rules, now_ms);
    if !permit.admitted {
        return shows(rejected(permit.wait_ms));
    }
    shows(admitted(token, u64::trips(&raw const permit.token)));
    let how = How::Report(succeeded);
    let has_changed = u64::report(how, word, rules, &mut permit.token, now_ms);
    shows(report(how, token, has_changed));
}

/// Rules of a row that must last also while traffic returns.
fn rare_rules() -> impl Strategy<Value = Rules> {
    let returns = (1_u64..=100, 1_u64..=1 << 17);
    let returns = returns.prop_map(|(first_percent, over)| Return {
        first_percent,
        over,
    });
    let trips = (1_u32..4, 1_u64..5_000).prop_map(|(limit, time)| Trip::Lasting(limit, time));
    let any = super::rules::rules(Grain::WIDE, Kind::Plain);
    (any, trips, returns, 1_u64..20_000).prop_map(|(any, trip, returns, open_for)| Rules {
        trip,
        open_for,
        growth: Some(Growth::Times(2, 16 * open_for)),
        returning: Some(returns),
        probes: 1,
        close_after: 1,
        slow: None,
        ..any
    })
}

/// Trips, and probes that succeed; then failures while traffic returns.
fn rare_events() -> impl Strategy<Value = Vec<Event>> {
    let recovery = [
        Event::Operator(Command::Trip),
        Event::AdvanceToDeadline(0),
        Event::Acquire(0),
        Event::Report(0, Report::Success),
    ];
    let after = prop_oneof![1 => Just(0), 3 => 0_u64..1 << 20];
    (1_usize..6, after, 1_usize..8).prop_map(move |(trips, after, failures)| {
        let failure = [Event::Acquire(0), Event::Report(0, Report::Failure(1))];
        let mut events = recovery.repeat(trips);
        events.push(Event::Advance(after));
        events.extend(failure.repeat(failures));
        events
    })
}

/// A line for each history, of at most so many events and a few calls that find any word.
fn lines(seed: u64, most_events: usize) -> impl Iterator<Item = String> {
    let found = prop::collection::vec((any_word(), any::<bool>()), 4);
    let (sets, events) = (rule_sets(Grain::WIDE, Kind::Plain), events(1 << 16));
    let rare = (rare_rules(), rare_events());
    let drawn = (
        sets,
        any::<u32>(),
        events,
        found,
        prop::option::weighted(0.25, rare),
    );
    let mut runner = TestRunner::new_with_rng(ProptestConfig::default(), random(seed, "recorded"));
    std::iter::repeat_with(move || {
        let drawn = drawn.new_tree(&mut runner).unwrap().current();
        let (mut rules, start, mut events, found, rare) = drawn;
        if let Some((first, before)) = rare {
            rules[0] = first;
            events.splice(0..0, before);
        }
        let mut pair = Pair::<AtomicU64, ()>::new(&rules, start).unwrap();
        pair.record = Some(Record::new(&rules, start));
        for event in events.into_iter().take(most_events) {
            pair.step(event).unwrap();
        }
        let next = pair.reference.admitted + 1;
        let mut record = pair.record.take().unwrap();
        for (token, (bits, succeeded)) in (next..).zip(found) {
            *pair.kept = Retained::over(AtomicU64::new(bits));
            find(&mut record, &pair, succeeded, token);
        }
        record.finish()
    })
}

#[test]
#[ignore = "tests/conformance/run says where to, and how many"]
fn histories_are_recorded_for_other_languages() {
    let to = env::var("ATOMIC_BREAKER_HISTORIES_TO").expect("a file or fifo");
    let count = env::var("ATOMIC_BREAKER_HISTORIES").expect("how many");
    let count = count.parse().expect("a whole number");
    let mut out = BufWriter::new(File::create(to).unwrap());
    for line in lines(tests::random::seed(), usize::MAX).take(count) {
        writeln!(out, "{line}").unwrap();
    }
    out.flush().unwrap();
}

/// The seed of the sample.
const SEED: u64 = 1;

#[test]
fn the_sample_of_recorded_histories_is_what_its_seed_gives() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/sample.jsonl");
    let lines = lines(SEED, 24).take(20);
    let sample = lines.fold(String::new(), |all, line| all + &line + "\n");
    if env::var_os("ATOMIC_BREAKER_WRITE_SAMPLE").is_some() {
        fs::write(&path, &sample).unwrap();
    }
    let kept = fs::read_to_string(path).unwrap_or_default();
    assert!(
        kept == sample,
        "tests/conformance/sample.jsonl is another one: `tests/conformance/run --sample` writes it"
    );
}
