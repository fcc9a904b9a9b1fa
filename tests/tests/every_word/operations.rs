//! Every operation on a word, and what must hold after it.

use std::collections::HashSet;
use std::time::Duration;

use atomic_breaker::word::{Bits, TickBits};
use atomic_breaker::{Breaker, Cause, Failure, Outcome, Rules, State, Token, Transition};

use crate::arrows::Arrow;
use crate::memory::{Memory, Ticked};
use crate::rules::{self, Ruled};
use crate::spec::{GUARD, Kind, LONGEST, Meaning, meaning};
use crate::time::{ages, ages_of_reports};

type Bare<'a> = Breaker<&'a Memory, &'a Memory, (), &'a Memory, &'a Rules<Ticked>>;

type Command = fn(&Bare<'_>) -> Option<Transition>;

/// The times at which an age begins: a clock near its start, and one that is about to wrap.
const BASES: [u32; 2] = [1 << 20, u32::MAX - (1 << 15) + 1];

/// How a report ends a call.
const OUTCOMES: [Option<Outcome>; 7] = [
    Some(Outcome::Success),
    Some(Outcome::Failure(Failure::new())),
    Some(Outcome::Failure(Failure::with_weight(u16::MAX))),
    Some(Outcome::Failure(Failure::tripping())),
    Some(Outcome::Failure(Failure::retry_after(
        Duration::from_millis(40),
    ))),
    Some(Outcome::Ignored),
    None,
];

pub(crate) struct Bench {
    rules: Vec<(Ruled, Rules<Ticked>)>,
    memory: Memory,
    steps: u64,
    arrows: HashSet<Arrow>,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let rules = rules::all().into_iter().map(|ruled| {
            let rules = Rules::try_new(ruled.config).unwrap();
            (ruled, rules)
        });
        Self {
            rules: rules.collect(),
            memory: Memory::default(),
            steps: 0,
            arrows: HashSet::new(),
        }
    }

    pub(crate) fn end(self) -> (u64, HashSet<Arrow>) {
        (self.steps, self.arrows)
    }

    /// Every operation on a word.
    pub(crate) fn word(&mut self, word: u32) {
        let written = meaning(word);
        let is_edge = is_edge(word);
        assert_eq!(
            TickBits::<0>(word).check().is_ok(),
            written.is_some(),
            "{word:#x}"
        );
        let Self {
            rules,
            memory,
            steps,
            arrows,
        } = self;
        for (ruled, rules) in rules.iter() {
            let breaker: Bare<'_> = Breaker::from_parts(&*memory, rules, &*memory, (), &*memory);
            let mut case = Case {
                ruled,
                memory,
                breaker: &breaker,
                word,
                before: written.unwrap_or(Meaning::of_corrupt(word)),
                is_corrupt: written.is_none(),
                steps,
                arrows,
            };
            // The time of a word without one, and of one that no breaker wrote, changes nothing.
            let has_time = written.is_some_and(|it| it.time != 0 || has_time(it.kind));
            let base = BASES[usize::from(word.count_ones().is_multiple_of(2))];
            let origin = base.wrapping_add(case.before.time);
            if !has_time {
                case.calls_at(origin);
                case.commands_at(origin);
                case.reports_at(origin, true);
                continue;
            }
            for age in ages(&case.before, ruled) {
                case.calls_at(origin.wrapping_add(age));
                if is_edge {
                    case.commands_at(origin.wrapping_add(age));
                }
            }
            for age in ages_of_reports(ruled) {
                case.reports_at(origin.wrapping_add(age), is_edge);
            }
            if !is_edge {
                case.commands_at(origin);
            }
        }
    }
}

/// Words near the wraps of time and epoch, and one in 256 of the others: these are combined with every kind of permit, and
/// every age with every command. To the others time and epoch are alike, which their own permits, calls at every age, and
/// one age of each command show.
const fn is_edge(word: u32) -> bool {
    let time = word >> 13 & 0x7FFF;
    let is_near_wrap = time < 4 || time > 0x7FFF - 4;
    let is_picked = word.wrapping_mul(0x85EB_CA6B) >> 24 == 0;
    is_near_wrap || is_picked
}

const fn has_time(kind: Kind) -> bool {
    matches!(kind, Kind::Open | Kind::HalfOpen | Kind::Returning)
}

/// A word with rules, and the operations on it.
struct Case<'a> {
    ruled: &'a Ruled,
    memory: &'a Memory,
    breaker: &'a Bare<'a>,
    word: u32,
    before: Meaning,
    is_corrupt: bool,
    steps: &'a mut u64,
    arrows: &'a mut HashSet<Arrow>,
}

