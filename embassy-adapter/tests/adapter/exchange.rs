// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streams: a read is not a call, an answer is.
#![cfg(feature = "embedded-nal")]

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::{pending, poll_fn};
use std::pin::pin;
use std::task::Poll;

use atomic_breaker_embassy::{
    Breaker, Config, EmbassyClock, Exchange, GuardedError, GuardedIo, State,
};
use embassy_time::{Duration, Timer, with_timeout};
use embedded_io_async::{BufRead, ErrorKind, ErrorType, Read, ReadReady, Write, WriteReady};

use super::sim::{RULES, Sim, both, breaker, let_others_run, now};

const LIMIT: Duration = Duration::from_secs(1);

/// A modem on a serial line, both halves of it: answers each command after 100 ms, unless it is dead.
#[derive(Default)]
struct Modem {
    is_dead: Cell<bool>,
    answers_at_ms: RefCell<VecDeque<u64>>,
    written: Cell<u32>,
}

impl Modem {
    fn has_answer(&self) -> bool {
        self.answers_at_ms
            .borrow()
            .front()
            .is_some_and(|at| *at <= now())
    }
}

struct Half<'a>(&'a Modem);

impl ErrorType for Half<'_> {
    type Error = ErrorKind;
}

impl Read for Half<'_> {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, ErrorKind> {
        loop {
            if self.0.has_answer() {
                self.0.answers_at_ms.borrow_mut().pop_front();
                return Ok(buffer.len().min(2));
            }
            Timer::after_millis(10).await;
        }
    }
}

impl BufRead for Half<'_> {
    async fn fill_buf(&mut self) -> Result<&[u8], ErrorKind> {
        while !self.0.has_answer() {
            Timer::after_millis(10).await;
        }
        Ok(b"OK")
    }

    fn consume(&mut self, _: usize) {
        self.0.answers_at_ms.borrow_mut().pop_front();
    }
}

impl ReadReady for Half<'_> {
    fn read_ready(&mut self) -> Result<bool, ErrorKind> {
        Ok(self.0.has_answer())
    }
}

impl WriteReady for Half<'_> {
    fn write_ready(&mut self) -> Result<bool, ErrorKind> {
        Ok(true)
    }
}

impl Write for Half<'_> {
    async fn write(&mut self, buffer: &[u8]) -> Result<usize, ErrorKind> {
        self.0.written.set(self.0.written.get() + 1);
        if !self.0.is_dead.get() {
            self.0.answers_at_ms.borrow_mut().push_back(now() + 100);
        }
        Ok(buffer.len())
    }

    async fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}

/// The usual serial task: it reads what comes, until there is a command to write. Returns how many commands were rejected.
async fn serve(port: &mut (impl Read + Write), commands: u32, every: Duration) -> u32 {
    let mut rejected = 0;
    let mut next = Timer::after(every);
    let mut made = 0;
    while made < commands {
        let mut buffer = [0; 8];
        let is_time = {
            let mut read = pin!(port.read(&mut buffer));
            poll_fn(|context| {
                if pin!(&mut next).poll(context).is_ready() {
                    return Poll::Ready(true);
                }
                read.as_mut().poll(context).map(|_| false)
            })
            .await
        };
        if is_time {
            made += 1;
            next = Timer::after(every);
            rejected += u32::from(port.write_all(b"AT\r").await.is_err());
        } else {
            let_others_run().await;
        }
    }
    rejected
}

#[test]
fn a_task_that_reads_until_there_is_a_command_notices_a_dead_modem() {
    // Also if commands come faster than the limit.
    for every in [Duration::from_secs(5), Duration::from_millis(400)] {
        let breaker = breaker(RULES.open_for(core::time::Duration::from_secs(3_600)));
        let modem = Modem::default();
        modem.is_dead.set(true);
        let mut port = GuardedIo::new(Half(&modem), &breaker).time_limit(LIMIT);
        Sim::new().run(async {
            let rejected = serve(&mut port, 120, every).await;
            assert!(rejected >= 110, "{rejected}");
        });
        assert_eq!(breaker.state(), State::Open);
    }
}

#[test]
fn waiting_for_news_is_no_failure_and_a_well_modem_stays_closed() {
    let breaker = breaker(RULES.slow_call(core::time::Duration::from_millis(500)));
    let modem = Modem::default();
    let mut port = GuardedIo::new(Half(&modem), &breaker).time_limit(LIMIT);
    let mut sim = Sim::new();
    sim.run(async {
        assert_eq!(serve(&mut port, 20, Duration::from_secs(10)).await, 0);
        assert_eq!(breaker.state(), State::Closed);
        // It closes by the first answer after an outage, too.
        breaker.trip();
        Timer::after_secs(1).await;
        assert_eq!(serve(&mut port, 2, Duration::from_secs(10)).await, 0);
        assert_eq!(breaker.state(), State::Closed);
    });
}

#[test]
fn an_answer_that_does_not_come_is_a_failure_when_the_limit_has_passed_since_the_write() {
    let breaker = breaker(RULES);
    let modem = Modem::default();
    modem.is_dead.set(true);
    let mut port = GuardedIo::new(Half(&modem), &breaker).time_limit(LIMIT);
    let took = Sim::new().run(async {
        port.write_all(b"AT\r").await.unwrap();
        Timer::after_millis(600).await;
        assert_eq!(port.read(&mut [0; 8]).await, Err(GuardedError::TimedOut));
    });
    assert!((998..=1_002).contains(&took), "{took}");
    assert_eq!(breaker.snapshot().failures(), 1);
}

