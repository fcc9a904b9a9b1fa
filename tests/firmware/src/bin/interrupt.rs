// SPDX-License-Identifier: MIT OR Apache-2.0
//! A task and an interrupt handler share one breaker: a permit granted here is reported there, and
//! both use it in a storm of interrupts.
#![no_std]
#![no_main]

use core::cell::Cell;
use core::time::Duration;

use atomic_breaker_embassy::word::{AtomicU32, TickBits, Ticks};
use atomic_breaker_embassy::{Breaker, Config, EmbassyClock, State, Token};
use critical_section::Mutex;
use embassy_executor::Spawner;
use embassy_time::Timer;
use firmware::{hurry, on_interrupt, pass, pend};
use portable_atomic::Ordering::Relaxed;

const PROBES: u32 = 3;
const CALLS: u32 = 20_000;
/// An interrupt every so many nanoseconds. If the handler changed the word within each admission of the task, which takes
/// more instructions on RISC-V, the task would get no probe.
const EVERY_NS: u32 = if cfg!(target_arch = "riscv32") {
    600_000
} else {
    300_000
};

/// Ticks of a millisecond.
static WORD: Ticks<AtomicU32, 0> = Ticks(AtomicU32::new(0));
static DEVICE: Breaker<EmbassyClock, &Ticks<AtomicU32, 0>> = Breaker::over(
    &WORD,
    Config::new()
        .consecutive_failures(2)
        .open_for(Duration::ZERO)
        .probes(PROBES)
        .close_after(4)
        .probe_lease(Duration::from_secs(16)),
    EmbassyClock,
);

/// A permit as two numbers.
type Raw = (TickBits<0>, u32);

/// What the task leaves for the handler.
static MAILBOX: Mutex<Cell<Option<Raw>>> = Mutex::new(Cell::new(None));

fn mailbox<R>(look: impl FnOnce(&Cell<Option<Raw>>) -> R) -> R {
    critical_section::with(|section| look(MAILBOX.borrow(section)))
}

/// The transfer that the task began has ended.
fn transfer_done() {
    if let Some((granted, started)) = mailbox(Cell::take) {
        DEVICE.resume(Token::from_raw(granted, started)).success();
    }
}

async fn across() {
    on_interrupt(transfer_done);
    DEVICE.trip();
    for probe in 1..=4 {
        let permit = DEVICE.acquire().expect("half-open");
        assert!(permit.is_probe());
        assert_eq!(DEVICE.snapshot().probes_in_flight(), 1);
        mailbox(|mailbox| mailbox.set(Some(permit.into_token().into_raw())));
        pend();
        Timer::after_millis(1).await;
        assert_eq!(
            DEVICE.snapshot().probes_in_flight(),
            0,
            "reported by the handler"
        );
        assert_eq!(DEVICE.state() == State::Closed, probe == 4);
    }
}

static OUT: AtomicU32 = AtomicU32::new(0);
static MOST: AtomicU32 = AtomicU32::new(0);
static INTERRUPTS: AtomicU32 = AtomicU32::new(0);
static INSIDE: AtomicU32 = AtomicU32::new(0);
static DICE: AtomicU32 = AtomicU32::new(0x1234_5678);

/// A call as task and handler make it: admitted or not, it ends somehow.
fn one_call(between: impl FnOnce(bool)) {
    // Marsaglia's xorshift; whoever comes between makes it less predictable only.
    let mut dice = DICE.load(Relaxed);
    dice ^= dice << 13;
    dice ^= dice >> 17;
    dice ^= dice << 5;
    DICE.store(dice, Relaxed);
    let Ok(permit) = DEVICE.acquire() else {
        return;
    };
    let is_probe = permit.is_probe();
    if is_probe {
        MOST.fetch_max(OUT.fetch_add(1, Relaxed) + 1, Relaxed);
    }
    between(is_probe);
    if is_probe {
        OUT.fetch_sub(1, Relaxed);
    }
    match dice >> 29 {
        0..4 => permit.success(),
        4..6 => permit.failure(),
        _ => permit.cancel(),
    };
}

fn storm_handler() {
    INTERRUPTS.fetch_add(1, Relaxed);
    one_call(|_| ());
}

fn storm() {
    on_interrupt(storm_handler);
    for call in 0..CALLS {
        one_call(|is_probe| {
            // In the midst of a call, too, and of every probe.
            if is_probe || call % 7 == 0 {
                INSIDE.fetch_add(1, Relaxed);
                pend();
            }
        });
        let in_flight = u32::from(DEVICE.snapshot().probes_in_flight());
        assert!(in_flight <= PROBES, "{in_flight} in flight");
    }
    on_interrupt(|| ());
}

#[embassy_executor::main]
async fn main(_spawner: Spawner) {
    let mut board = firmware::start();
    across().await;

    hurry(timer(&mut board), EVERY_NS);
    storm();
    let (most, interrupts) = (MOST.load(Relaxed), INTERRUPTS.load(Relaxed));
    assert!(
        most > 1 && most <= PROBES,
        "{most} probes at a time, {interrupts} interrupts"
    );
    assert!(interrupts > CALLS / 8, "{interrupts}");

    assert_eq!(OUT.load(Relaxed), 0);
    assert_eq!(DEVICE.snapshot().probes_in_flight(), 0, "nothing is lost");
    assert_eq!(DEVICE.check(), Ok(()));
    while DEVICE.state() != State::Closed {
        DEVICE.acquire().expect("no slot is taken").success();
    }
    pass!(
        "4 permits reported by the handler; {CALLS} calls against {interrupts} interrupts, {} of them in \
         the midst of a call: at most {most} probes at a time, none lost",
        INSIDE.load(Relaxed),
    );
}

#[cfg(target_arch = "arm")]
fn timer(board: &mut cortex_m::Peripherals) -> &mut cortex_m::peripheral::SYST {
    &mut board.SYST
}

#[cfg(target_arch = "riscv32")]
fn timer(board: &mut ()) -> &mut () {
    board
}
