// SPDX-License-Identifier: MIT OR Apache-2.0
//! A gateway in the field: frames of a CAN bus are kept in flash and sent to a server, through a modem. In a day each device
//! breaks once, and the server four times, with and without repairs before probes. Prints the table of
//! `docs/microcontrollers.md`, and the log of the day with repairs.
#![no_std]
#![no_main]

mod can;
mod day;
mod devices;
mod gateway;
mod log;
mod server;

use core::cell::Cell;
use core::time::Duration;

use ::log::LevelFilter;
use atomic_breaker_embassy::{Config, GuardedCan, GuardedFlash, GuardedIo, GuardedTcp};
use embassy_futures::select::{Either4, select4};
use embassy_sync::mutex::Mutex;
use embassy_time::{Duration as Time, Timer};
use embedded_io::Write;
use firmware::{in_virtual_time, pass, println};
use flash_journal::{Journal, JournalConfig, WhenFull};

use self::can::{Controller, PERIOD_S};
use self::day::Day;
use self::devices::{CAPACITY, Chip, Modem};
use self::log::{Breaker, Console, OpenTime, watched};
use self::server::Stack;

const DAY_S: u64 = 24 * 3_600;

const RULES: Config = Config::new()
    .consecutive_failures(3)
    .open_for(Duration::from_secs(2))
    .exponential(2, Duration::from_secs(60));

static OPEN: OpenTime = OpenTime::new();
static BUS: Breaker = watched("bus", RULES, &OPEN);
static FLASH: Breaker = watched("flash", RULES, &OPEN);
static MODEM: Breaker = watched("modem", RULES, &OPEN);
pub static SERVER: Breaker = watched("server", RULES, &OPEN);

/// The choice whether the devices are repaired before probes.
#[derive(Clone, Copy, PartialEq)]
enum Repairs {
    Never,
    BeforeProbes,
}

/// Returns how many frames wait in flash at the end.
async fn run(day: &Day, pages: &mut [u8; CAPACITY], repairs: Repairs) -> u32 {
    let never = repairs == Repairs::Never;
    let bus = GuardedCan::new(Controller::new(day), &BUS).before_probe_nb(|bus, trips| {
        match trips {
            _ if never => {}
            1 => bus.restart(),
            _ => bus.cycle_transceiver(),
        }
        Ok(())
    });
    let flash = GuardedFlash::new(Chip::new(day, pages), &FLASH)
        .time_limit(Time::from_millis(500))
        .before_probe_async(Time::from_secs(1), async |chip: &mut Chip<'_>, trips| {
            match trips {
                _ if never => {}
                1 => chip.wake_up().await,
                _ => chip.cycle_power().await,
            }
            Ok(())
        });
    let modem = GuardedIo::new(Modem::new(day), &MODEM).before_probe(|modem, trips| {
        match trips {
            _ if never => {}
            1 => modem.write_all(b"ATZ\r")?,
            2 => modem.write_all(b"AT+CFUN=1,1\r")?,
            _ => modem.cycle_power(),
        }
        Ok(())
    });
    let server = GuardedTcp::new(Stack(day), &SERVER).time_limit(Time::from_secs(5));

    let config = JournalConfig::new().when_full(WhenFull::DropOldest);
    let journal = Journal::open(flash, 0..CAPACITY as u32, config).await;
    let journal = Mutex::new(journal.expect("erased"));
    let ended = select4(
        gateway::listen(bus, &journal, day),
        gateway::send(server, &journal),
        gateway::stay_joined(modem),
        // The last frame is kept by then.
        Timer::after_secs(DAY_S + 5),
    );
    assert!(matches!(ended.await, Either4::Fourth(())));
    journal.into_inner().waiting()
}

const FRAMES: u32 = (DAY_S / PERIOD_S) as u32;

/// A day, and how many frames were lost.
fn day(what: &str, repairs: Repairs) -> (Day, u32) {
    let mut pages = [0xFF; CAPACITY];
    let day = Day::default();
    let waiting = in_virtual_time(run(&day, &mut pages, repairs));
    // Their open time ends with the day.
    for breaker in [&BUS, &FLASH, &MODEM, &SERVER] {
        breaker.reset();
    }
    let open_min = OPEN.take_ms() / 60_000;
    let [first, second, third] = day.repairs.each_ref().map(Cell::get);
    let sent = day.arrived.get();
    let lost = FRAMES - sent - waiting;
    println!(
        "| {what} | {} | {} | {sent} | {lost} | {} | {} s | {first}, {second}, {third} | {open_min} min |",
        day.received.get(),
        day.kept.get(),
        day.in_vain.get(),
        day.in_vain_ms.get() / 1_000,
    );
    (day, lost)
}

#[cortex_m_rt::entry]
fn main() -> ! {
    ::log::set_logger(&Console).expect("the first");
    let (without, _) = day("none", Repairs::Never);
    assert!(without.repairs.iter().all(|count| count.get() == 0));
    ::log::set_max_level(LevelFilter::Info);
    let (with, lost) = day("before probes", Repairs::BeforeProbes);

    // What comes while the bus and the flash are down. All else waits in flash, and comes at most once too often.
    assert!(lost <= 4, "{lost} lost");
    // The rungs up to the one that helps: a modem, a bus and a flash chip.
    let repairs = with.repairs.each_ref().map(Cell::get);
    assert_eq!(repairs, [3, 2, 1]);
    assert!(with.in_vain.get() < 200 && with.in_vain_ms.get() < 300_000);
    pass!(
        "a day of a gateway whose devices break: {lost} of {FRAMES} frames are lost and {} came twice; without repairs {} come",
        with.repeated.get(),
        without.arrived.get(),
    );
}