impl Case<'_> {
    fn calls_at(&mut self, now_ms: u32) {
        self.memory.now_ms.set(now_ms);
        self.snapshot();
        for random in [0, u32::MAX] {
            self.memory.random.set(random);
            self.acquire();
            if self.before.kind != Kind::Returning {
                break;
            }
        }
        self.served_again();
    }

    fn commands_at(&mut self, now_ms: u32) {
        self.memory.now_ms.set(now_ms);
        self.commands();
    }

    fn reports_at(&mut self, now_ms: u32, is_edge: bool) {
        self.memory.now_ms.set(now_ms);
        let tokens = self.tokens();
        let tokens = if is_edge { &tokens } else { &tokens[..1] };
        for &granted in tokens {
            for outcome in OUTCOMES {
                self.report(granted, outcome, 0);
                if is_edge && self.ruled.measures {
                    // Too slow, and not.
                    for took in [0, 4, 5] {
                        self.report(granted, outcome, now_ms.wrapping_sub(took).max(1));
                    }
                }
            }
        }
    }

    /// What is true in any case.
    fn begin(&self) {
        self.memory.word.set(self.word);
        self.memory.made.set(None);
        self.memory.transitions.set(0);
    }

    /// Whether an open word ends when its transition says; and, by rules that neither grow nor add jitter, when those say.
    fn opens_for(&self, made: Transition, after: &Meaning) -> bool {
        let left = after.open_for.cast_signed() - after.age(self.memory.now_ms.get());
        let config = &self.ruled.config;
        let is_plain = config.growth.is_none() && config.jitter_percent == 0;
        // A probe that failed may have asked for more.
        let is_own = made.cause == Cause::FailureLimit;
        u32::try_from(left) == Ok(made.open_for_ms)
            && !(is_plain && is_own && made.open_for_ms != config.open_for_ms)
    }

    /// Checks what is true after any operation, and returns what the word means now.
    fn end(&mut self, what: &str) -> Meaning {
        *self.steps += 1;
        let fault = |why: &str| -> ! {
            panic!(
                "{why}: {what} of {:#010x} at {} with {:?}: {:#010x}, {:?}",
                self.word,
                self.memory.now_ms.get(),
                self.ruled.config,
                self.memory.word.get(),
                self.memory.made.get(),
            )
        };
        let word = self.memory.word.get();
        if word == self.word && self.is_corrupt {
            // It was not used.
            return self.before;
        }
        let Some(after) = meaning(word) else {
            fault("not valid any more");
        };
        let transitions = self.memory.transitions.get();
        let epochs = after.epoch.wrapping_sub(self.before.epoch) % 16;
        // One that was corrupt is replaced first, which is a transition, too.
        if epochs != transitions % 16 || transitions > 1 + u32::from(self.is_corrupt) {
            fault("another epoch than there were transitions");
        }
        if let Some(made) = self.memory.made.get() {
            let is_same = made.to == after.state()
                && u32::from(made.epoch) == after.epoch
                && u32::from(made.trips) == after.trips
                && (made.to != State::Open || self.opens_for(made, &after));
            if !is_same {
                fault("not what was reported");
            }
            if !self.is_corrupt && made.from != self.before.state() {
                fault("from another state");
            }
            self.arrows.insert((made.from, made.to, made.cause));
        } else if !self.is_corrupt && after.state() != self.before.state() {
            fault("another state, and nobody knows");
        }
        let most = self.ruled.probes.max(self.before.in_flight);
        if after.in_flight > most {
            fault("more probes in flight than the rules allow");
        }
        after
    }
}

