//! What users may rely on beside behaviour: auto traits, sizes, what is `const`, what is an error.

use std::error::Error;
use std::fmt::Debug;
use std::time::Duration;

use atomic_breaker::word::{AtomicU32, AtomicU64, Layout, NativeBits, NativeWord, SectionWord};
use atomic_breaker::{
    AnyError, Breaker, CallError, Cause, Config, ConfigError, CorruptWord, EventLog, Failure,
    LastCalls, ManualClock, Observer, Outcome, Permit, Rejected, Snapshot, State, Token,
    Transition,
};
use atomic_breaker_std::StdClock;

fn is_send_sync_unpin<T: Send + Sync + Unpin + 'static>() {}
fn is_copy<T: Copy + Eq + Debug>() {}
fn is_error<T: Error + Send + Sync + 'static>() {}

type Full = Breaker<StdClock, NativeWord, LastCalls, &'static EventLog<4>>;

#[test]
fn everything_goes_between_threads() {
    is_send_sync_unpin::<Breaker<StdClock>>();
    is_send_sync_unpin::<Breaker<&'static ManualClock, &'static AtomicU32>>();
    is_send_sync_unpin::<Breaker<StdClock, SectionWord>>();
    is_send_sync_unpin::<Full>();
    is_send_sync_unpin::<Permit<'static, StdClock>>();
    is_send_sync_unpin::<Permit<'static, StdClock, NativeWord, LastCalls>>();
    is_send_sync_unpin::<Token>();
    is_send_sync_unpin::<Token<u32>>();
    is_send_sync_unpin::<EventLog<4>>();
    is_send_sync_unpin::<CallError<String>>();
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
    // A clock of no size, as embassy's and std's are.
    assert_eq!(size_of::<StdClock>(), 0);
    let rules = size_of::<Config>();
    let aligned = |word: usize| rules.next_multiple_of(word) + word;
    assert_eq!(size_of::<Breaker<StdClock, AtomicU64>>(), aligned(8));
    assert_eq!(size_of::<Breaker<StdClock, AtomicU32>>(), aligned(4));
    assert_eq!(
        size_of::<Breaker<StdClock, &AtomicU32>>(),
        aligned(size_of::<usize>())
    );
}

#[test]
fn what_travels_is_small() {
    assert_eq!(size_of::<Rejected>(), 8);
    assert_eq!(size_of::<Token<u32>>(), 8);
    assert_eq!(size_of::<Token<u64>>(), 16);
    assert_eq!(
        size_of::<Permit<'_, StdClock, AtomicU64>>(),
        16 + size_of::<usize>()
    );
    assert_eq!(
        size_of::<Option<Permit<'_, StdClock>>>(),
        size_of::<Permit<'_, StdClock>>()
    );
    assert!(size_of::<Config>() <= 80, "{}", size_of::<Config>());
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
fn everything_is_made_in_a_const() {
    const RULES: Config = Config::new()
        .failures_within(3, Duration::from_secs(1))
        .consecutive_failures(3)
        .open_for(Duration::from_secs(1))
        .exponential(2, Duration::from_secs(8))
        .jitter_percent(10)
        .seed(1)
        .max_retry_after(Duration::from_secs(60))
        .probes(2)
        .close_after(3)
        .probe_lease(Duration::from_secs(5))
        .slow_call(Duration::from_secs(1))
        .tick_log2_ms(6);
    const FITS: bool = RULES.check(Layout::NARROW).is_ok() && RULES.check(Layout::WIDE).is_ok();
    const TIME_OUT: Failure = Failure::retry_after(Duration::from_secs(1));
    static LOG: EventLog<4> = EventLog::new();
    static SECTION: SectionWord = SectionWord::new();
    static WORD: AtomicU32 = AtomicU32::new(0);
    static FULL: Full = Breaker::from_parts(
        NativeWord::new(0),
        RULES.tally_only(),
        StdClock,
        LastCalls::new(20, 10, 50),
        &LOG,
    );
    static SMALL: Breaker<&ManualClock, &AtomicU32> = Breaker::over(&WORD, RULES, &CLOCK);
    static BEHIND_A_SECTION: Breaker<&ManualClock, &SectionWord> =
        Breaker::over(&SECTION, RULES, &CLOCK);
    static CLOCK: ManualClock = ManualClock::starting_at(5);
    static READY: atomic_breaker_std::Breaker = atomic_breaker_std::breaker(RULES);

    const { assert!(FITS) };
    FULL.acquire().unwrap().report(TIME_OUT);
    assert_eq!(LOG.pop().map(|told| told.cause), Some(Cause::RetryAfter));
    for is_ok in [
        SMALL.acquire().is_ok(),
        BEHIND_A_SECTION.acquire().is_ok(),
        READY.acquire().is_ok(),
    ] {
        assert!(is_ok);
    }
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
    let breaker = Breaker::new(Config::new(), &clock).with_observer(observer);
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
