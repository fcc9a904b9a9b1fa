// SPDX-License-Identifier: MIT OR Apache-2.0
//! Promises to users besides behaviour: auto traits, sizes, `const` functions, error types.

use std::error::Error;
use std::fmt::Debug;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use atomic_breaker::tally::Call;
use atomic_breaker::word::{
    AtomicU32, AtomicU64, CriticalSectionWord, Layout, NativeBits, NativeWord, Retained, TickBits,
    Ticks, Word,
};
use atomic_breaker::{
    AnyBreaker, AnyError, AsRules, Attempt, Breaker, Builder, CallError, Cause, Clock, Config,
    ConfigError, Control, CorruptWord, EventLog, Failure, LastCalls, ManualClock, Observer,
    OnTransition, Outcome, Permit, Ratio, Rejected, Rules, SharedClock, Snapshot, State, Tally,
    Token, Transition, Verdict, Wait,
};
use atomic_breaker_std::{AdjustableBreaker, KeptRules, StdClock, adjustable_breaker};

fn is_send_sync<T: Send + Sync + 'static>() {}
fn is_send_sync_unpin<T: Send + Sync + Unpin + 'static>() {}
fn is_copy<T: Copy + Eq + Debug>() {}
fn is_error<T: Error + Send + Sync + 'static>() {}

type Plain = Breaker<StdClock>;
type Full = Breaker<StdClock, NativeWord, LastCalls, &'static EventLog<4>>;

#[test]
fn everything_goes_between_threads() {
    is_send_sync_unpin::<Plain>();
    is_send_sync_unpin::<Breaker<&'static ManualClock, &'static AtomicU32>>();
    is_send_sync_unpin::<Breaker<StdClock, CriticalSectionWord>>();
    is_send_sync_unpin::<Breaker<StdClock, Retained<Ticks<AtomicU32, 10>>>>();
    is_send_sync_unpin::<Breaker<StdClock, NativeWord, (), (), &'static Rules>>();
    is_send_sync_unpin::<Full>();
    is_send_sync_unpin::<AdjustableBreaker>();
    is_send_sync_unpin::<Builder<StdClock>>();
    is_send_sync_unpin::<Rules>();
    is_send_sync_unpin::<Permit<&'static Plain>>();
    is_send_sync_unpin::<Permit<&'static Full>>();
    is_send_sync_unpin::<Permit<Arc<Plain>>>();
    is_send_sync_unpin::<Attempt<&'static Plain>>();
    is_send_sync_unpin::<Attempt<Arc<Full>>>();
    is_send_sync_unpin::<Token>();
    is_send_sync_unpin::<Token<u32>>();
    is_send_sync_unpin::<Token<TickBits<3>>>();
    is_send_sync_unpin::<EventLog<4>>();
    // Not `Unpin`, so that a retry can refuse it: `Unguarded`.
    is_send_sync::<CallError<String>>();
    is_send_sync_unpin::<OnTransition<fn(&Transition)>>();
}

/// Rules depend on the shape of the word only.
#[test]
fn rules_go_between_threads_with_any_word() {
    is_send_sync_unpin::<Rules<u32>>();
    is_send_sync_unpin::<Rules<u64>>();
    is_send_sync_unpin::<Rules<TickBits<16>>>();
    is_send_sync_unpin::<Arc<dyn AsRules<u32> + Send + Sync>>();
}

#[test]
fn guarded_futures_go_between_threads() {
    fn is_send(_: &impl Send) {}
    static BREAKER: Breaker<StdClock> = Breaker::new(Config::new(), StdClock);
    let call = BREAKER.call_async(|| std::future::ready(Ok::<(), String>(())));
    is_send(&call);
}

