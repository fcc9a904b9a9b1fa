// SPDX-License-Identifier: MIT OR Apache-2.0
//! Guarded streams that are repaired before a probe: a command and its answer are several operations.
#![cfg(feature = "embedded-io")]

use std::future::pending;

use atomic_breaker_embassy::{GuardedIo, State};
use embassy_time::{Duration, Timer};
use embedded_io_async::{Read, Write};

use super::sim::{RULES, Sim, breaker};

const LIMIT: Duration = Duration::from_millis(20);

/// A modem that answers nothing until it is initialised, and forgets the command when it is initialised again.
#[derive(Default)]
struct Modem {
    is_initialised: bool,
    was_asked: bool,
    repairs: u32,
}

impl embedded_io_async::ErrorType for Modem {
    type Error = embedded_io_async::ErrorKind;
}

impl Read for Modem {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Self::Error> {
        if self.is_initialised && self.was_asked {
            return Ok(buffer.len());
        }
        pending().await
    }
}

impl Write for Modem {
    async fn write(&mut self, buffer: &[u8]) -> Result<usize, Self::Error> {
        self.was_asked = true;
        Ok(buffer.len())
    }

    async fn flush(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// A driver writes a command, and reads its answer. A write shows nothing, so all three are probes.
#[test]
fn a_command_and_its_answer_are_repaired_once() {
    let breaker = breaker(RULES);
    let modem = GuardedIo::new(Modem::default(), &breaker).time_limit(LIMIT);
    let repair = async |modem: &mut Modem, _| {
        *modem = Modem {
            is_initialised: true,
            was_asked: false,
            repairs: modem.repairs + 1,
        };
        Ok(())
    };
    let mut modem = modem.before_probe_async(LIMIT * 10, repair);
    let mut sim = Sim::new();
    breaker.trip();
    sim.run(async {
        Timer::after_millis(1_000).await;
        modem.write_all(b"AT\r").await.unwrap();
        modem.flush().await.unwrap();
        assert_eq!(breaker.state(), State::HalfOpen);
        assert_eq!(modem.read(&mut [0; 2]).await, Ok(2));
        assert_eq!(
            (breaker.state(), modem.device().repairs),
            (State::Closed, 1)
        );
    });
}

/// A read that is dropped says nothing, and the modem must not be reset under a command that it is about to answer.
#[test]
fn after_a_read_that_was_dropped_the_modem_is_not_repaired_again() {
    let breaker = breaker(RULES);
    let repair = async |modem: &mut Modem, _| {
        modem.repairs += 1;
        Ok(())
    };
    let mut modem =
        GuardedIo::new(Modem::default(), &breaker).before_probe_async(LIMIT * 10, repair);
    let mut sim = Sim::new();
    breaker.trip();
    sim.run(async {
        Timer::after_millis(1_000).await;
        for _ in 1..=3 {
            modem.write_all(b"AT\r").await.unwrap();
            assert_eq!(modem.device().repairs, 1);
            let mut answer = [0; 2];
            let left = embassy_time::with_timeout(LIMIT, modem.read(&mut answer));
            assert!(left.await.is_err());
            assert_eq!(breaker.state(), State::HalfOpen);
        }
    });
}
