// SPDX-License-Identifier: MIT OR Apache-2.0
//! The core alone: words of both layouts, memories of calls, rules that are replaced, and permits that are lost, late
//! or reported twice.

use std::cell::Cell;
use std::fmt::Debug;
use std::rc::Rc;
use std::time::Duration;

use atomic_breaker_http::{Breaker, Config, Outcome, Ratio};
use atomic_breaker_server::{
    CallError, LastCalls, Rules, SlidingRatio, Tally, Token,
    word::{AtomicU32, AtomicU64, Word},
};
use tokio::time::sleep;

use crate::dice::{Dice, Time};
use crate::explore::explore;
use crate::host::Host;
use crate::rules::{bound_of, command, let_go, rules, trips_of};
use crate::stack::{Answer, Caller, Calm, Ending, Look, Nervous, Stack, Trips, outcome, throw};

/// A word, a memory of calls, and the differences between words and between memories.
trait Parts: 'static {
    type Word: Word;
    type Tally: Tally + Debug;
    const STEP_MS: u32 = 60_000;
    const FAILS_EACH: Option<Duration> = None;

    fn parts() -> (Self::Word, Self::Tally);
    fn rules(dice: &mut Dice) -> Config;
    fn trips(rules: &[Config]) -> Trips {
        trips_of(rules)
    }
}

struct Core<P: Parts> {
    host: Host,
    word: P::Word,
    tally: P::Tally,
    observer: Nervous,
    configs: Vec<Config>,
    rules: Vec<Rules<<P::Word as Word>::Bits>>,
    now: Cell<usize>,
}

type Of<'a, P> = Breaker<
    Time,
    &'a <P as Parts>::Word,
    &'a <P as Parts>::Tally,
    Nervous,
    &'a Rules<<<P as Parts>::Word as Word>::Bits>,
>;

impl<P: Parts> Core<P> {
    fn breaker(&self) -> Of<'_, P> {
        let rules = &self.rules[self.now.get()];
        Breaker::from_parts(&self.word, rules, Time, &self.tally, self.observer)
    }

    async fn ask(&self, caller: Caller) -> Result<u32, CallError<crate::host::Trouble>> {
        let breaker = self.breaker();
        let call = breaker.call_async_with(outcome, || async {
            if caller.ending.panics() {
                throw();
            }
            self.host.answer().await
        });
        call.await
    }

    /// According to the rules at that time, which may differ from those under which it was granted.
    fn report(&self, (granted, started_ms): Raw<P>, said: impl Into<Outcome>) {
        let token = Token::from_raw(granted, started_ms);
        self.breaker().resume(token).report(said);
    }

    /// Returns `Some` if it reported a success.
    async fn misuse(&self, ending: Ending) -> Option<()> {
        let mut raw = self.breaker().acquire().ok()?.into_token().into_raw();
        let mut said = Outcome::Ignored;
        match ending {
            Ending::Ignored => self.report(raw, said),
            Ending::Dropped(time) => {
                sleep(time).await;
                drop(self.breaker().resume(Token::from_raw(raw.0, raw.1)));
            }
            Ending::Body(time) => {
                let answer = self.host.answer().await;
                if answer.is_err() {
                    said = outcome(&answer);
                    self.report(raw, said);
                } else {
                    sleep(time).await;
                    drop(self.breaker().resume(Token::from_raw(raw.0, raw.1)));
                }
            }
            Ending::Upload(time) => {
                sleep(time).await;
                let breaker = self.breaker();
                let mut permit = breaker.resume(Token::from_raw(raw.0, raw.1));
                if !permit.renew() {
                    return None;
                }
                raw = permit.into_token().into_raw();
                said = outcome(&self.host.answer().await);
                self.report(raw, said);
            }
            Ending::Late(time) => {
                said = outcome(&self.host.answer().await);
                sleep(time).await;
                self.report(raw, said);
            }
            Ending::Twice => {
                said = outcome(&self.host.answer().await);
                self.report(raw, said);
                self.report(raw, said);
            }
            // All other outcomes are calls.
            Ending::Forgotten | Ending::Reported | Ending::Panics | Ending::Looks => {}
        }
        (said == Outcome::Success).then_some(())
    }
}

type Raw<P> = (<<P as Parts>::Word as Word>::Bits, u32);

impl<P: Parts> Stack for Core<P> {
    const STEP_MS: u32 = P::STEP_MS;
    const FAILS_EACH: Option<Duration> = P::FAILS_EACH;

    fn new(host: &Host, dice: &mut Dice) -> Self {
        let (word, tally) = P::parts();
        let configs: Vec<_> = (0..dice.within(1..4)).map(|_| P::rules(dice)).collect();
        let rules = configs.iter().copied().map(Rules::new).collect();
        Self {
            host: host.clone(),
            word,
            tally,
            observer: Nervous::draw(dice),
            configs,
            rules,
            now: Cell::new(0),
        }
    }

    fn bound(&self, calm: &Calm) -> Duration {
        match P::FAILS_EACH {
            None => bound_of(&self.configs, calm),
            // The failing call may be a probe, once.
            Some(_) => 2 * bound_of(&self.configs, calm),
        }
    }

