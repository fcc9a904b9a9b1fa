// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flash chips behind a breaker.
#![cfg(feature = "embedded-storage")]

use std::future::pending;

use atomic_breaker_embassy::{Breaker, EmbassyClock, GuardedError, GuardedFlash, State};
use embassy_time::Duration;
use embedded_storage::nor_flash::{ErrorType, NorFlash, NorFlashErrorKind, ReadNorFlash};
use embedded_storage_async::nor_flash as asynchronous;

use super::sim::{RULES, Sim, at_once, breaker};

#[derive(Clone, Copy)]
enum Chip {
    Well,
    Fails(NorFlashErrorKind),
    Hangs,
}

impl Chip {
    fn answer(self) -> Result<(), NorFlashErrorKind> {
        match self {
            Self::Fails(kind) => Err(kind),
            _ => Ok(()),
        }
    }

    async fn answer_later(self) -> Result<(), NorFlashErrorKind> {
        if let Self::Hangs = self {
            return pending().await;
        }
        self.answer()
    }
}

impl ErrorType for Chip {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for Chip {
    const READ_SIZE: usize = 1;

    fn read(&mut self, _: u32, _: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        self.answer()
    }

    fn capacity(&self) -> usize {
        4_096
    }
}

impl NorFlash for Chip {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = 256;

    fn erase(&mut self, _: u32, _: u32) -> Result<(), NorFlashErrorKind> {
        self.answer()
    }

    fn write(&mut self, _: u32, _: &[u8]) -> Result<(), NorFlashErrorKind> {
        self.answer()
    }
}

impl asynchronous::ReadNorFlash for Chip {
    const READ_SIZE: usize = 1;

    async fn read(&mut self, _: u32, _: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        self.answer_later().await
    }

    fn capacity(&self) -> usize {
        4_096
    }
}

impl asynchronous::NorFlash for Chip {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = 256;

    async fn erase(&mut self, _: u32, _: u32) -> Result<(), NorFlashErrorKind> {
        self.answer_later().await
    }

    async fn write(&mut self, _: u32, _: &[u8]) -> Result<(), NorFlashErrorKind> {
        self.answer_later().await
    }
}

type Flash<'b> = GuardedFlash<Chip, &'b Breaker>;
type Failed = Result<(), GuardedError<NorFlashErrorKind>>;

#[test]
fn every_flash_operation_is_guarded_blocking_and_async() {
    let _time = Sim::new();
    let blocking: [fn(&mut Flash<'_>) -> Failed; 3] = [
        |flash| ReadNorFlash::read(flash, 0, &mut [0]),
        |flash| NorFlash::write(flash, 0, &[0; 4]),
        |flash| NorFlash::erase(flash, 0, 256),
    ];
    let fails = |call: &mut dyn FnMut(&mut Flash<'_>) -> Failed| {
        let breaker = Breaker::new(RULES, EmbassyClock);
        let mut flash = GuardedFlash::new(Chip::Well, &breaker);
        assert_eq!(call(&mut flash), Ok(()));
        *flash.device() = Chip::Fails(NorFlashErrorKind::Other);
        for _ in 0..3 {
            let failed = Err(GuardedError::Device(NorFlashErrorKind::Other));
            assert_eq!(call(&mut flash), failed);
        }
        assert!(call(&mut flash).unwrap_err().rejected().is_some());
    };
    for mut call in blocking {
        fails(&mut call);
    }
    fails(&mut |flash| at_once(asynchronous::ReadNorFlash::read(flash, 0, &mut [0])));
    fails(&mut |flash| at_once(asynchronous::NorFlash::write(flash, 0, &[0; 4])));
    fails(&mut |flash| at_once(asynchronous::NorFlash::erase(flash, 0, 256)));
}

#[test]
fn a_guarded_chip_is_as_large_as_the_chip() {
    let breaker = breaker(RULES);
    let flash = GuardedFlash::new(Chip::Well, &breaker);
    assert_eq!(ReadNorFlash::capacity(&flash), 4_096);
    assert_eq!(asynchronous::ReadNorFlash::capacity(&flash), 4_096);
}

#[test]
fn places_that_the_chip_does_not_have_are_the_callers_fault() {
    let _time = Sim::new();
    let breaker = breaker(RULES);
    for kind in [
        NorFlashErrorKind::OutOfBounds,
        NorFlashErrorKind::NotAligned,
    ] {
        let mut flash = GuardedFlash::new(Chip::Fails(kind), &breaker);
        assert!((0..10).all(|_| NorFlash::erase(&mut flash, 1, 2).is_err()));
    }
    let snapshot = breaker.snapshot();
    assert_eq!((snapshot.state(), snapshot.failures()), (State::Closed, 0));
}

#[test]
fn a_chip_that_hangs_trips_by_the_time_limit() {
    use asynchronous::NorFlash;
    let breaker = breaker(RULES);
    let mut flash = GuardedFlash::new(Chip::Hangs, &breaker).time_limit(Duration::from_millis(20));
    Sim::new().run(async {
        for _ in 0..3 {
            assert_eq!(
                NorFlash::erase(&mut flash, 0, 256).await,
                Err(GuardedError::TimedOut)
            );
        }
    });
    assert_eq!(breaker.state(), State::Open);
}