/// What is true after one operation.
impl Case<'_> {
    fn snapshot(&mut self) {
        self.begin();
        let snapshot = self.breaker.snapshot();
        assert_eq!(self.memory.word.get(), self.word, "looking changes nothing");
        assert_eq!(snapshot.state(), self.before.state(), "{:#x}", self.word);
        *self.steps += 1;
    }

    fn acquire(&mut self) {
        self.begin();
        let answer = self.breaker.acquire();
        let answer = answer.map(|permit| {
            let is_probe = permit.is_probe();
            let _ = permit.into_token();
            is_probe
        });
        let after = self.end("a call");
        let before = &self.before;
        let age = before.age(self.memory.now_ms.get());
        let retry_in = answer.err().and_then(|rejected| rejected.retry_in_ms());
        let word = self.memory.word.get();
        let is_same = self.is_corrupt || word == self.word;
        let is_right = match (before.kind, answer) {
            (Kind::Closed | Kind::Disabled, answer) => answer == Ok(false) && is_same,
            (Kind::ForcedOpen, answer) => answer.is_err() && retry_in.is_none() && is_same,
            (Kind::Open, Err(_)) => {
                let left = before.open_for.cast_signed() - age;
                left > 0 && retry_in == Some(left.cast_unsigned()) && is_same
            }
            (Kind::Open, Ok(is_probe)) => {
                let is_first = after.in_flight == 1 && after.lost == 0;
                age >= before.open_for.cast_signed()
                    && is_probe
                    && after.kind == Kind::HalfOpen
                    && is_first
            }
            (Kind::HalfOpen, Err(_)) => before.in_flight > 0 && retry_in.is_some() && is_same,
            (Kind::HalfOpen, Ok(is_probe)) => {
                let is_next = after.in_flight == before.in_flight + 1;
                is_probe && after.kind == Kind::HalfOpen && (is_next || after.in_flight == 1)
            }
            (Kind::Returning, Ok(is_probe)) => !is_probe,
            (Kind::Returning, Err(_)) => retry_in.is_some() && is_same,
        };
        assert!(
            is_right,
            "{before:?} at the age of {age} with {:?}: {answer:?}, {retry_in:?}, {after:?}",
            self.ruled.config
        );
    }

    /// Words with which a call may have been granted: this one, those of earlier epochs, one that has nothing to do with it.
    fn tokens(&self) -> [u32; 6] {
        let earlier = |epochs: u32| self.word.wrapping_sub(epochs << 28);
        // Closed with nothing counted, and half-open after as many trips.
        let closed = |word: u32| word & (0xF << 28);
        let half_open = |word: u32| word & !0x3 | 2;
        [
            self.word,
            closed(self.word),
            closed(earlier(1)),
            half_open(self.word),
            half_open(earlier(1)),
            !self.word,
        ]
    }

    fn report(&mut self, granted: u32, outcome: Option<Outcome>, started_ms: u32) {
        self.begin();
        let permit = self
            .breaker
            .resume(Token::from_raw(TickBits(granted), started_ms));
        let made = match outcome {
            Some(outcome) => permit.report(outcome),
            None => permit.cancel(),
        };
        if !self.is_corrupt {
            assert_eq!(made, self.memory.made.get(), "returned as it was reported");
        }
        let after = self.end("a report");
        let frees = self.before.in_flight.saturating_sub(after.in_flight);
        assert!(
            made.is_some() || frees <= 1,
            "{:?} with {granted:#x}, {outcome:?}: {after:?}",
            self.before
        );
    }

    fn commands(&mut self) {
        let commands: [(&str, Command); 9] = [
            ("trip", |it| it.trip()),
            ("trip_for", |it| it.trip_for(Duration::from_millis(30))),
            ("force_open", |it| it.force_open()),
            ("release", |it| it.release()),
            ("reset", |it| it.reset()),
            ("disable", |it| it.disable()),
            ("enable", |it| it.enable()),
            ("probe_now", |it| it.probe_now()),
            ("probe_early", |it| it.probe_early()),
        ];
        for (name, command) in commands {
            self.begin();
            let made = command(self.breaker);
            let after = self.end(name);
            let is_right = match name {
                "force_open" => after.kind == Kind::ForcedOpen,
                "disable" => after.kind == Kind::Disabled,
                "reset" => after.kind == Kind::Closed,
                _ => true,
            };
            assert!(is_right, "{name} of {:?}: {made:?}, {after:?}", self.before);
        }
        self.begin();
        let is_freed = self.breaker.retire();
        *self.steps += 1;
        let after = meaning(self.memory.word.get());
        let is_right = match after {
            Some(after) if is_freed => {
                let epoch = (self.before.epoch + 1) % 16;
                after.kind == Kind::Closed && (self.is_corrupt || after.epoch == epoch)
            }
            _ => self.is_corrupt || self.memory.word.get() == self.word,
        };
        assert!(
            is_right,
            "retire of {:?}: {is_freed}, {after:?}",
            self.before
        );
    }

    /// Asks again whenever the rejection says, with dice that never let a call pass before all do.
    fn served_again(&mut self) {
        self.begin();
        self.memory.random.set(u32::MAX);
        let lease = (self.ruled.lease << self.before.lost.min(4)).min(LONGEST);
        let bound = self.before.open_for + lease + self.ruled.span + GUARD + 2;
        let begin = self.memory.now_ms.get();
        loop {
            *self.steps += 1;
            let Err(rejected) = self.breaker.acquire().map(|permit| permit.into_token()) else {
                return;
            };
            if self.before.kind == Kind::ForcedOpen {
                return;
            }
            let wait = rejected.retry_in_ms().expect("a time").max(1);
            let now = self.memory.now_ms.get().wrapping_add(wait);
            self.memory.now_ms.set(now);
            let waited = now.wrapping_sub(begin);
            assert!(
                waited <= bound,
                "{:?} with {:?}: shut for {waited} of {bound}",
                self.before,
                self.ruled.config
            );
        }
    }
}