#[test]
fn values_are_copied_and_compared() {
    is_copy::<Config>();
    is_copy::<ConfigError>();
    is_copy::<CorruptWord>();
    is_copy::<Rejected>();
    is_copy::<CallError<u8>>();
    is_copy::<Outcome>();
    is_copy::<Failure>();
    is_copy::<Snapshot>();
    is_copy::<State>();
    is_copy::<Transition>();
    is_copy::<Cause>();
    is_copy::<Wait>();
    is_copy::<Ratio>();
    is_copy::<Rules>();
    is_copy::<Rules<TickBits<4>>>();
    is_copy::<Call>();
    is_copy::<Verdict>();
}

#[test]
fn errors_are_errors() {
    is_error::<Rejected>();
    is_error::<ConfigError>();
    is_error::<CorruptWord>();
    is_error::<CallError<std::io::Error>>();
}

#[test]
fn the_state_of_a_breaker_is_its_word_and_nothing_else() {
    // A zero-sized clock, like those of embassy and std.
    assert_eq!(size_of::<StdClock>(), 0);
    let rules = size_of::<Config>();
    assert_eq!(size_of::<Rules>(), rules);
    let aligned = |word: usize| rules.next_multiple_of(word) + word;
    assert_eq!(size_of::<Breaker<StdClock, AtomicU64>>(), aligned(8));
    assert_eq!(size_of::<Breaker<StdClock, AtomicU32>>(), aligned(4));
    assert_eq!(
        size_of::<Breaker<StdClock, &AtomicU32>>(),
        aligned(size_of::<usize>())
    );
    assert_eq!(size_of::<Ticks<AtomicU32, 9>>(), 4);
    assert_eq!(size_of::<Retained>(), 12, "as documented");
}

/// Each of a million breakers that share their rules takes a word and a pointer.
#[test]
fn a_breaker_with_shared_rules_is_a_word_and_a_pointer() {
    type Shared<W> = Breaker<StdClock, W, (), (), &'static Rules<<W as Word>::Bits>>;
    let pointer = size_of::<usize>();
    assert_eq!(size_of::<Shared<AtomicU64>>(), 8 + pointer);
    assert_eq!(size_of::<Shared<&AtomicU64>>(), 2 * pointer);
}

/// A tally and an observer fit as well, and nothing is allocated until rules are set.
#[test]
fn an_adjustable_breaker_stands_in_a_static() {
    static LOG: EventLog<4> = EventLog::new();
    static ALONE: AdjustableBreaker = adjustable_breaker(Config::new());
    static FULL: AdjustableBreaker<StdClock, NativeWord, LastCalls, &EventLog<4>> =
        Breaker::builder(Config::new(), StdClock)
            .last_calls(LastCalls::new())
            .observer(&LOG)
            .build_adjustable(KeptRules::new());
    for set in [
        ALONE.set_config(Config::new()),
        FULL.set_config(Config::new()),
    ] {
        assert_eq!(set, Ok(()));
    }
    let kept = size_of::<KeptRules>();
    assert_eq!(size_of::<AdjustableBreaker>(), size_of::<Plain>() + kept);
    assert!(kept <= 368, "as documented: {kept}");
}

#[test]
fn values_that_are_passed_around_are_small() {
    let pointer = size_of::<usize>();
    assert_eq!(size_of::<Rejected>(), 8);
    assert_eq!((size_of::<Failure>(), size_of::<Outcome>()), (12, 12));
    assert_eq!(size_of::<Token<u32>>(), 8);
    assert_eq!(size_of::<Token<u64>>(), 16);
    assert_eq!(
        size_of::<Permit<&Breaker<StdClock, AtomicU64>>>(),
        16 + pointer
    );
    assert_eq!(
        size_of::<Permit<&Breaker<StdClock, AtomicU32>>>(),
        8 + pointer
    );
    // The same for every handle.
    assert_eq!(size_of::<Permit<Arc<Full>>>(), 16 + pointer);
    let permit = size_of::<Permit<&Plain>>();
    assert!(size_of::<Attempt<&Plain>>() <= permit + pointer);
    assert!(size_of::<Option<Permit<&Plain>>>() <= permit + pointer);
    assert_eq!(size_of::<Option<Ratio>>(), 12);
    assert!(size_of::<Config>() <= 100, "{}", size_of::<Config>());
    assert!(size_of::<Transition>() <= 16, "{}", size_of::<Transition>());
    assert_eq!(size_of::<Option<Transition>>(), size_of::<Transition>());
}

