// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thermometer goes silent, NACKs, hangs and comes back slowly. A driver crate that knows nothing about
//! breakers reads it, first on the bare bus, then on the guarded one.
#![no_std]
#![no_main]

use core::time::Duration;

use atomic_breaker_embassy::word::{AtomicU32, Ticks};
use atomic_breaker_embassy::{
    Breaker, Cause, Config, EmbassyClock, EventLog, Failure, GuardedI2c, Outcome, State,
};
use embassy_executor::Spawner;
use embassy_time::{Instant, Timer, block_for};
use embedded_hal::i2c::{ErrorKind, ErrorType, I2c, NoAcknowledgeSource, Operation};
use firmware::pass;
use lm75::{Address, Lm75};

static LOG: EventLog<128> = EventLog::new();

/// Ticks of 4 ms.
type Word = Ticks<AtomicU32, 2>;

static SENSOR: Breaker<EmbassyClock, Word, (), &EventLog<128>> = Breaker::builder(
    Config::new()
        .consecutive_failures(3)
        .open_for(Duration::from_millis(400)),
    EmbassyClock,
)
.word(Ticks(AtomicU32::new(0)))
.observer(&LOG)
.build();

/// A bus with an LM75 and a plan of faults, each with its start in milliseconds.
struct Bus {
    start: Instant,
    transactions: u32,
    blocked_ms: u64,
}

enum Mode {
    Healthy,
    Silent,
    NackStorm,
    Hangs,
    Slow,
}

const PLAN: [(u64, Mode); 6] = [
    (0, Mode::Healthy),
    (1_000, Mode::Silent),
    (3_000, Mode::NackStorm),
    (5_000, Mode::Hangs),
    (9_000, Mode::Slow),
    (10_000, Mode::Healthy),
];
const END: u64 = 12_000;

impl Bus {
    fn new() -> Self {
        Self {
            start: Instant::now(),
            transactions: 0,
            blocked_ms: 0,
        }
    }

    fn mode(&self) -> &'static Mode {
        let now = self.start.elapsed().as_millis();
        let begun = PLAN.iter().rev().find(|(from, _)| *from <= now);
        &begun.expect("the first begins at 0").1
    }

    /// The whole processor waits, as it does in a blocking driver.
    fn block(&mut self, ms: u64) {
        self.blocked_ms += ms;
        block_for(embassy_time::Duration::from_millis(ms));
    }
}

impl ErrorType for Bus {
    type Error = ErrorKind;
}

impl I2c for Bus {
    fn transaction(
        &mut self,
        address: u8,
        operations: &mut [Operation<'_>],
    ) -> Result<(), ErrorKind> {
        assert_eq!(address, 0x48);
        self.transactions += 1;
        match self.mode() {
            Mode::Silent => return Err(ErrorKind::NoAcknowledge(NoAcknowledgeSource::Address)),
            Mode::NackStorm => return Err(ErrorKind::NoAcknowledge(NoAcknowledgeSource::Data)),
            Mode::Hangs => {
                // The clock line is held low until the bus gives up.
                self.block(100);
                return Err(ErrorKind::Bus);
            }
            Mode::Slow => self.block(20),
            Mode::Healthy => {}
        }
        for operation in operations {
            if let Operation::Read(buffer) = operation {
                // 21.5 °C.
                buffer.copy_from_slice(&[21, 0x80]);
            }
        }
        Ok(())
    }
}

/// The totals of ten measurements a second.
struct Day {
    measured: u32,
    missed: u32,
    transactions: u32,
    blocked_ms: u64,
}

async fn bare() -> Day {
    let mut day = Day::begin();
    let mut sensor = Lm75::new(Bus::new(), Address::default());
    let begin = Instant::now();
    while begin.elapsed().as_millis() < END {
        day.count(sensor.read_temperature().ok());
        Timer::after_millis(100).await;
    }
    day.end(sensor.destroy())
}

/// A bus that hangs costs much more time than a sensor that refuses.
fn classify(kind: ErrorKind) -> Outcome {
    match kind {
        ErrorKind::Bus => Failure::tripping().into(),
        ErrorKind::ArbitrationLoss => Outcome::Ignored,
        _ => Failure::new().into(),
    }
}

async fn guarded() -> Day {
    let mut day = Day::begin();
    let bus = GuardedI2c::new(Bus::new(), &SENSOR).with_classifier(classify);
    let mut sensor = Lm75::new(bus, Address::default());
    let begin = Instant::now();
    while begin.elapsed().as_millis() < END {
        day.count(sensor.read_temperature().ok());
        Timer::after_millis(100).await;
    }
    day.end(sensor.destroy().release())
}

impl Day {
    fn begin() -> Self {
        Self {
            measured: 0,
            missed: 0,
            transactions: 0,
            blocked_ms: 0,
        }
    }

    fn count(&mut self, degrees: Option<f32>) {
        match degrees {
            Some(degrees) => {
                assert!((21.4..21.6).contains(&degrees));
                self.measured += 1;
            }
            None => self.missed += 1,
        }
    }

    fn end(mut self, bus: Bus) -> Self {
        self.transactions = bus.transactions;
        self.blocked_ms = bus.blocked_ms;
        self
    }
}

#[embassy_executor::main]
async fn main(_spawner: Spawner) {
    firmware::start();
    let without = bare().await;
    let with = guarded().await;

    assert!(without.transactions > 80, "asked all the time");
    assert!(
        with.transactions < without.transactions - 25,
        "left alone while it is down"
    );
    assert!(
        with.blocked_ms * 2 < without.blocked_ms,
        "{} ms",
        with.blocked_ms
    );
    assert!(
        with.measured >= 35,
        "works when it works: {}",
        with.measured
    );
    assert_eq!(SENSOR.state(), State::Closed);
    assert!(SENSOR.check().is_ok());

    let first = LOG.pop().expect("it tripped");
    assert_eq!(first.cause, Cause::FailureLimit);
    let (mut failed_probes, mut transitions, mut last) = (0, 1, first.to);
    while let Some(told) = LOG.pop() {
        assert_eq!(told.from, last, "the log joins up");
        last = told.to;
        transitions += 1;
        failed_probes += u32::from(told.cause == Cause::ProbeFailed);
    }
    assert!(failed_probes > 5 && last == State::Closed && LOG.take_lost() == 0);
    pass!(
        "{} instead of {} transactions with a device that was down for 8 of 12 s, blocked {} instead of \
         {} ms, {} measurements instead of {}, {transitions} transitions",
        with.transactions,
        without.transactions,
        with.blocked_ms,
        without.blocked_ms,
        with.measured,
        without.measured,
    );
}
