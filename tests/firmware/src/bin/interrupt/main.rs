// SPDX-License-Identifier: MIT OR Apache-2.0
//! A task and an interrupt handler share one breaker: a permit granted here is reported there, and
//! both use it in a storm of interrupts.
#![no_std]
#![no_main]

mod judge;
mod model;
mod storm;

use core::cell::Cell;
use core::time::Duration;

use atomic_breaker_embassy::word::{AtomicU32, TickBits, Ticks};
use atomic_breaker_embassy::{Breaker, Config, EmbassyClock, Observer, State, Token, Transition};
use critical_section::Mutex;
use embassy_executor::Spawner;
use embassy_time::Timer;
use firmware::{on_interrupt, pass, pend, println};
use model::{CLOSE_AFTER, FAILURES, OPEN_MS, PROBES, kind};
use portable_atomic::Ordering::Relaxed;
use storm::SEED;

/// Counts the transitions to each kind of state.
struct Counting;

static NOTIFIED: [AtomicU32; 3] = [const { AtomicU32::new(0) }; 3];

impl Observer for Counting {
    fn transition(&self, made: &Transition) {
        NOTIFIED[kind(made.to)].fetch_add(1, Relaxed);
    }
}

fn notified() -> [u32; 3] {
    [0, 1, 2].map(|kind| NOTIFIED[kind].load(Relaxed))
}

/// Ticks of a millisecond.
static WORD: Ticks<AtomicU32, 0> = Ticks(AtomicU32::new(0));
static DEVICE: Breaker<EmbassyClock, &Ticks<AtomicU32, 0>, (), Counting> = Breaker::builder(
    Config::new()
        .consecutive_failures(FAILURES as u32)
        .open_for(Duration::from_millis(OPEN_MS as u64))
        .probes(PROBES as u32)
        .close_after(CLOSE_AFTER as u32)
        // No probe is presumed lost, or late.
        .probe_lease(Duration::from_secs(16))
        .cancel_limit(Duration::from_secs(16)),
    EmbassyClock,
)
.word(&WORD)
.observer(Counting)
.build();

/// A permit as two numbers.
type Raw = (TickBits<0>, u32);

/// The permit that the task leaves for the handler.
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
    Timer::after_millis(OPEN_MS.into()).await;
    for probe in 1..=CLOSE_AFTER {
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
        assert_eq!(DEVICE.state() == State::Closed, probe == CLOSE_AFTER);
    }
}

#[embassy_executor::main]
async fn main(_spawner: Spawner) {
    firmware::start();
    across().await;

    let (judge, came) = storm::run();
    let [task, handler] = judge.done;
    let operations = task.operations + handler.operations;
    let (within, instants, met) = (came.within, came.instants(), judge.met);
    println!(
        "seed {SEED}: {} probes, {} rejected and {} late reports of the task, {}, {} and {} of the handler",
        task.probes, task.rejected, task.late, handler.probes, handler.rejected, handler.late,
    );
    for done in judge.done {
        let least = done.operations / 100;
        assert!(done.probes > least && done.rejected > least && done.late > least);
    }
    assert!(within > operations / 100, "{within} within an operation");
    assert!(met > operations / 500, "{met} changes within an operation");
    assert!(instants > 100, "{instants} different instants");

    assert_eq!(DEVICE.snapshot().probes_in_flight(), 0, "nothing is lost");
    assert_eq!(DEVICE.check(), Ok(()));
    DEVICE.probe_now();
    while DEVICE.state() != State::Closed {
        DEVICE.acquire().expect("no slot is taken").success();
    }
    let [closings, openings, rounds] = judge.model.made;
    pass!(
        "{CLOSE_AFTER} permits reported by the handler; {operations} operations, all as the model says, {} of them by {} interrupts: \
         {within} came within an operation of the task, after {instants} different numbers of instructions, and {met} changed \
         the word there; {openings} openings, {rounds} rounds of probes and {closings} closings, each notified once; {} late \
         reports changed nothing",
        handler.operations,
        came.ever,
        task.late + handler.late,
    );
}
