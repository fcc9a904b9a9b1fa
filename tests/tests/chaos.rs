//! Words of other kinds than a plain atomic: one whose exchange fails most of the time for no reason,
//! as `compare_exchange_weak` may, and the one behind a critical section. Whatever the word, a history
//! comes out the same, and every loop ends.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::Duration;

use atomic_breaker::word::{AtomicU32 as Narrow, AtomicU64 as Wide, Bits, SectionWord, Word};
use atomic_breaker::{
    AnyBreaker, Breaker, Cause, Clock, Config, Control, Failure, LastCalls, ManualClock, Observer,
    Outcome, Permit, Ratio, Token, Transition,
};

/// A word whose exchange fails spuriously, seven times in eight.
struct Moody<W> {
    word: W,
    dice: AtomicU64,
    succeeded: AtomicU64,
    spurious: AtomicU64,
}

impl<W> Moody<W> {
    fn new(word: W, seed: u64) -> Self {
        Self {
            word,
            dice: AtomicU64::new(seed),
            succeeded: AtomicU64::new(0),
            spurious: AtomicU64::new(0),
        }
    }
}

impl<W: Word> Word for Moody<W> {
    type Bits = W::Bits;

    fn load(&self, order: Ordering) -> W::Bits {
        self.word.load(order)
    }

    fn compare_exchange_weak(
        &self,
        current: W::Bits,
        new: W::Bits,
        success: Ordering,
        failure: Ordering,
    ) -> Result<W::Bits, W::Bits> {
        let throw = self.dice.fetch_add(GAMMA, Ordering::Relaxed);
        if !mix(throw).is_multiple_of(8) {
            self.spurious.fetch_add(1, Ordering::Relaxed);
            return Err(self.word.load(failure));
        }
        let result = self
            .word
            .compare_exchange_weak(current, new, success, failure);
        self.succeeded
            .fetch_add(u64::from(result.is_ok()), Ordering::Relaxed);
        result
    }
}

/// Keeps what was told.
#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl Observer for Heard {
    fn transition(&self, transition: &Transition) {
        self.0.lock().unwrap().push(format!("{transition:?}"));
    }

    fn outcome(&self, outcome: Outcome) {
        self.0.lock().unwrap().push(format!("{outcome:?}"));
    }

    fn cancelled(&self) {
        self.0.lock().unwrap().push("cancelled".to_owned());
    }
}

/// Lets a thousand things happen to a breaker, and answers all that can be seen of it: each answer,
/// what was told, and the word after each step.
fn history<W: Word, T: Word>(word: &W, memory: &T, config: Config, seed: u64) -> Vec<String> {
    let clock = Diced::default();
    let heard = Heard::default();
    let tally = LastCalls::over(memory);
    let breaker = Breaker::builder(config, &clock)
        .word(word)
        .tally(&tally)
        .observer(&heard)
        .build();
    let mut random = Random(seed);
    let mut tokens = Vec::<Token<W::Bits>>::new();
    let mut lines = Vec::new();

    for _ in 0..1_000 {
        let choice = random.below(20);
        clock.dice.store(random.below(1 << 32), Ordering::Relaxed);
        let answer = match choice {
            0..9 => match breaker.acquire() {
                Ok(permit) => {
                    let line = format!("{permit:?}");
                    tokens.push(permit.into_token());
                    line
                }
                Err(rejected) => format!("{rejected:?}"),
            },
            9..17 => {
                if !tokens.is_empty() {
                    let token = tokens.swap_remove(random.below(tokens.len() as u64) as usize);
                    end(breaker.resume(token), &mut random);
                }
                String::new()
            }
            17 => {
                let made = command(&breaker, &mut random);
                format!("{made:?}")
            }
            18 => {
                clock
                    .clock
                    .advance(Duration::from_millis(random.below(2_500)));
                String::new()
            }
            _ => format!("{:?} {:?}", breaker.snapshot(), tally.seen_and_failed()),
        };
        lines.append(&mut heard.0.lock().unwrap());
        lines.push(format!("{choice} {answer} {:?}", breaker.to_bits()));
    }
    lines
}

