// SPDX-License-Identifier: MIT OR Apache-2.0
//! A sensor that hangs after a minute, one reading a second for a day, on a clock that the program moves: what a repair before
//! a probe is worth. Prints the table of `docs/microcontrollers.md`.
#![no_std]
#![no_main]

use core::time::Duration;

use atomic_breaker_embassy::{Breaker, Clock, Config, GuardedI2c, ManualClock, State};
use embedded_hal::i2c::{ErrorKind, ErrorType, I2c, Operation};
use firmware::{pass, println, start};
use lm75::{Address, Lm75};

const DAY_S: u32 = 24 * 3_600;
const HANGS_AT_S: u32 = 60;
const SECOND: Duration = Duration::from_secs(1);
/// So long the bus waits for a sensor that holds its clock line.
const PATIENCE_MS: u32 = 25;

/// A bus with a sensor that holds the clock line from some second on, until it is repaired by this rung.
struct Bus<'c> {
    clock: &'c ManualClock,
    healed_by: u8,
    hangs: bool,
    /// Transactions that waited in vain.
    in_vain: u32,
    repairs: [u32; LADDER.len()],
    /// The second in which the ladder was at its end.
    given_up_at_s: Option<u32>,
}

/// The repairs before the first probe of an outage, the second, and all others.
const LADDER: [&str; 3] = ["clear the bus", "initialise", "cycle the power"];

impl Bus<'_> {
    /// The next rung of the ladder. Beyond its end nothing is tried any more, and the probes go on: the time to report that
    /// the sensor needs a person.
    fn repair(&mut self, trips: u8) {
        let Some(repairs) = self.repairs.get_mut(usize::from(trips) - 1) else {
            let now_s = self.clock.now_ms() / 1_000;
            self.given_up_at_s.get_or_insert(now_s);
            return;
        };
        *repairs += 1;
        if trips >= self.healed_by {
            self.hangs = false;
        }
    }
}

impl ErrorType for Bus<'_> {
    type Error = ErrorKind;
}

impl I2c for Bus<'_> {
    fn transaction(&mut self, _: u8, operations: &mut [Operation<'_>]) -> Result<(), ErrorKind> {
        if self.hangs {
            self.in_vain += 1;
            return Err(ErrorKind::Bus);
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

/// A day.
struct Day {
    readings: u32,
    in_vain: u32,
    repairs: u32,
    given_up_at_s: Option<u32>,
    ends: State,
}

/// Each trip lasts longer, up to a minute.
const RULES: Config = Config::new()
    .consecutive_failures(3)
    .open_for(Duration::from_secs(2))
    .exponential(2, Duration::from_secs(60));

/// The choice whether a day's repairs are made before probes.
#[derive(Clone, Copy, PartialEq)]
enum Repairs {
    Never,
    BeforeProbes,
}

fn day(repairs: Repairs, healed_by: u8) -> Day {
    let clock = ManualClock::new();
    let breaker = Breaker::<_, _>::new(RULES, &clock);
    let bus = Bus {
        clock: &clock,
        healed_by,
        hangs: false,
        in_vain: 0,
        repairs: [0; LADDER.len()],
        given_up_at_s: None,
    };
    // The one line: the closure after `before_probe`.
    let bus = GuardedI2c::new(bus, &breaker).before_probe(|bus: &mut Bus<'_>, trips| {
        if repairs == Repairs::BeforeProbes {
            bus.repair(trips);
        }
        Ok(())
    });
    let mut sensor = Lm75::new(bus, Address::default());
    let mut readings = 0;
    for second in 0..DAY_S {
        if second == HANGS_AT_S {
            let mut bus = sensor.destroy();
            bus.device().hangs = true;
            sensor = Lm75::new(bus, Address::default());
        }
        readings += u32::from(sensor.read_temperature().is_ok());
        clock.advance(SECOND);
    }
    let bus = sensor.destroy().release();
    Day {
        readings,
        in_vain: bus.in_vain,
        repairs: bus.repairs.iter().sum(),
        given_up_at_s: bus.given_up_at_s,
        ends: breaker.state(),
    }
}

fn row(what: &str, day: &Day) {
    let waited_s = day.in_vain * PATIENCE_MS / 1_000;
    println!(
        "| {what} | {} | {} | {waited_s} s | {} | {} |",
        day.readings, day.in_vain, day.repairs, day.ends,
    );
}

#[cfg_attr(target_arch = "arm", cortex_m_rt::entry)]
#[cfg_attr(target_arch = "riscv32", riscv_rt::entry)]
fn main() -> ! {
    let _ = start();
    let without = day(Repairs::Never, 1);
    row("none", &without);
    let one = day(Repairs::BeforeProbes, 1);
    row("one, which helps", &one);
    let ladder = day(Repairs::BeforeProbes, 3);
    row("a ladder of three, of which the last helps", &ladder);
    let beyond = day(Repairs::BeforeProbes, u8::MAX);
    row("a ladder, and a sensor beyond repair", &beyond);

    // The readings until it hangs, and none after.
    assert_eq!((without.readings, without.repairs), (HANGS_AT_S, 0));
    // Three that fail, and the seconds until the first probe.
    assert_eq!((one.readings, one.in_vain, one.repairs), (DAY_S - 5, 3, 1));
    assert_eq!((ladder.in_vain, ladder.repairs), (5, 3));
    assert!(ladder.readings >= DAY_S - 20);
    assert_eq!(
        (beyond.readings, beyond.in_vain),
        (HANGS_AT_S, without.in_vain)
    );
    assert_eq!(beyond.repairs, 3);
    assert_eq!((one.given_up_at_s, ladder.given_up_at_s), (None, None));
    let given_up = beyond.given_up_at_s.expect("all rungs were tried");
    assert!(given_up < HANGS_AT_S + 60);
    pass!(
        "{} readings of {DAY_S} with a repair, {} without; a sensor beyond repair is given up {} s after it hangs",
        one.readings,
        without.readings,
        given_up - HANGS_AT_S,
    );
}
