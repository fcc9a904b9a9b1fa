// SPDX-License-Identifier: MIT OR Apache-2.0
//! All ways to use one breaker at once: closures that panic, futures that are dropped, tokens sent to another
//! thread, and an operator's commands in between.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use atomic_breaker::word::AtomicU64 as Wide;
use atomic_breaker::{Breaker, Config, ManualClock, Outcome, State, Token};
use tests::random::{Random, SEED};
use tests::words::Contended;

use super::audit::{Cell, Ledger, Narrow, contended};

const TICK: Duration = Duration::from_millis(8);
/// Longer than the clock goes in a test, shorter than the longest time of a 32-bit word.
const NEVER: Duration = Duration::from_secs(120);

/// The transitions that can still follow when all threads have just seen that there is room: two calls
/// and one future, admitted and reported; a token admitted, and three under way to their report; one
/// command.
const UNDER_WAY: u64 = 2 * 3 + 1 + 3 + 1;

struct Crowd<'a, W: Cell> {
    breaker: Breaker<&'a ManualClock, &'a Contended<W>, (), &'a Ledger>,
    ledger: &'a Ledger,
    begin: Barrier,
    calls: AtomicU64,
}

impl<W: Cell> Crowd<'_, W> {
    /// Works until the epochs of this run are used up, or for a while.
    fn work(&self, mut act: impl FnMut()) {
        self.begin.wait();
        for _ in 0..300 {
            if !self.ledger.has_room_for::<W>(UNDER_WAY) {
                break;
            }
            act();
        }
    }

    fn count(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    /// Calls closures; some panic.
    fn call(&self, mut random: Random) {
        self.work(|| {
            self.count();
            let choice = random.below(8);
            let call = || {
                self.breaker.call(|| match choice {
                    0..4 => Ok(()),
                    4..6 => Err(()),
                    // Without the message of the panic hook.
                    _ => resume_unwind(Box::new("as a closure may")),
                })
            };
            let _ = catch_unwind(AssertUnwindSafe(call));
        });
    }

    /// Polls futures once or twice; some panic, some are dropped when they were polled once.
    fn poll(&self, mut random: Random) {
        let mut context = Context::from_waker(Waker::noop());
        self.work(|| {
            self.count();
            let choice = random.below(8);
            let mut is_second = false;
            let operation = std::future::poll_fn(|_| {
                if !std::mem::replace(&mut is_second, true) {
                    return Poll::Pending;
                }
                match choice {
                    0..3 => Poll::Ready(Ok(())),
                    3..5 => Poll::Ready(Err(())),
                    _ => resume_unwind(Box::new("as a future may")),
                }
            });
            let mut future = pin!(self.breaker.call_async(|| operation));
            let is_rejected = future.as_mut().poll(&mut context).is_ready();
            thread::yield_now();
            if !is_rejected && choice < 6 {
                let poll = || future.as_mut().poll(&mut context);
                let _ = catch_unwind(AssertUnwindSafe(poll));
            }
        });
    }

    /// Sends tokens away.
    fn send(&self, tokens: &SyncSender<Token<W::Bits>>) {
        self.work(|| {
            self.count();
            if let Ok(permit) = self.breaker.acquire() {
                tokens.send(permit.into_token()).unwrap();
            }
        });
    }

    /// Reports the tokens that arrive.
    fn receive(&self, tokens: Receiver<Token<W::Bits>>, mut random: Random) {
        for token in tokens {
            let permit = self.breaker.resume(token);
            match random.below(8) {
                0..4 => permit.success(),
                4..6 => permit.failure(),
                6 => permit.report(Outcome::Ignored),
                _ => permit.cancel(),
            };
        }
    }

    fn command(&self, mut random: Random) {
        self.work(|| {
            match random.below(9) {
                0 => self.breaker.trip(),
                1 => self.breaker.force_open(),
                2 => self.breaker.release(),
                3 => self.breaker.reset(),
                4 => self.breaker.disable(),
                5 => self.breaker.enable(),
                6 => self.breaker.trip_for(TICK),
                7 => self.breaker.probe_now(),
                _ => self.breaker.probe_early(),
            };
            for _ in 0..random.below(8) {
                thread::yield_now();
            }
        });
    }
}

/// Plays one run. Returns how many calls, transitions and lost exchanges it had.
fn run<W: Cell>(stream: u64) -> (u64, usize, u64) {
    let config = Config::new()
        .consecutive_failures(2)
        .open_for(TICK)
        .probes(2)
        .close_after(3)
        .probe_lease(NEVER)
        .cancel_limit(TICK)
        .gradual_return(40, 4 * TICK);
    let (word, clock, ledger) = (contended::<W>(), ManualClock::new(), Ledger::default());
    let crowd = Crowd {
        breaker: Breaker::builder(config, &clock)
            .word(&word)
            .observer(&ledger)
            .build(),
        ledger: &ledger,
        begin: Barrier::new(6),
        calls: AtomicU64::new(0),
    };
    let before = crowd.breaker.snapshot();
    let random = |caller| Random::stream(stream * 8 + caller);
    let (sent, arriving) = sync_channel(1);
    thread::scope(|scope| {
        let crowd = &crowd;
        scope.spawn(move || crowd.call(random(1)));
        scope.spawn(move || crowd.call(random(2)));
        scope.spawn(move || crowd.poll(random(3)));
        scope.spawn(move || crowd.send(&sent));
        scope.spawn(move || crowd.receive(arriving, random(4)));
        scope.spawn(move || crowd.command(random(5)));
        crowd.work(|| {
            clock.advance(Duration::from_millis(1));
            thread::yield_now();
        });
    });

    let after = crowd.breaker.snapshot();
    let transitions = ledger.chain::<W>(&before, &after).len();
    let calls = crowd.calls.load(Ordering::Relaxed);
    assert_eq!(ledger.calls_ended(), calls, "each call ended once");
    assert_eq!(after.probes_in_flight(), 0, "every slot came back");

    // Not wedged.
    crowd.breaker.enable();
    crowd.breaker.release();
    clock.advance(6 * TICK);
    assert!(crowd.breaker.acquire().is_ok(), "{:?}", crowd.breaker);
    if after.entered() == State::Closed {
        assert!(after.failures() < 2, "it would have tripped");
    }
    (calls, transitions, word.lost())
}

fn runs<W: Cell>(runs: u64) {
    let (mut calls, mut transitions, mut lost) = (0, 0, 0);
    for stream in 0..runs {
        let run = run::<W>(stream);
        calls += run.0;
        transitions += run.1;
        lost += run.2;
    }
    println!(
        "{}, {runs} runs, seed {SEED:#x}: {calls} calls, {transitions} transitions, {lost} exchanges \
         lost to another thread",
        W::NAME,
    );
}

#[test]
fn panics_dropped_futures_tokens_and_an_operator_at_once_over_a_64_bit_word() {
    runs::<Wide>(100);
}

#[test]
fn panics_dropped_futures_tokens_and_an_operator_at_once_over_a_32_bit_word() {
    runs::<Narrow>(400);
}