/// The address of this value is promoted to a static, which the compiler allows only for values
/// without interior mutability: the breaker and its rules can lie in flash, the word alone in RAM.
#[test]
fn a_breaker_over_a_borrowed_word_is_not_changed_by_its_calls() {
    static WORD: AtomicU32 = AtomicU32::new(0);
    const IN_FLASH: Breaker<StdClock, &AtomicU32> = Breaker::over(&WORD, Config::new(), StdClock);
    static PROMOTED: &Breaker<StdClock, &AtomicU32> = &IN_FLASH;
    PROMOTED.trip();
    assert_eq!(PROMOTED.state(), State::Open);
}

#[test]
fn every_setting_and_every_question_is_const() {
    const RATIO: Ratio = Ratio::percent(50).of_last(20).min_calls(10);
    const RULES: Config = Config::new()
        .failures_within(3, Duration::from_secs(1))
        .consecutive_failures(3)
        .lasting(Duration::from_millis(1))
        .failure_ratio(RATIO)
        .open_for(Duration::from_secs(1))
        .linear(Duration::from_secs(1), Duration::from_secs(7))
        .exponential_percent(150, Duration::from_secs(8))
        .exponential(2, Duration::from_secs(8))
        .jitter_percent(10)
        .seed(1)
        .max_retry_after(Duration::from_secs(60))
        .probes(2)
        .close_after(3)
        .probe_lease(Duration::from_secs(5))
        .cancel_limit(Duration::from_secs(1))
        .slow_call(Duration::from_secs(1))
        .gradual_return(10, Duration::from_secs(9));
    const FITS: bool = RULES.check(Layout::NARROW).is_ok() && RULES.check(Layout::WIDE).is_ok();
    const NARROW: Rules<u32> = Rules::new(RULES);
    const TRIED: bool = Rules::<TickBits<8>>::try_new(RULES).is_ok();
    const OPEN_FOR_MS: u32 = NARROW.config().open_for_ms;
    const PROBES: u16 = RULES.probes;
    const REACHED: bool = RATIO.is_reached(10, 5);
    const REJECTED: Rejected = Rejected::new(State::Open, Duration::from_secs(3));
    const WAIT: Wait = REJECTED.wait();
    const MADE: Transition = Transition::new(State::Closed, State::Open, Cause::Manual);
    const WORDS: &str = MADE.cause.text();
    const TIMEOUT: Failure = Failure::tripping_for(Duration::from_secs(1));
    const OVERLOADED: Failure = Failure::retry_after(Duration::from_secs(1));
    const { assert!(FITS && TRIED && REACHED && PROBES == 2) };
    assert_eq!(OPEN_FOR_MS, 1_000);
    assert_eq!(
        (WAIT, WORDS),
        (Wait::For(Duration::from_secs(3)), "by command")
    );
    assert!(TIMEOUT.is_tripping() && !OVERLOADED.is_tripping());
}

