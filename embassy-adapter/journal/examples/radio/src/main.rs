// SPDX-License-Identifier: MIT OR Apache-2.0
//! A Raspberry Pi Pico that sends a temperature every minute by radio, and loses no reading while the radio is
//! down, the board is reset, or the power fails.
//!
//! A radio module on UART0 (TX = GP0, RX = GP1) that takes a number, a length and the bytes, and answers with the lowest
//! byte of the number when they have arrived. Without a module nothing responds: after three failures it is left alone for
//! a while, and readings wait in the last 64 KiB of the flash, for about two days; then the oldest are dropped. Connect it,
//! and they arrive in order. Press reset meanwhile: the numbers go on.
//!
//! With a debug probe and [probe-rs](https://probe.rs): `cargo run --release` in this folder.
#![no_std]
#![no_main]

use core::time::Duration;

use atomic_breaker_embassy::word::AtomicU32;
use atomic_breaker_embassy::{Breaker, Config, DefmtLog, EmbassyClock, static_breaker};
use defmt::{info, unwrap, warn};
use embassy_executor::Spawner;
use embassy_rp::adc::{self, Adc, Channel};
use embassy_rp::flash::{self, Flash};
use embassy_rp::peripherals::{DMA_CH0, DMA_CH1, DMA_CH2, FLASH, UART0};
use embassy_rp::uart::{self, Uart};
use embassy_rp::{bind_interrupts, dma};
use embassy_time::Timer;
use flash_journal::{Entry, Journal, JournalConfig, WhenFull};
use {defmt_rtt as _, panic_probe as _};

bind_interrupts!(struct Interrupts {
    DMA_IRQ_0 => dma::InterruptHandler<DMA_CH0>, dma::InterruptHandler<DMA_CH1>,
        dma::InterruptHandler<DMA_CH2>;
    UART0_IRQ => uart::InterruptHandler<UART0>;
    ADC_IRQ_FIFO => adc::InterruptHandler;
});

const FLASH_SIZE: usize = 2048 * 1024;
/// Behind the program: `memory.x` excludes it.
const JOURNAL: core::ops::Range<u32> = 0x1F_0000..0x20_0000;
/// The longest time that the module takes to confirm arrival.
const PATIENCE: Duration = Duration::from_secs(5);

type Storage = Flash<'static, FLASH, flash::Async, FLASH_SIZE>;

const RULES: Config = Config::new()
    .consecutive_failures(3)
    .open_for(Duration::from_secs(60))
    .exponential(2, Duration::from_secs(900))
    .jitter_percent(10);

static_breaker! {
    /// The only breaker of this program, so its handle has no size, and its rules are folded into the code.
    struct Radio: Breaker<EmbassyClock, AtomicU32, (), DefmtLog> = Breaker::builder(RULES, EmbassyClock)
        .word(AtomicU32::new(0))
        .observer(DefmtLog::new("radio"));
}

/// The radio module.
struct Module(Uart<'static, uart::Async>);

/// It did not arrive, as far as the module can tell.
struct NotArrived;

impl From<uart::Error> for NotArrived {
    fn from(_: uart::Error) -> Self {
        Self
    }
}

impl Module {
    async fn send(&mut self, entry: Entry<'_>) -> Result<(), NotArrived> {
        let [lowest, ..] = entry.number.to_le_bytes();
        let mut answer = [0];
        self.0.write(&entry.number.to_le_bytes()).await?;
        self.0.write(&[entry.bytes.len() as u8]).await?;
        self.0.write(entry.bytes).await?;
        // An answer that came too late, to an earlier entry, still waits in the UART: it says nothing of this one.
        loop {
            self.0.read(&mut answer).await?;
            if answer == [lowest] {
                return Ok(());
            }
        }
    }
}

#[embassy_executor::main]
async fn main(_spawner: Spawner) {
    let board = embassy_rp::init(embassy_rp::config::Config::default());
    let uart = Uart::new(
        board.UART0,
        board.PIN_0,
        board.PIN_1,
        Interrupts,
        board.DMA_CH0,
        board.DMA_CH1,
        uart::Config::default(),
    );
    let mut module = Module(uart);
    let mut adc = Adc::new(board.ADC, Interrupts, adc::Config::default());
    let mut sensor = Channel::new_temp_sensor(board.ADC_TEMP_SENSOR);

    let flash: Storage = Flash::new(board.FLASH, board.DMA_CH2, Interrupts);
    let config = JournalConfig::new().when_full(WhenFull::DropOldest);
    // Other contents need a person to look at them: the log says what was found.
    let mut journal = unwrap!(Journal::<Storage, 16>::open(flash, JOURNAL, config).await);
    info!(
        "{} readings wait, the next is {}",
        journal.waiting(),
        journal.next_number()
    );
    loop {
        let reading = unwrap!(adc.read(&mut sensor).await);
        if let Err(error) = journal.keep(&reading.to_le_bytes()).await {
            // The next reading is written elsewhere, and a page that is worn out is left out.
            warn!("a reading was not kept: {}", error);
        }
        let send = async |entry: Entry<'_>| module.send(entry).await;
        match journal.send_all(&Radio, PATIENCE, send).await {
            Ok(sent) => info!("{} sent", sent.count),
            Err(error) => warn!("the flash while sending: {}", error),
        }
        info!(
            "{} wait, {} dropped, {} pages left out",
            journal.waiting(),
            journal.dropped(),
            journal.left_out()
        );
        Timer::after_secs(60).await;
    }
}