    fn trips(&self) -> Option<Trips> {
        Some(P::trips(&self.configs))
    }

    async fn call(self: Rc<Self>, caller: Caller) -> Answer {
        if !matches!(caller.ending, Ending::Reported | Ending::Panics) {
            let succeeded = self.misuse(caller.ending).await;
            return succeeded.map_or(Answer::Other, |()| Answer::Served);
        }
        match self.ask(caller).await {
            Ok(_) => Answer::Served,
            Err(CallError::Failed(_)) => Answer::Failed,
            Err(CallError::Rejected(_)) => Answer::Rejected,
        }
    }

    fn look(&self, _: usize) -> Look {
        Look::of(&self.breaker().snapshot())
    }

    fn disturb(&self, dice: &mut Dice) -> bool {
        if dice.percent(30) {
            self.now.set(dice.below(self.rules.len() as u64) as usize);
        } else {
            // The observer may panic.
            let command = std::panic::AssertUnwindSafe(|| command(&self.breaker(), dice));
            drop(std::panic::catch_unwind(command));
        }
        true
    }

    fn settle(&self) {
        let_go(&self.breaker());
    }

    fn describe(&self) -> String {
        format!(
            "{:?}, {:?} by {:?}",
            self.breaker().snapshot(),
            self.tally,
            self.configs
        )
    }
}

struct Wide;

impl Parts for Wide {
    type Word = AtomicU64;
    type Tally = ();

    fn parts() -> (AtomicU64, ()) {
        (AtomicU64::new(0), ())
    }

    fn rules(dice: &mut Dice) -> Config {
        rules(dice)
    }
}

struct Narrow;

impl Parts for Narrow {
    type Word = AtomicU32;
    type Tally = ();
    // 64 ticks.
    const STEP_MS: u32 = 4_000;

    fn parts() -> (AtomicU32, ()) {
        (AtomicU32::new(0), ())
    }

    fn rules(dice: &mut Dice) -> Config {
        rules(dice)
    }
}

/// Failures within a time. The return takes longer than that, and an occasional call fails, which is not enough to
/// trip.
struct Within;

impl Parts for Within {
    type Word = AtomicU64;
    type Tally = ();
    const FAILS_EACH: Option<Duration> = Some(Duration::from_secs(5));

    fn parts() -> (AtomicU64, ()) {
        (AtomicU64::new(0), ())
    }

    fn rules(dice: &mut Dice) -> Config {
        let config = rules(dice).failures_within(dice.within(4..7), Duration::from_secs(10));
        config.gradual_return(dice.within(1..60), dice.ms(20_000..60_000))
    }
}

/// A ratio of the last calls.
struct Last;

const LAST: u32 = 20;

impl Parts for Last {
    type Word = AtomicU64;
    type Tally = LastCalls;

    fn parts() -> (AtomicU64, LastCalls) {
        (AtomicU64::new(0), LastCalls::new())
    }

    fn rules(dice: &mut Dice) -> Config {
        let ratio = Ratio::percent(50).of_last(LAST);
        let ratio = ratio.min_calls(dice.within(1..LAST + 1));
        rules(dice).tally_only().failure_ratio(ratio)
    }

    fn trips(_: &[Config]) -> Trips {
        Trips {
            after: LAST,
            outweighing: Duration::ZERO,
        }
    }
}

/// A ratio of the calls within a time.
struct Sliding;

const WINDOW: Duration = Duration::from_secs(60);

impl Parts for Sliding {
    type Word = AtomicU64;
    type Tally = SlidingRatio<Time>;

    fn parts() -> (AtomicU64, SlidingRatio<Time>) {
        (AtomicU64::new(0), SlidingRatio::by(Time))
    }

    fn rules(dice: &mut Dice) -> Config {
        let ratio = Ratio::percent(50).within(WINDOW);
        let ratio = ratio.min_calls(dice.within(1..10));
        rules(dice).tally_only().failure_ratio(ratio)
    }

    fn trips(_: &[Config]) -> Trips {
        Trips {
            after: 10,
            // Results older than the window may count for another eighth of it, and for as long as the clock is behind.
            outweighing: WINDOW * 9 / 8 + Duration::from_millis(Self::STEP_MS.into()),
        }
    }
}

#[test]
fn a_word_of_64_bits() {
    explore::<Core<Wide>>("stacks::core::a_word_of_64_bits", 60);
}

#[test]
fn a_word_of_32_bits() {
    explore::<Core<Narrow>>("stacks::core::a_word_of_32_bits", 60);
}

#[test]
fn failures_within_a_time() {
    explore::<Core<Within>>("stacks::core::failures_within_a_time", 40);
}

#[test]
fn a_share_of_the_last_calls() {
    explore::<Core<Last>>("stacks::core::a_share_of_the_last_calls", 40);
}

#[test]
fn a_share_of_the_calls_within_a_time() {
    explore::<Core<Sliding>>("stacks::core::a_share_of_the_calls_within_a_time", 40);
}