/// The reader of such drivers waits all the time, in a task of its own.
#[test]
fn halves_of_a_stream_in_two_guards_notice_a_dead_modem_and_serve_a_well_one_at_once() {
    static EXCHANGE: Exchange = Exchange::new();
    let rules: Config = RULES.open_for(core::time::Duration::from_secs(5));
    let breaker = Breaker::new(rules, EmbassyClock);
    let modem = Modem::default();
    let mut from = GuardedIo::new(Half(&modem), &breaker)
        .half_of(&EXCHANGE)
        .time_limit(LIMIT);
    let mut to = GuardedIo::new(Half(&modem), &breaker).half_of(&EXCHANGE);
    let is_over = Cell::new(false);
    let reader = async {
        while !is_over.get() {
            let _ = with_timeout(Duration::from_secs(20), from.read(&mut [0; 8])).await;
        }
    };
    let writer = async {
        for _ in 0..10 {
            assert!(to.write_all(b"AT\r").await.is_ok());
            Timer::after_secs(3).await;
        }
        modem.is_dead.set(true);
        for _ in 0..6 {
            let _ = to.write_all(b"AT\r").await;
            Timer::after_secs(3).await;
        }
        assert!(breaker.snapshot().trips() >= 1);
        modem.is_dead.set(false);
        let since = now();
        while breaker.state() != State::Closed {
            let _ = to.write_all(b"AT\r").await;
            Timer::after_millis(500).await;
        }
        assert!(now() - since <= 7_000, "{}", now() - since);
        is_over.set(true);
    };
    let mut sim = Sim::new();
    sim.run(both(reader, writer));
}

#[test]
fn a_read_that_waits_holds_no_place_of_a_probe() {
    let breaker = breaker(RULES);
    let modem = Modem::default();
    let mut port = GuardedIo::new(Half(&modem), &breaker);
    let mut sim = Sim::new();
    breaker.trip();
    sim.pass(1_000);
    sim.run(async {
        let mut buffer = [0; 8];
        let read = port.read(&mut buffer);
        assert!(with_timeout(LIMIT, read).await.is_err());
        assert!(breaker.acquire().is_ok());
        port.write_all(b"AT\r").await.unwrap();
        assert_eq!(port.read(&mut [0; 8]).await, Ok(2));
        assert_eq!(breaker.state(), State::Closed);
    });
}

#[test]
fn a_device_that_speaks_by_itself_is_noticed_by_its_silence() {
    let breaker = breaker(RULES);
    let modem = Modem::default();
    let mut receiver = GuardedIo::new(Half(&modem), &breaker)
        .time_limit(LIMIT)
        .expecting_data();
    Sim::new().run(async {
        for _ in 0..3 {
            let silence = receiver.read(&mut [0; 8]).await;
            assert_eq!(silence, Err(GuardedError::TimedOut));
        }
        assert_eq!(breaker.state(), State::Open);
        modem.answers_at_ms.borrow_mut().push_back(0);
        Timer::after_secs(1).await;
        assert_eq!(receiver.read(&mut [0; 8]).await, Ok(2));
        assert_eq!(breaker.state(), State::Closed);
    });
}

#[test]
fn a_guarded_stream_is_buffered_and_asked_as_the_stream_is() {
    let breaker = breaker(RULES);
    let modem = Modem::default();
    let mut port = GuardedIo::new(Half(&modem), &breaker).time_limit(LIMIT);
    let mut sim = Sim::new();
    breaker.trip();
    sim.pass(1_000);
    sim.run(async {
        assert_eq!(
            (port.read_ready(), port.write_ready()),
            (Ok(false), Ok(true))
        );
        port.write_all(b"AT\r").await.unwrap();
        assert_eq!(port.fill_buf().await, Ok(&b"OK"[..]));
        assert_eq!(breaker.state(), State::Closed);
        port.consume(2);
        modem.is_dead.set(true);
        port.write_all(b"AT\r").await.unwrap();
        assert_eq!(port.fill_buf().await, Err(GuardedError::TimedOut));
    });
}

/// A long poll: nothing comes for minutes, and the request has been answered before.
#[test]
fn a_connection_that_waits_for_news_is_no_failure_and_lets_others_probe() {
    struct Quiet;
    impl ErrorType for Quiet {
        type Error = ErrorKind;
    }
    impl Read for Quiet {
        async fn read(&mut self, _: &mut [u8]) -> Result<usize, ErrorKind> {
            pending().await
        }
    }
    let breaker = breaker(RULES);
    let mut news = GuardedIo::new(Quiet, &breaker).time_limit(LIMIT);
    let mut sim = Sim::new();
    breaker.trip();
    sim.pass(1_000);
    sim.run(async {
        let mut buffer = [0];
        let waits = with_timeout(Duration::from_secs(300), news.read(&mut buffer));
        assert!(waits.await.is_err());
        breaker.acquire().unwrap().success();
        assert_eq!(breaker.state(), State::Closed);
    });
}