fn command(breaker: &dyn Control, random: &mut Random) -> Option<Transition> {
    match random.below(28) {
        0 => breaker.trip(),
        1 => breaker.force_open(),
        2..8 => breaker.release(),
        8 => breaker.reset(),
        9 => breaker.disable(),
        10..16 => breaker.enable(),
        16 => breaker.trip_for(Duration::from_millis(1_500)),
        17 => breaker.probe_now(),
        18 => breaker.probe_early(),
        _ => None,
    }
}

fn end<H: AnyBreaker>(permit: Permit<H>, random: &mut Random) -> Option<Transition> {
    match random.below(16) {
        0..7 => permit.success(),
        7..11 => permit.failure(),
        11 => permit.report(Failure::weighing(3)),
        12 if random.below(2) == 0 => permit.report(Failure::tripping()),
        12 => permit.report(Failure::retry_after(Duration::from_millis(700))),
        13 => permit.report(Outcome::Ignored),
        _ => permit.cancel(),
    }
}

/// A clock just before its wrap, with dice that fall once for each thing that happens: an exchange that
/// fails takes the step once more.
struct Diced {
    clock: ManualClock,
    dice: AtomicU64,
}

impl Default for Diced {
    fn default() -> Self {
        Self {
            clock: ManualClock::starting_at(u32::MAX - 20_000),
            dice: AtomicU64::new(0),
        }
    }
}

impl Clock for Diced {
    fn now_ms(&self) -> u32 {
        self.clock.now_ms()
    }

    fn random(&self) -> u32 {
        self.dice.load(Ordering::Relaxed) as u32
    }
}

fn configs() -> [Config; 5] {
    let base = Config::new()
        .open_for(Duration::from_millis(900))
        .jitter_percent(50)
        .probe_lease(Duration::from_secs(4));
    let ratio = Ratio::percent(75).of_last(8).min_calls(6);
    [
        base.consecutive_failures(4).failure_ratio(ratio),
        base.consecutive_failures(3)
            .exponential(2, Duration::from_secs(4))
            .probes(3)
            .close_after(5),
        base.failures_within(5, Duration::from_secs(2))
            .failure_ratio(ratio)
            .probes(2),
        base.tally_only()
            .failure_ratio(ratio)
            .slow_call(Duration::from_secs(3)),
        base.consecutive_failures(4)
            .linear(Duration::from_millis(300), Duration::from_secs(2))
            .gradual_return(20, Duration::from_secs(6)),
    ]
}

/// What must happen in the histories, or they show little.
const CAUSES: [Cause; 11] = [
    Cause::FailureLimit,
    Cause::FailureRatio,
    Cause::TripDemanded,
    Cause::RetryAfter,
    Cause::OpenTimeOver,
    Cause::ProbeFailed,
    Cause::ProbeCancelled,
    Cause::ProbeLost,
    Cause::ProbesSucceeded,
    Cause::TrafficReturned,
    Cause::Manual,
];

#[test]
fn spurious_failures_change_no_history() {
    fn compare<W: Word + From<W::Bits>>(layout: &str) {
        let fresh = || W::from(W::Bits::FRESH);
        let (mut lines, mut succeeded, mut spurious) = (0, 0, 0);
        let mut told = Vec::new();
        for seed in 1..=50 {
            for (which, config) in configs().into_iter().enumerate() {
                let plain = history(&fresh(), &fresh(), config, seed);
                let word = Moody::new(fresh(), seed);
                let memory = Moody::new(fresh(), !seed);
                let moody = history(&word, &memory, config, seed);
                same(
                    &plain,
                    &moody,
                    &format!("{layout}, config {which}, seed {seed}"),
                );

                lines += plain.len();
                told.extend(plain.into_iter().filter(|line| line.contains("cause:")));
                succeeded += word.succeeded.into_inner() + memory.succeeded.into_inner();
                spurious += word.spurious.into_inner() + memory.spurious.into_inner();
            }
        }
        println!(
            "{layout}, seeds 1 to 50: {lines} lines, {} transitions, {succeeded} exchanges, {spurious} \
             failed spuriously",
            told.len(),
        );
        assert!(spurious > 5 * succeeded, "it was moody");
        for cause in CAUSES {
            let of_cause = format!("cause: {cause:?}");
            assert!(
                told.iter().any(|line| line.contains(&of_cause)),
                "{of_cause}"
            );
        }
    }
    compare::<Wide>("64-bit word");
    compare::<Narrow>("32-bit word");
}

