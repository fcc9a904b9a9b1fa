// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two Cortex-M33 cores that really run in parallel share one breaker.
#![no_std]
#![no_main]

use core::time::Duration;

use atomic_breaker_embassy::word::{AtomicU32, TickBits, Ticks};
use atomic_breaker_embassy::{Breaker, Cause, Clock, Config, Observer, State, Token, Transition};
use cortex_m_rt::entry;
use firmware::{Dice, number, pass, println};
use portable_atomic::Ordering::{Acquire, Relaxed, Release};

/// Of both cores.
const OPERATIONS: u32 = number(option_env!("ATOMIC_BREAKER_OPERATIONS"), 1_000_000);
const SEED: u32 = number(option_env!("ATOMIC_BREAKER_SEED"), 1);
/// The calls of each core in each round.
const CALLS: u32 = 20_000;
/// A busy host may let the cores run one after the other.
const MOST_ROUNDS: u32 = 1_000;
const CLOSE_AFTER: u32 = 2;
const EPOCHS: u32 = 16;

/// Milliseconds that the cores move on themselves.
struct Shared;

static NOW: AtomicU32 = AtomicU32::new(0);

impl Clock for Shared {
    fn now_ms(&self) -> u32 {
        NOW.load(Relaxed)
    }
}

/// Counts the transitions of each kind.
struct Counting;

static NOTIFIED: [AtomicU32; 4] = [const { AtomicU32::new(0) }; 4];

impl Observer for Counting {
    fn transition(&self, made: &Transition) {
        let kind = match (made.from, made.to, made.cause) {
            (State::Closed, State::Open, Cause::FailureLimit) => 0,
            (State::HalfOpen, State::Open, Cause::ProbeFailed) => 1,
            (State::Open, State::HalfOpen, Cause::OpenTimeOver) => 2,
            (State::HalfOpen, State::Closed, Cause::ProbesSucceeded) => 3,
            _ => panic!("{made}"),
        };
        NOTIFIED[kind].fetch_add(1, Relaxed);
    }
}

fn notified() -> [u32; 4] {
    [0, 1, 2, 3].map(|kind| NOTIFIED[kind].load(Relaxed))
}

/// Ticks of 8 ms, so that an open time is over soon.
type Word = Ticks<AtomicU32, 3>;

static WORD: Word = Ticks(AtomicU32::new(0));
// Without the time of embassy, as there is none on the second core.
static DEVICE: Breaker<Shared, &Word, (), Counting> = Breaker::builder(
    Config::new()
        .consecutive_failures(2)
        .open_for(Duration::ZERO)
        .probes(1)
        .close_after(CLOSE_AFTER)
        // However long the host keeps a core from running, no probe is presumed lost, or late.
        .probe_lease(Duration::from_secs(130))
        .cancel_limit(Duration::from_secs(130)),
    Shared,
)
.word(&WORD)
.observer(Counting)
.build();

/// Incremented by a load and a store, to show what two cores do to unguarded memory.
static UNGUARDED: AtomicU32 = AtomicU32::new(0);
/// The same, but by probes only: the breaker guards it.
static GUARDED: AtomicU32 = AtomicU32::new(0);
/// The successes of this half-open time, which only the probe touches.
static SUCCESSES: AtomicU32 = AtomicU32::new(0);
/// The probes in flight.
static OUT: AtomicU32 = AtomicU32::new(0);
/// `true` while a core is within an operation.
static IS_WITHIN: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];
/// The rounds that the first core wants and the second has done.
static WANTED: AtomicU32 = AtomicU32::new(0);
static DONE: AtomicU32 = AtomicU32::new(0);

/// The act of a core.
#[derive(Clone, Copy)]
enum Did {
    Operations,
    Probes,
    Rejected,
    /// Reports of calls from before a transition.
    Late,
    /// Transitions that its reports returned.
    Returned,
    /// Operations that began within one of the other core.
    Met,
}

static DID: [[AtomicU32; 6]; 2] = [const { [const { AtomicU32::new(0) }; 6] }; 2];