#[test]
fn every_breaker_is_made_in_a_static() {
    const RULES: Config = Config::new().open_for(Duration::from_secs(1));
    static CLOCK: ManualClock = ManualClock::starting_at(5);
    static LOG: EventLog<4> = EventLog::new();
    static SECTION: CriticalSectionWord = CriticalSectionWord::new();
    static WORD: AtomicU32 = AtomicU32::new(0);
    static RETAINED: Retained = Retained::new();
    static HOURLY: Ticks<AtomicU32, 10> = Ticks(AtomicU32::new(0));
    static SHARED_RULES: Rules<u32> = Rules::new(RULES);
    static FULL: Full = Breaker::builder(
        RULES.tally_only().failure_ratio(Ratio::percent(50)),
        StdClock,
    )
    .last_calls(LastCalls::new())
    .observer(&LOG)
    .build();
    static SMALL: Breaker<&ManualClock, &AtomicU32> = Breaker::over(&WORD, RULES, &CLOCK);
    static BEHIND_A_SECTION: Breaker<&ManualClock, &CriticalSectionWord> =
        Breaker::over(&SECTION, RULES, &CLOCK);
    static IN_RETAINED_RAM: Breaker<&ManualClock, &Retained> =
        Breaker::over(&RETAINED, RULES, &CLOCK);
    static ONCE_AN_HOUR: Breaker<&ManualClock, &Ticks<AtomicU32, 10>> =
        Breaker::over(&HOURLY, RULES, &CLOCK);
    static BETWEEN_CORES: Breaker<&ManualClock, &AtomicU32> = Breaker::shared(&WORD, RULES, &CLOCK);
    type Observing = OnTransition<fn(&Transition)>;
    static OBSERVED: Breaker<StdClock, NativeWord, (), Observing> =
        Breaker::builder(RULES, StdClock)
            .on_transition((|_| {}) as fn(&Transition))
            .build();

    FULL.acquire()
        .unwrap()
        .report(Failure::tripping_for(Duration::from_secs(1)));
    assert_eq!(LOG.pop().map(|made| made.cause), Some(Cause::RetryAfter));
    let all: [&dyn Control; 6] = [
        &SMALL,
        &BEHIND_A_SECTION,
        &IN_RETAINED_RAM,
        &ONCE_AN_HOUR,
        &BETWEEN_CORES,
        &OBSERVED,
    ];
    for breaker in all {
        assert_eq!(breaker.state(), State::Closed);
    }
    let shared = Breaker::from_parts(&WORD, &SHARED_RULES, &CLOCK, (), ());
    assert!(shared.acquire().is_ok());
}

/// Parts that are chosen at run time can be behind a pointer.
#[test]
fn clocks_tallies_observers_rules_and_breakers_can_stand_behind_a_pointer() {
    let clock: Box<dyn Clock> = Box::new(ManualClock::new());
    let shared: &dyn SharedClock = &ManualClock::new();
    let tally: Arc<dyn Tally> = Arc::new(LastCalls::new());
    let observer: Rc<dyn Observer> = Rc::new(EventLog::<2>::new());
    let rules: &dyn AsRules<u64> = &Rules::new(Config::new());
    let word: &dyn Word<Bits = u64> = &AtomicU64::new(0);
    let breaker = Breaker::from_parts(word, rules, clock, tally, observer);
    let control: &dyn Control = &breaker;
    control.trip();
    assert_eq!(control.state(), State::Open);
    let builder = Breaker::builder(Config::new(), shared);
    assert!(builder.shared_word(word).try_build().is_ok());
}

#[test]
fn any_breaker_is_taken_behind_references_and_arcs() {
    fn any<B: AnyBreaker>(breaker: &B) -> State {
        breaker.as_breaker().state()
    }
    let breaker = Breaker::new(Config::new(), ManualClock::new());
    assert_eq!(any(&breaker), any(&&breaker));
    assert_eq!(any(&Arc::new(breaker)), State::Closed);
}

#[test]
fn observers_can_be_chosen_at_run_time() {
    let clock = ManualClock::new();
    let log = EventLog::<4>::new();
    let observer: &dyn Observer = if std::hint::black_box(true) {
        &log
    } else {
        &()
    };
    let breaker = Breaker::builder(Config::new(), &clock)
        .observer(observer)
        .build();
    breaker.trip();
    assert_eq!(log.len(), 1);
}

#[test]
fn a_breaker_shows_its_state_and_rules() {
    let clock = ManualClock::new();
    let shown = format!("{:?}", Breaker::new(Config::new(), &clock));
    assert!(
        shown.starts_with("Breaker { snapshot: Snapshot { state: Closed,"),
        "{shown}"
    );
    assert!(shown.contains("open_for_ms: 5000"), "{shown}");
    assert!(format!("{AnyError:?}").contains("AnyError"));
    let _: Option<NativeBits> = None;
}