#[test]
fn the_word_in_a_critical_section_has_the_history_of_the_atomic() {
    for seed in 1..=20 {
        for (which, config) in configs().into_iter().enumerate() {
            let atomic = history(&Wide::new(0), &Wide::new(0), config, seed);
            let section = history(&SectionWord::new(), &SectionWord::new(), config, seed);
            same(&atomic, &section, &format!("config {which}, seed {seed}"));
        }
    }
}

fn same(expected: &[String], got: &[String], where_: &str) {
    for (step, (expected, got)) in expected.iter().zip(got).enumerate() {
        assert_eq!(expected, got, "{where_}, line {step}");
    }
    assert_eq!(expected.len(), got.len(), "{where_}");
}

/// Healing is a loop inside the loop.
#[test]
fn a_corrupt_moody_word_is_healed_once() {
    for seed in 0..200 {
        let heard = Heard::default();
        // Open, yet never tripped.
        let word = Moody::new(Wide::new(1), seed);
        let breaker = Breaker::builder(Config::new(), ManualClock::new())
            .word(&word)
            .observer(&heard)
            .build();
        let _token = breaker.acquire().unwrap().into_token();
        assert_eq!(heard.0.lock().unwrap().len(), 1, "seed {seed}");
        assert_eq!(breaker.snapshot().epoch(), 1, "seed {seed}");
    }
}

/// A word that often lets other threads run between the load and the exchange that belong together.
struct Slow<W> {
    word: W,
    exchanges: AtomicU64,
}

impl<W: Word> Word for Slow<W> {
    type Bits = W::Bits;

    fn load(&self, order: Ordering) -> W::Bits {
        self.word.load(order)
    }

    fn compare_exchange_weak(
        &self,
        current: W::Bits,
        new: W::Bits,
        success: Ordering,
        failure: Ordering,
    ) -> Result<W::Bits, W::Bits> {
        let nth = self.exchanges.fetch_add(1, Ordering::Relaxed);
        if nth.is_multiple_of(50) {
            thread::yield_now();
        }
        self.word
            .compare_exchange_weak(current, new, success, failure)
    }
}

/// Four threads count failures together; answers how many were counted.
fn count_together<W: Word + Sync>(word: &W, each: u16) -> u16 {
    let word = Slow {
        word,
        exchanges: AtomicU64::new(0),
    };
    let limit = u32::from(4 * each) + 1;
    let config = Config::new().consecutive_failures(limit);
    let breaker = Breaker::over(word, config, ManualClock::new());
    let begin = Barrier::new(4);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                begin.wait();
                for _ in 0..each {
                    breaker.acquire().unwrap().failure();
                }
            });
        }
    });
    breaker.snapshot().failures()
}

#[test]
fn threads_that_share_a_moody_word_lose_no_failure() {
    let word = Moody::new(Wide::new(0), 7);
    assert_eq!(count_together(&word, 5_000), 20_000);
    assert_eq!(word.succeeded.into_inner(), 20_000);
    let word = Moody::new(Narrow::new(0), 7);
    assert_eq!(count_together(&word, 60), 240);
    assert_eq!(word.succeeded.into_inner(), 240);
}

#[test]
fn threads_that_share_a_word_in_a_critical_section_lose_no_failure() {
    // A section that is too short shows in about one round of two.
    for _ in 0..20 {
        assert_eq!(count_together(&SectionWord::new(), 15_000), 60_000);
    }
}

const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// The finalizer of Steele, Lea and Flood's `SplitMix64`.
const fn mix(mut x: u64) -> u64 {
    x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}

struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(GAMMA);
        (mix(self.0) >> 32) % end
    }
}