fn did(core: usize, what: Did) -> u32 {
    DID[core][what as usize].load(Relaxed)
}

fn both(what: Did) -> u32 {
    did(0, what) + did(1, what)
}

/// A permit that waits to be reported.
struct Held {
    granted: u32,
    is_probe: bool,
}

struct Core {
    index: usize,
    dice: Dice,
}

impl Core {
    fn count(&self, what: Did) {
        DID[self.index][what as usize].fetch_add(1, Relaxed);
    }

    fn operate<V>(&self, operation: impl FnOnce() -> V) -> V {
        self.count(Did::Operations);
        IS_WITHIN[self.index].store(1, Relaxed);
        if IS_WITHIN[1 - self.index].load(Relaxed) != 0 {
            self.count(Did::Met);
        }
        let value = operation();
        IS_WITHIN[self.index].store(0, Relaxed);
        value
    }

    fn work(&mut self) {
        let mut kept = None;
        for call in 0..CALLS {
            UNGUARDED.store(UNGUARDED.load(Relaxed) + 1, Relaxed);
            if call % 8 == 0 {
                NOW.fetch_add(1, Relaxed);
            }
            self.dice.delay(64);
            if self.dice.one_in(4) {
                self.report(kept.take());
            }
            let Ok(permit) = self.operate(|| DEVICE.acquire()) else {
                self.count(Did::Rejected);
                // The core with the probe may be waiting for the host.
                self.dice.delay(500);
                continue;
            };
            let is_probe = permit.is_probe();
            let (TickBits(granted), _) = permit.into_token().into_raw();
            if is_probe {
                self.count(Did::Probes);
                assert_eq!(OUT.fetch_add(1, Relaxed), 0, "one probe at a time");
                GUARDED.store(GUARDED.load(Relaxed) + 1, Relaxed);
            }
            self.dice.delay(64);
            let held = Some(Held { granted, is_probe });
            if kept.is_none() && self.dice.one_in(8) {
                kept = held;
            } else {
                self.report(held);
            }
        }
        self.report(kept);
    }

    fn report(&mut self, held: Option<Held>) {
        let Some(Held { granted, is_probe }) = held else {
            return;
        };
        let permit = DEVICE.resume(Token::from_raw(TickBits(granted), 0));
        let dice = self.dice.below(8);
        if is_probe {
            // No other one is in flight, so the answer is known.
            let successes = SUCCESSES.load(Relaxed) + u32::from(dice < 4);
            let due = match dice {
                0..4 if successes == CLOSE_AFTER => Some(State::Closed),
                4..6 => Some(State::Open),
                _ => None,
            };
            SUCCESSES.store(if due.is_some() { 0 } else { successes }, Relaxed);
            OUT.fetch_sub(1, Relaxed);
            let made = self.operate(|| match dice {
                0..4 => permit.success(),
                4..6 => permit.failure(),
                _ => permit.cancel(),
            });
            assert_eq!(made.map(|made| made.to), due, "what the probe's report did");
            made.iter().for_each(|_| self.count(Did::Returned));
            return;
        }
        let before: u32 = notified().iter().sum();
        let age = u32::from(DEVICE.snapshot().epoch()).wrapping_sub(granted >> 28) % EPOCHS;
        let made = self.operate(|| match dice {
            0..4 => permit.success(),
            4..6 => permit.failure(),
            _ => permit.cancel(),
        });
        // Each core may have made one more that is not notified yet. After all sixteen epochs the permit looks new.
        let since = notified().iter().sum::<u32>() - before + 2;
        if age != 0 && age + since < EPOCHS {
            self.count(Did::Late);
            assert_eq!(made, None, "from before a transition");
        }
        if let Some(made) = made {
            assert_eq!(made.from, State::Closed, "it was no probe");
            self.count(Did::Returned);
        }
    }
}

