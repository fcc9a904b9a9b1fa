// SPDX-License-Identifier: MIT OR Apache-2.0
//! A word in memory that survives a reset, but not a loss of power.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::{self, Relaxed};
use std::time::Duration;

use atomic_breaker::word::{AtomicU32, AtomicU64, Retained, Ticks, Word};
use atomic_breaker::{Breaker, Cause, Config, ManualClock, State, Wait};
use tests::random::Random;

use super::support::{Diary, fail, rules};

/// Memory that start-up code does not clear, such as a linker section for it: three words of 32 bits.
#[repr(C)]
struct Memory([AtomicU32; 3]);

impl Memory {
    fn of(bits: [u32; 3]) -> Self {
        Self(bits.map(AtomicU32::new))
    }

    fn retained<const N: u32>(&self) -> &Retained<Ticks<AtomicU32, N>>
    where
        Ticks<AtomicU32, N>: Word,
    {
        assert_eq!(
            size_of::<Self>(),
            size_of::<Retained<Ticks<AtomicU32, N>>>()
        );
        // SAFETY: a `repr(C)` struct of a transparent word and two atomics, of any bits.
        unsafe { &*std::ptr::from_ref(self).cast() }
    }
}

/// After power-on the memory is random: three in four random words look like a state, so a breaker would wake
/// up open. The mark beside the word shows whether it is a state.
#[test]
fn random_memory_is_never_believed() {
    let mut random = Random::stream(0);
    let (mut looked_right, all) = (0, 100_000);
    for _ in 0..all {
        let memory = Memory::of([random.next_u32(), random.next_u32(), random.next_u32()]);
        let (clock, diary) = (
            ManualClock::starting_at(random.next_u32()),
            Diary::default(),
        );
        let breaker = Breaker::builder(Config::new(), &clock)
            .word(memory.retained::<6>())
            .observer(&diary)
            .build();
        looked_right += u32::from(breaker.check().is_ok());
        let error = breaker.restore().unwrap_err();
        assert!(error.to_string().contains("not marked"), "{error}");
        assert_eq!(diary.causes(), [Cause::CorruptWord], "once");
        assert_eq!((breaker.state(), breaker.check()), (State::Closed, Ok(())));
        assert_eq!(breaker.snapshot().failures(), 0);
        assert!(breaker.acquire().is_ok());
    }
    println!("{looked_right} of {all} random words looked like a state");
    assert!(looked_right > all / 3);
}

#[test]
fn random_words_with_the_mark_are_a_state_or_an_error() {
    let mut random = Random::stream(1);
    let memory = Memory::of([0; 3]);
    let marked = Breaker::over(memory.retained::<6>(), Config::new(), ManualClock::new());
    assert!(marked.restore().is_err(), "never written");
    let [_, first, second] = memory.0.each_ref().map(|word| word.load(Relaxed));
    for _ in 0..100_000 {
        let bits = random.next_u32();
        let memory = Memory::of([bits, first, second]);
        let clock = ManualClock::starting_at(random.next_u32());
        let breaker = Breaker::over(memory.retained::<6>(), Config::new(), &clock);
        let (is_state, state) = (breaker.check().is_ok(), breaker.snapshot().entered());
        assert_eq!(breaker.restore().is_ok(), is_state, "{bits:#x}");
        assert_eq!(breaker.check(), Ok(()), "{bits:#x}");
        let expected = match state {
            State::Returning => State::Closed,
            state if is_state => state,
            _ => State::Closed,
        };
        let snapshot = breaker.snapshot();
        assert_eq!(snapshot.entered(), expected);
        assert_eq!(snapshot.probes_in_flight(), 0, "{bits:#x}");
        assert!(
            snapshot.wait() != Some(Wait::For(Duration::ZERO)),
            "{bits:#x}"
        );
    }
}

#[test]
fn a_word_survives_a_reset_and_not_a_loss_of_power() {
    let memory = Memory::of([0xDEAD_BEEF, 1, 2]);
    let (clock, diary) = (ManualClock::starting_at(500_000), Diary::default());
    let breaker = || {
        Breaker::builder(Config::new(), &clock)
            .word(memory.retained::<6>())
            .observer(&diary)
            .build()
    };
    assert!(breaker().restore().is_err(), "the first start");
    assert_eq!(diary.causes(), [Cause::CorruptWord]);
    fail(&breaker(), 5);
    clock.set_ms(9);
    let made = breaker().restore().unwrap().unwrap();
    assert_eq!((made.to, made.cause), (State::Open, Cause::Restored));
    assert!(breaker().acquire().is_err(), "a reset does not close");
    memory.0[2].store(0, Relaxed);
    assert!(breaker().restore().is_err(), "half a mark is none");
    assert_eq!(breaker().state(), State::Closed);
    assert_eq!(breaker().restore(), Ok(None));
}

