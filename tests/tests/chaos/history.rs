// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thousand random events in the life of a breaker, and everything that is visible of them.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use atomic_breaker::word::Word;
use atomic_breaker::{
    AnyBreaker, Breaker, Clock, Config, Control, Failure, LastCalls, ManualClock, Observer,
    Outcome, Permit, Ratio, Token, Transition,
};
use tests::random::Random;

/// Keeps what was reported to the observer.
#[derive(Default)]
pub(crate) struct Notices(pub(crate) Mutex<Vec<String>>);

impl Observer for Notices {
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

/// Lets a thousand random events happen to a breaker, and returns everything that is visible: each result, the
/// observer's notifications, and the word after each step.
pub(crate) fn history<W: Word, T: Word>(
    word: &W,
    memory: &T,
    config: Config,
    seed: u64,
) -> Vec<String> {
    let clock = Diced::default();
    let notices = Notices::default();
    let tally = LastCalls::over(memory);
    let breaker = Breaker::builder(config, &clock)
        .word(word)
        .tally(&tally)
        .observer(&notices)
        .build();
    let mut random = Random::new(seed);
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
        lines.append(&mut notices.0.lock().unwrap());
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
        11 => permit.report(Failure::with_weight(3)),
        12 if random.below(2) == 0 => permit.report(Failure::tripping()),
        12 => permit.report(Failure::tripping_for(Duration::from_millis(700))),
        13 => permit.report(Outcome::Ignored),
        _ => permit.cancel(),
    }
}

/// A clock just before its wrap, with dice that are thrown once per event, as a step is repeated when its
/// exchange fails.
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

pub(crate) fn configs() -> [Config; 5] {
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
