// SPDX-License-Identifier: MIT OR Apache-2.0
//! A Raspberry Pi Pico that measures the temperature every second and does not hang on its sensor.
//!
//! An LM75 on I2C0 (SDA = GP4, SCL = GP5), powered by GP6, read by an unmodified driver crate behind a breaker.
//! Pull the sensor's wire: after three failures the bus is left alone, the LED lights, and every two seconds,
//! then four, up to a minute, the sensor's power is cycled and one measurement is tried. Plug it in again, and
//! all is well at the next try.
//!
//! Short SCL to ground instead, so that the bus hangs: a blocking call cannot be given a timeout, so the
//! watchdog resets the board, which then trips the breaker and leaves the bus alone, too. A sensor that held
//! the line itself lets go of it when its power is cycled.
//!
//! With a debug probe and [probe-rs](https://probe.rs): `rustup target add thumbv6m-none-eabi`, and in this
//! folder `cargo run --release` flashes the board and shows the log.
#![no_std]
#![no_main]

use core::time::Duration;

use atomic_breaker_embassy::word::Retained;
use atomic_breaker_embassy::{
    Breaker, Config, DefmtLog, EmbassyClock, GuardedI2c, State, StateWatch, static_breaker,
};
use defmt::info;
use embassy_executor::Spawner;
use embassy_rp::gpio::{Level, Output};
use embassy_rp::i2c::{Blocking, I2c};
use embassy_rp::peripherals::I2C0;
use embassy_rp::watchdog::{ResetReason, Watchdog};
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_time::{Timer, block_for};
use lm75::{Address, Lm75};
use {defmt_rtt as _, panic_probe as _};

/// One receiver, for the lamp.
type Watch = StateWatch<CriticalSectionRawMutex, 1>;

/// Writes a line per transition, and wakes the tasks that wait for one.
type Observers = (DefmtLog, &'static Watch);

static STATE: Watch = StateWatch::new();

/// The time for which a call may hang. The longest that the watchdog can wait is eight seconds.
const PATIENCE: embassy_time::Duration = embassy_time::Duration::from_secs(4);

/// In memory that the start-up code leaves as it is, so that a reset by the watchdog does not make the
/// board forget that its sensor is down.
#[unsafe(link_section = ".uninit.SENSOR")]
static WORD: Retained = Retained::new();

const RULES: Config = Config::new()
    .consecutive_failures(3)
    .open_for(Duration::from_secs(2))
    .exponential(2, Duration::from_secs(60))
    .jitter_percent(10);

static_breaker! {
    /// The only breaker of this program, so its handle has no size, and its rules are folded into the code.
    struct Sensor: Breaker<EmbassyClock, &'static Retained, (), Observers> =
        Breaker::builder(RULES, EmbassyClock).word(&WORD).observer((DefmtLog::new("sensor"), &STATE));
}

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    let board = embassy_rp::init(embassy_rp::config::Config::default());
    // Before the first call. After a loss of power the memory holds anything, and the breaker is closed.
    if Sensor.restore().is_err() {
        info!("started by power, or for the first time");
    }
    let watchdog = Watchdog::new(board.WATCHDOG);
    // The call that hung never reported its failure. Nothing else here can hang; and while the breaker was open, no call
    // was in flight.
    let by_watchdog = matches!(watchdog.reset_reason(), Some(ResetReason::TimedOut));
    if by_watchdog && Sensor.state() != State::Open {
        Sensor.trip();
    }
    let bus = I2c::new_blocking(
        board.I2C0,
        board.PIN_5,
        board.PIN_4,
        embassy_rp::i2c::Config::default(),
    );
    // It takes less than a milliampere.
    let power = Output::new(board.PIN_6, Level::High);
    spawner.spawn(measure(bus, power).expect("started once"));
    spawner.spawn(lamp(Output::new(board.PIN_25, Level::Low)).expect("started once"));
    spawner.spawn(feed(watchdog).expect("started once"));
}

#[embassy_executor::task]
async fn measure(bus: I2c<'static, I2C0, Blocking>, mut power: Output<'static>) {
    let bus = GuardedI2c::new(bus, Sensor).before_probe(|_, _| {
        power.set_low();
        block_for(embassy_time::Duration::from_millis(100));
        power.set_high();
        block_for(embassy_time::Duration::from_millis(20));
        Ok(())
    });
    // The driver sees a bus like any other.
    let mut thermometer = Lm75::new(bus, Address::default());
    loop {
        // Sleeps while the sensor is down, instead of trying in vain.
        Sensor.ready().await;
        match thermometer.read_temperature() {
            Ok(degrees) => info!("{} °C", degrees),
            Err(_) => info!("no measurement"),
        }
        Timer::after_secs(1).await;
    }
}

/// Lit while the breaker is not closed.
#[embassy_executor::task]
async fn lamp(mut led: Output<'static>) {
    let mut changes = STATE.subscribe().expect("the only one");
    loop {
        let transition = changes.changed().await;
        led.set_level(Level::from(transition.to != State::Closed));
    }
}

/// Feeds the watchdog, as long as no task hangs.
#[embassy_executor::task]
async fn feed(mut watchdog: Watchdog) {
    watchdog.start(PATIENCE);
    loop {
        Timer::after_secs(1).await;
        watchdog.feed(PATIENCE);
    }
}
