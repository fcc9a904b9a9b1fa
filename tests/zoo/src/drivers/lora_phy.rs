// SPDX-License-Identifier: MIT OR Apache-2.0
//! A radio with an interrupt, and a gateway that answers: SX1276 and `lora-phy`.

use std::rc::Rc;

use embassy_time::{Duration, Instant};
use embedded_hal_async::digital::Wait;
use embedded_hal_async::spi::SpiDevice;
use lora_phy::iv::GenericSx127xInterfaceVariant;
use lora_phy::mod_params::{Bandwidth, CodingRate, RadioError, SpreadingFactor};
use lora_phy::sx127x::{Config, Sx127x, Sx1276};
use lora_phy::{LoRa, RxMode};

use crate::bus::{Level, Pin, SpiBus, SpiChip};
use crate::condition::{Condition, Ill};
use crate::subject::{Reading, Subject};
use crate::time::{Delay, Ended, run};

/// The model of an SX1276, and of a gateway that answers each frame with the same one.
#[derive(Debug)]
pub struct Radio {
    condition: Rc<Condition>,
    cycles: u32,
    reset: Pin,
    resets: u32,
    registers: [u8; 128],
    fifo: [u8; 256],
    /// The register of the transfer, with the bit for a write.
    at: Option<u8>,
    /// The time when the frame is sent or the answer is received, and the flag for it.
    done: Option<(Instant, u8)>,
}

const MODE: usize = 0x01;
const FIFO_AT: usize = 0x0D;
const FLAGS: usize = 0x12;
const RECEIVED: usize = 0x13;
const LENGTH: usize = 0x22;
const SYNC_WORD: usize = 0x39;
const SENT: u8 = 0x08;
const CAME: u8 = 0x40;

impl Radio {
    fn power_on(&mut self) {
        self.registers = [0; 128];
        self.registers[SYNC_WORD] = 0x12;
        self.done = None;
    }

    fn check_reset(&mut self) {
        if self.reset.has_risen(&mut self.resets) {
            self.condition.reset();
            self.power_on();
        }
        if self.condition.was_cycled(&mut self.cycles) {
            self.power_on();
        }
    }

    fn work(&mut self) {
        if let Some((then, flag)) = self.done
            && then <= Instant::now()
        {
            self.done = None;
            self.registers[FLAGS] |= flag;
        }
    }

    /// Returns the level of its interrupt.
    fn interrupts(&mut self) -> bool {
        self.check_reset();
        self.work();
        match self.condition.ill() {
            Some(Ill::Silent | Ill::Mute) => false,
            Some(Ill::Rubbish) => true,
            None => self.registers[FLAGS] & (SENT | CAME) != 0,
        }
    }

    fn write(&mut self, register: usize, value: u8) {
        match register {
            0 => {
                let at = self.registers[FIFO_AT];
                self.fifo[usize::from(at)] = value;
                self.registers[FIFO_AT] = at.wrapping_add(1);
            }
            FLAGS => self.registers[FLAGS] &= !value,
            // Sending, or waiting for one frame.
            MODE if value == 0x83 => {
                self.registers[RECEIVED] = self.registers[LENGTH];
                self.done = Some((Instant::now() + Duration::from_millis(60), SENT));
            }
            // The gateway hears its own network alone.
            MODE if value == 0x86 && self.registers[SYNC_WORD] == 0x34 => {
                self.done = Some((Instant::now() + Duration::from_millis(100), CAME));
            }
            _ => self.registers[register] = value,
        }
    }

    fn read(&mut self, register: usize) -> u8 {
        if register > 0 {
            return self.registers[register];
        }
        let at = self.registers[FIFO_AT];
        self.registers[FIFO_AT] = at.wrapping_add(1);
        self.fifo[usize::from(at)]
    }
}

impl SpiChip for Radio {
    fn select(&mut self) {
        self.check_reset();
        self.work();
        self.at = None;
    }

    fn exchange(&mut self, byte: u8) -> u8 {
        match self.condition.ill() {
            Some(Ill::Silent) => return 0x00,
            Some(Ill::Rubbish) => return 0xFF,
            _ => {}
        }
        let Some(at) = self.at else {
            self.at = Some(byte);
            return 0;
        };
        let register = usize::from(at & 0x7F);
        let came = if at & 0x80 == 0 {
            self.read(register)
        } else {
            self.write(register, byte);
            0
        };
        // The buffer has one address.
        self.at = Some(if register == 0 { at } else { at + 1 });
        came
    }
}

type Kind<B, W> = Sx127x<B, GenericSx127xInterfaceVariant<Pin, W>, Sx1276>;

/// `lora-phy`: a frame, and the answer of the gateway.
pub struct Frames<B: SpiDevice, W: Wait> {
    driver: LoRa<Kind<B, W>, Delay>,
}

/// Creates the driver over the model, and sets the radio up.
///
/// # Panics
/// The radio cannot be set up.
pub fn over<B: SpiDevice, F: FnOnce(SpiBus<Radio>) -> B>(
    condition: &Rc<Condition>,
    wrap: F,
) -> Frames<B, impl Wait + use<B, F>> {
    let reset = Pin::default();
    let mut chip = Radio {
        condition: condition.clone(),
        cycles: 0,
        reset: reset.clone(),
        resets: 0,
        registers: [0; 128],
        fifo: [0; 256],
        at: None,
        done: None,
    };
    chip.power_on();
    let bus = SpiBus::new(chip);
    let radio = bus.chip();
    let interrupt = Level(move || radio.borrow_mut().interrupts());
    let pins = GenericSx127xInterfaceVariant::new(reset, interrupt, None, None).unwrap();
    let config = Config {
        chip: Sx1276,
        tcxo_used: false,
        tx_boost: false,
        rx_boost: false,
    };
    let radio = LoRa::new(Sx127x::new(wrap(bus), pins, config), true, Delay);
    let Ended::With(Ok(driver)) = run(Duration::from_secs(1), radio) else {
        panic!("cannot be set up");
    };
    Frames { driver }
}

impl<B: SpiDevice, W: Wait> Subject for Frames<B, W> {
    type Error = RadioError;

    async fn measure(&mut self, truth: u32) -> Result<Reading, Self::Error> {
        let frame = truth.to_be_bytes();
        let driver = &mut self.driver;
        let (spread, band, rate) = (SpreadingFactor::_7, Bandwidth::_125KHz, CodingRate::_4_5);
        let modulation = driver.create_modulation_params(spread, band, rate, 868_100_000)?;
        let mut packet = driver.create_tx_packet_params(8, false, true, false, &modulation)?;
        driver
            .prepare_for_tx(&modulation, &mut packet, 14, &frame)
            .await?;
        driver.tx().await?;
        let packet = driver.create_rx_packet_params(8, false, 64, true, true, &modulation)?;
        let listen = RxMode::Single(100);
        driver.prepare_for_rx(listen, &modulation, &packet).await?;
        let mut answer = [0; 64];
        let (length, _) = driver.rx(&packet, &mut answer).await?;
        Ok(Reading::compared(answer[..length.into()] == frame))
    }

    async fn set_up(&mut self) -> Result<(), Self::Error> {
        self.driver.init().await
    }
}