/// Firmware with other ticks wrote it: its times mean nothing here.
#[test]
fn a_word_of_another_tick_is_not_taken_up() {
    let memory = Memory::of([0; 3]);
    let clock = ManualClock::new();
    let minutes = Breaker::over(memory.retained::<10>(), Config::new(), &clock);
    assert!(minutes.restore().is_err());
    minutes.trip();
    assert!(minutes.restore().is_ok());
    let fine = Breaker::over(memory.retained::<0>(), rules(), &clock);
    assert!(fine.restore().is_err());
    assert_eq!(fine.state(), State::Closed);
}

#[test]
fn a_retained_word_is_a_word_like_any_other() {
    let clock = ManualClock::new();
    let wide = Retained::over(AtomicU64::new(0));
    let breaker = Breaker::over(&wide, Config::new(), &clock);
    let _ = breaker.restore();
    fail(&breaker, 5);
    assert_eq!(
        breaker.restore().unwrap().map(|made| made.to),
        Some(State::Open)
    );
    assert!(wide.has_mark(0) && Retained::default().load(Relaxed) == 0);
    assert!(AtomicU32::new(7).has_mark(6), "a plain word cannot tell");
}

/// It does not matter which of the two wraps the other.
#[test]
fn a_mark_of_another_tick_is_no_mark() {
    fn marked<W: Word>(word: &W) -> bool {
        let clock = ManualClock::new();
        Breaker::over(word, Config::new(), &clock).restore().is_ok()
    }
    let inside = Ticks::<_, 3>(Retained::new());
    assert!(!marked(&inside), "fresh");
    assert!(marked(&inside));
    let other = Ticks::<_, 4>(&inside.0);
    assert!(!marked(&other), "of ticks of 8 ms");
    assert!(marked(&other));
    assert!(!marked(&inside));
    let outside = Retained::over(Ticks::<_, 3>(AtomicU32::new(0)));
    assert!(!marked(&outside));
    assert!(marked(&outside));
}

#[test]
fn each_tick_has_a_mark_of_its_own() {
    let word = Retained::new();
    for written in 0..=16 {
        word.set_mark(written);
        for read in 0..=16 {
            assert_eq!(word.has_mark(read), read == written, "{written} {read}");
        }
    }
}

/// The chip is reset in the middle of `restore`, because the power bounces when it comes on.
#[test]
fn a_reset_while_restoring_leaves_no_mark_on_random_bits() {
    /// Memory whose exchange never completes.
    struct Resets<'a>(&'a Retained);

    impl Word for Resets<'_> {
        type Bits = u32;
        fn load(&self, order: Ordering) -> u32 {
            self.0.load(order)
        }
        fn compare_exchange_weak(
            &self,
            _: u32,
            _: u32,
            _: Ordering,
            _: Ordering,
        ) -> Result<u32, u32> {
            panic!("reset")
        }
        fn has_mark(&self, tick_log2: u32) -> bool {
            self.0.has_mark(tick_log2)
        }
        fn set_mark(&self, tick_log2: u32) {
            self.0.set_mark(tick_log2);
        }
    }

    let clock = ManualClock::new();
    let open_by_chance = AtomicU32::new(1 | 1 << 2 | 7 << 5);
    let memory = Retained::over(open_by_chance);
    assert_eq!(
        Breaker::over(&memory, Config::new(), &clock).state(),
        State::Open
    );
    let first = catch_unwind(AssertUnwindSafe(|| {
        Breaker::over(Resets(&memory), Config::new(), &clock).restore()
    }));
    assert!(first.is_err(), "reset");
    let breaker = Breaker::over(&memory, Config::new(), &clock);
    assert!(breaker.restore().is_err(), "not believed");
    assert_eq!(breaker.state(), State::Closed);
    assert_eq!(breaker.restore(), Ok(None), "marked now");
}
