// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two Cortex-M33 cores that really run in parallel share one breaker.
#![no_std]
#![no_main]

use core::time::Duration;

use atomic_breaker_embassy::word::AtomicU32;
use atomic_breaker_embassy::{Breaker, Clock, Config, Observer, State, Transition};
use cortex_m_rt::entry;
use firmware::pass;
use portable_atomic::Ordering::{Acquire, Relaxed, Release};

/// The calls of each core in each round.
const CALLS: u32 = 500_000;
/// A busy host may let the cores run one after the other.
const MOST_ROUNDS: u32 = 40;

/// Milliseconds that the cores move on themselves.
struct Shared;

static NOW: AtomicU32 = AtomicU32::new(0);

impl Clock for Shared {
    fn now_ms(&self) -> u32 {
        NOW.load(Relaxed)
    }
}

struct Counting;

static TOLD: AtomicU32 = AtomicU32::new(0);

impl Observer for Counting {
    fn transition(&self, _: &Transition) {
        TOLD.fetch_add(1, Relaxed);
    }
}

static WORD: AtomicU32 = AtomicU32::new(0);
// Without the time of embassy, as there is none on the second core.
static DEVICE: Breaker<Shared, &AtomicU32, (), Counting> = Breaker::builder(
    Config::new()
        .consecutive_failures(2)
        .open_for(Duration::ZERO)
        .probes(1)
        .close_after(2)
        // However long the host keeps a core from running, no probe is presumed lost, or late.
        .probe_lease(Duration::from_secs(1_000))
        .cancel_limit(Duration::from_secs(1_000)),
    Shared,
)
.word(&WORD)
.observer(Counting)
.build();

static OUT: AtomicU32 = AtomicU32::new(0);
static MOST: AtomicU32 = AtomicU32::new(0);
static PROBED: AtomicU32 = AtomicU32::new(0);
/// Incremented by a load and a store, to show what two cores do to unguarded memory.
static UNGUARDED: AtomicU32 = AtomicU32::new(0);
/// The rounds that the first core wants and the second has done.
static WANTED: AtomicU32 = AtomicU32::new(0);
static DONE: AtomicU32 = AtomicU32::new(0);

fn work(mut dice: u32) {
    for call in 0..CALLS {
        // Marsaglia's xorshift.
        dice ^= dice << 13;
        dice ^= dice >> 17;
        dice ^= dice << 5;
        UNGUARDED.store(UNGUARDED.load(Relaxed) + 1, Relaxed);
        if call % 8 == 0 {
            NOW.fetch_add(1, Relaxed);
        }
        let Ok(permit) = DEVICE.acquire() else {
            continue;
        };
        let is_probe = permit.is_probe();
        if is_probe {
            PROBED.fetch_add(1, Relaxed);
            MOST.fetch_max(OUT.fetch_add(1, Relaxed) + 1, Relaxed);
            OUT.fetch_sub(1, Relaxed);
        }
        match dice >> 29 {
            0..4 => permit.success(),
            4..6 => permit.failure(),
            _ => permit.cancel(),
        };
    }
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
    let mut done = 0;
    loop {
        while WANTED.load(Acquire) == done {}
        done += 1;
        work(0x1234_5678 + done);
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
    let (mut rounds, mut lost) = (0, 0);
    while lost == 0 && rounds < MOST_ROUNDS {
        rounds += 1;
        WANTED.store(rounds, Release);
        work(0x8765_4321 + rounds);
        while DONE.load(Acquire) != rounds {}
        lost = 2 * CALLS * rounds - UNGUARDED.load(Relaxed);
    }
    assert!(lost > 0, "the cores never met");

    let (probed, most) = (PROBED.load(Relaxed), MOST.load(Relaxed));
    assert_eq!(most, 1, "probes at a time");
    assert!(probed > CALLS / 500, "{probed} probes");
    assert_eq!(OUT.load(Relaxed), 0);
    assert_eq!(DEVICE.check(), Ok(()));
    let told = TOLD.load(Relaxed);
    // The word has four bits for it.
    assert_eq!(
        u32::from(DEVICE.snapshot().epoch()),
        told % 16,
        "each transition reported once"
    );

    assert_eq!(DEVICE.snapshot().probes_in_flight(), 0, "nothing is lost");
    NOW.fetch_add(1_000, Relaxed);
    while DEVICE.state() != State::Closed {
        DEVICE.acquire().expect("no slot is taken").success();
    }
    pass!(
        "{} calls by two cores, {probed} of them probes, never two at a time; {told} transitions, each \
         reported once; nothing lost, where a plain counter lost {lost}",
        2 * CALLS * rounds,
    );
}