/// Checks the invariants while both cores are at rest.
fn check() {
    let [tripped, failed, rounds, closed] = notified();
    let now = DEVICE.snapshot();
    let all = tripped + failed + rounds + closed;
    // The word has four bits for it.
    assert_eq!(
        u32::from(now.epoch()),
        all % EPOCHS,
        "each transition notified once"
    );
    assert_eq!(tripped - closed, u32::from(now.state() != State::Closed));
    assert_eq!(
        tripped + failed - rounds,
        u32::from(now.entered() == State::Open)
    );
    assert_eq!(both(Did::Returned), tripped + failed + closed);
    assert_eq!(OUT.load(Relaxed), 0);
    assert_eq!(now.probes_in_flight(), 0, "nothing is lost");
    assert_eq!(
        GUARDED.load(Relaxed),
        both(Did::Probes),
        "counted by probes"
    );
    if now.entered() == State::HalfOpen {
        assert_eq!(u32::from(now.successes()), SUCCESSES.load(Relaxed));
    }
    assert_eq!(DEVICE.check(), Ok(()));
}

const STACK_WORDS: usize = 1024;
static mut SECOND_STACK: [u64; STACK_WORDS] = [0; STACK_WORDS];

/// The start of the second core: its stack, its first instruction, and no interrupts.
#[repr(C, align(1024))]
struct Vectors {
    stack: *const u64,
    reset: extern "C" fn() -> !,
    others: [usize; 14],
}

// SAFETY: read by the hardware only.
unsafe impl Sync for Vectors {}

static SECOND: Vectors = Vectors {
    stack: (&raw const SECOND_STACK)
        .cast::<u64>()
        .wrapping_add(STACK_WORDS),
    reset: second_core,
    others: [0; 14],
};

extern "C" fn second_core() -> ! {
    let (mut done, index, dice) = (0, 1, Dice::new(!SEED));
    let mut core = Core { index, dice };
    loop {
        while WANTED.load(Acquire) == done {}
        done += 1;
        core.work();
        DONE.store(done, Release);
    }
}

fn start_second_core() {
    /// The vectors of the second core.
    const INITSVTOR1: *mut u32 = 0x5002_1114 as *mut u32;
    /// Makes a core wait.
    const CPUWAIT: *mut u32 = 0x5002_1118 as *mut u32;
    // SAFETY: the system control of the emulated board, written once.
    unsafe {
        INITSVTOR1.write_volatile((&raw const SECOND).addr() as u32);
        CPUWAIT.write_volatile(0);
    }
}

#[entry]
fn main() -> ! {
    start_second_core();
    let (index, dice) = (0, Dice::new(SEED));
    let mut core = Core { index, dice };
    let (mut rounds, mut lost) = (0, 0);
    let have_met = |lost| lost > 0 && both(Did::Met) > OPERATIONS / 200;
    while both(Did::Operations) < OPERATIONS || (!have_met(lost) && rounds < MOST_ROUNDS) {
        rounds += 1;
        WANTED.store(rounds, Release);
        core.work();
        while DONE.load(Acquire) != rounds {}
        check();
        lost = 2 * CALLS * rounds - UNGUARDED.load(Relaxed);
    }
    let met = both(Did::Met);
    for core in [0, 1] {
        let [probes, rejected, late] =
            [Did::Probes, Did::Rejected, Did::Late].map(|it| did(core, it));
        println!(
            "core {core}, seed {SEED}: {probes} probes, {rejected} rejected and {late} late reports"
        );
        let least = OPERATIONS / 2_000;
        assert!(probes > least && rejected > least && late > least);
    }
    assert!(have_met(lost), "the cores met {met} times");

    NOW.fetch_add(1_000, Relaxed);
    while DEVICE.state() != State::Closed {
        DEVICE.acquire().expect("no slot is taken").success();
    }
    pass!(
        "{} operations by two cores, {met} of them begun within one of the other core; {} probes, never two at a time; \
         {} transitions, each notified once; {} late reports changed nothing; nothing lost, where a plain counter lost {lost}",
        both(Did::Operations),
        both(Did::Probes),
        notified().iter().sum::<u32>(),
        both(Did::Late),
    );
}
