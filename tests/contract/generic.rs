// SPDX-License-Identifier: MIT OR Apache-2.0
//! Code that takes any breaker: through a bound if it has one type, through a pointer for mixed ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use atomic_breaker::word::{AtomicU32, AtomicU64, CriticalSectionWord};
use atomic_breaker::{
    AnyBreaker, BitsOf, Breaker, CallError, Clock, Config, Control, LastCalls, ManualClock,
    OnTransition, Ratio, Rules, State, Token, Transition, Wait, static_breaker,
};

use super::support::{Diary, ms};

/// A typical adapter: it is generic over one parameter, whatever the breaker's parts are.
struct Guarded<B> {
    breaker: B,
    reads: u32,
}

impl<B: AnyBreaker> Guarded<B> {
    fn read(&mut self, answer: Result<u32, ()>) -> Result<u32, CallError<()>> {
        let reads = &mut self.reads;
        self.breaker.as_breaker().call(|| {
            *reads += 1;
            answer
        })
    }

    fn start(&self) -> Option<Token<BitsOf<B>>> {
        Some(self.breaker.as_breaker().acquire().ok()?.into_token())
    }

    fn now(&self) -> u32 {
        self.breaker.as_breaker().clock().now_ms()
    }
}

fn trips_at_two<B: AnyBreaker>(breaker: B) {
    let mut guarded = Guarded { breaker, reads: 0 };
    assert_eq!(guarded.read(Ok(1)), Ok(1));
    for _ in 0..5 {
        let _ = guarded.read(Err(()));
    }
    assert_eq!(guarded.reads, 3, "one success, two failures");
    assert!(guarded.start().is_none());
    assert_eq!(guarded.now(), 7);
    assert_eq!(guarded.breaker.as_breaker().state(), State::Open);
}

#[test]
fn an_adapter_takes_breakers_of_any_parts() {
    let clock = ManualClock::starting_at(7);
    let diary = Diary::default();
    let config = Config::new().consecutive_failures(2);
    let rules = Rules::<u32>::new(config);
    let word = AtomicU32::new(0);

    trips_at_two(Breaker::new(config, &clock));
    let narrow = Breaker::over(&word, config, &clock);
    trips_at_two(&narrow);
    trips_at_two(Arc::new(Breaker::over(
        CriticalSectionWord::new(),
        config,
        &clock,
    )));
    trips_at_two(
        Breaker::builder(config.failure_ratio(Ratio::percent(100)), &clock)
            .word(AtomicU64::new(0))
            .last_calls(LastCalls::new())
            .observer((&diary, OnTransition(|_: &Transition| {})))
            .build(),
    );
    word.reset();
    trips_at_two(Breaker::from_parts(&word, &rules, &clock, (), &diary));
    assert_eq!(diary.transitions.borrow().len(), 2);
}

/// For the test above: a word is fresh again when a breaker over it is reset.
trait Reset {
    fn reset(&self);
}

impl Reset for AtomicU32 {
    fn reset(&self) {
        Breaker::over(self, Config::new(), ManualClock::new()).reset();
    }
}

/// A dashboard: breakers of different makes in one map, shared with other threads.
type Dashboard = BTreeMap<&'static str, Arc<dyn Control + Send + Sync>>;

fn dashboard() -> Dashboard {
    let ratio = Config::new().failure_ratio(Ratio::percent(50));
    let with_memory = Breaker::builder(ratio, ManualClock::new())
        .last_calls(LastCalls::new())
        .build();
    let narrow = Breaker::over(AtomicU32::new(0), Config::new(), ManualClock::new());
    let plain = Breaker::new(Config::new(), ManualClock::new());
    BTreeMap::from([
        (
            "database",
            Arc::new(with_memory) as Arc<dyn Control + Send + Sync>,
        ),
        ("modem", Arc::new(narrow)),
        ("search", Arc::new(plain)),
    ])
}

#[test]
fn a_dashboard_holds_breakers_of_different_makes() {
    let all = dashboard();
    std::thread::scope(|scope| {
        scope.spawn(|| all["modem"].force_open());
    });
    all["database"].trip_for(ms(60_000));
    let shown: Vec<_> = all
        .iter()
        .map(|(name, breaker)| format!("{name}: {}", breaker.state()))
        .collect();
    assert_eq!(
        shown,
        ["database: open", "modem: forced open", "search: closed"]
    );
    let waits: Vec<_> = all.values().map(|it| it.snapshot().wait()).collect();
    let minute = Wait::For(ms(60_000));
    assert_eq!(waits, [Some(minute), Some(Wait::UntilReleased), None]);
    assert!(all["database"].snapshot().is_demanded());
}

/// Each command through the pointer does the same as the breaker's own method, and returns the same.
#[test]
fn a_command_behind_a_pointer_is_the_command() {
    type Behind = fn(&dyn Control) -> Option<Transition>;
    type Direct = fn(&Breaker<ManualClock>) -> Option<Transition>;
    let commands: [(Behind, Direct); 9] = [
        (|it| it.trip(), Breaker::trip),
        (|it| it.trip_for(ms(9_000)), |it| it.trip_for(ms(9_000))),
        (|it| it.probe_early(), Breaker::probe_early),
        (|it| it.probe_now(), Breaker::probe_now),
        (|it| it.force_open(), Breaker::force_open),
        (|it| it.disable(), Breaker::disable),
        (|it| it.release(), Breaker::release),
        (|it| it.enable(), Breaker::enable),
        (|it| it.reset(), Breaker::reset),
    ];
    let make = || Breaker::new(Config::new(), ManualClock::new());
    let (one, other) = (make(), make());
    for _ in 0..3 {
        for (behind, direct) in commands {
            assert_eq!(behind(&one), direct(&other));
            assert_eq!(one.to_bits(), other.to_bits());
            let pointer: &dyn Control = &one;
            assert_eq!(pointer.snapshot(), other.snapshot());
            assert_eq!(pointer.state(), other.state());
        }
    }
}

/// The address is part of its type.
#[test]
fn the_word_of_a_handle_shows_that_it_is_known() {
    static CLOCK: ManualClock = ManualClock::new();

    static_breaker! {
        struct Radio: Breaker<&'static ManualClock, AtomicU32> =
            Breaker::builder(Config::new(), &CLOCK).word(AtomicU32::new(0));
    }

    assert_eq!(format!("{:?}", Radio.word()), "Known");
}

/// A program for several boards names the breakers of each; only those of this one exist.
#[test]
fn a_handle_may_be_there_under_a_condition() {
    static CLOCK: ManualClock = ManualClock::new();

    static_breaker! {
        /// Not compiled, so that its parts need not exist.
        #[cfg(any())]
        pub struct Absent: Breaker<OtherBoard> = Breaker::builder(OTHER_RULES, OtherBoard);

        #[cfg(all())]
        #[cfg(not(any()))]
        #[must_use]
        struct Present: Breaker<&'static ManualClock, AtomicU32> =
            Breaker::builder(Config::new(), &CLOCK).word(AtomicU32::new(0));

        struct Always: Breaker<&'static ManualClock, AtomicU32> =
            Breaker::builder(Config::new(), &CLOCK).word(AtomicU32::new(0));
    }

    /// Another name is free for the absent one.
    struct Absent;

    let _ = Absent;
    Present.trip();
    assert_eq!(
        (Present.state(), Always.state()),
        (State::Open, State::Closed)
    );
}
