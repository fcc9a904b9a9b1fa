// SPDX-License-Identifier: MIT OR Apache-2.0
//! All drivers of the zoo.

use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use atomic_breaker_embassy::{Breaker, Config};

use crate::condition::{Condition, Ill};
use crate::drivers::{
    ads1x1x, at24cx, atat, bme280, ds323x, embedded_sdmmc, ili9341, lora_phy, mcp25xx, rust_mqtt,
    scd4x, sequential_storage, sht4x, ssd1306, w5500,
};
use crate::run::{self, Figures, RULES, Sight, Workshop};
use crate::subject::Subject;
use crate::transport;

/// A driver of the zoo.
pub struct Animal {
    /// The package and its version.
    pub name: &'static str,
    /// The device that it drives.
    pub drives: &'static str,
    well: Box<dyn Fn() -> Sight>,
    ill: Box<dyn Fn(Ill) -> [Sight; 2]>,
    not_set_up: Box<dyn Fn() -> Sight>,
    by_driver: Play,
    by_transport: Option<(&'static str, Play)>,
}

/// Lets the device fall ill, and measures.
type Play = Box<dyn Fn(Ill) -> Figures>;

impl fmt::Debug for Animal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Animal {
    fn new<S: Subject>(
        name: &'static str,
        drives: &'static str,
        make: impl Fn(&Rc<Condition>) -> S + Copy + 'static,
    ) -> Self {
        Self {
            name,
            drives,
            well: Box::new(move || run::well(make)),
            ill: Box::new(move |ill| run::ill(make, ill)),
            not_set_up: Box::new(move || run::not_set_up(make)),
            by_driver: Box::new(move |ill| run::by_driver(make, ill)),
            by_transport: None,
        }
    }

    /// Adds the guard of its bus.
    fn over<S: Subject>(
        mut self,
        guard: &'static str,
        rules: Config,
        make: impl Fn(&Rc<Condition>, &'static Breaker, &Workshop) -> S + Copy + 'static,
    ) -> Self {
        let play = Box::new(move |ill| run::by_transport(make, rules, ill));
        self.by_transport = Some((guard, play));
        self
    }

    /// Returns what the bare driver returns of a device that is well, for each of a thousand measurements.
    pub fn well(&self) -> Sight {
        (self.well)()
    }

    /// Returns what the bare driver returns of one that is ill, and after its repair.
    pub fn ill(&self, ill: Ill) -> [Sight; 2] {
        (self.ill)(ill)
    }

    /// Returns what the bare driver returns after a cycle of the power that it does not know of.
    pub fn not_set_up(&self) -> Sight {
        (self.not_set_up)()
    }

    /// Returns what comes of a thousand measurements with the driver in a guard.
    pub fn by_driver(&self, ill: Ill) -> Figures {
        (self.by_driver)(ill)
    }

    /// Returns the guard of its bus, and what comes of a thousand measurements through it.
    pub fn by_transport(&self, ill: Ill) -> Option<(&'static str, Figures)> {
        let (guard, play) = self.by_transport.as_ref()?;
        Some((guard, play(ill)))
    }
}

/// A row that lasts longer than an EEPROM is busy.
const LASTING: Config = RULES.lasting(Duration::from_millis(100));

/// Returns all of them.
pub fn animals() -> Vec<Animal> {
    vec![
        Animal::new("sht4x 0.2.0", "a thermometer", sht4x::Thermometer::new).over(
            "GuardedI2c",
            RULES,
            transport::sht4x,
        ),
        Animal::new("scd4x 0.5.0", "a sensor of CO₂", scd4x::Air::new),
        Animal::new("bme280 0.5.1", "a sensor of air", bme280::Weather::new),
        Animal::new("ads1x1x 0.3.0", "an ADC", ads1x1x::Voltage::new),
        Animal::new("ds323x 0.7.0", "a clock", ds323x::Clock::new),
        Animal::new("at24cx 0.1.3", "an EEPROM", at24cx::Pages::new).over(
            "GuardedI2c",
            LASTING,
            transport::at24cx,
        ),
        Animal::new("ssd1306 0.10.0", "a display, I²C", ssd1306::Picture::new).over(
            "GuardedI2c",
            RULES,
            transport::ssd1306,
        ),
        Animal::new("ili9341 0.6.0", "a display, SPI", ili9341::Square::new).over(
            "GuardedSpi",
            RULES,
            transport::ili9341,
        ),
        Animal::new(
            "embedded-sdmmc 0.10.0",
            "an SD card",
            embedded_sdmmc::Blocks::new,
        )
        .over("GuardedSpi", RULES, transport::embedded_sdmmc),
        Animal::new(
            "sequential-storage 8.0.2, w25q32jv 0.5.1",
            "a flash chip",
            sequential_storage::Map::new,
        )
        .over("GuardedFlash", RULES, transport::sequential_storage),
        Animal::new("mcp25xx 0.4.0", "a CAN controller", mcp25xx::Question::new).over(
            "GuardedCan",
            RULES,
            transport::mcp25xx,
        ),
        Animal::new("w5500-hl 0.12.0", "an Ethernet chip", w5500::Datagrams::new),
        Animal::new("lora-phy 3.0.1", "a radio", |condition| {
            lora_phy::over(condition, |bus| bus)
        })
        .over("GuardedSpi", RULES, transport::lora_phy),
        Animal::new("atat 0.24.1", "a modem", atat::Commands::new).over(
            "GuardedIo",
            RULES,
            transport::atat,
        ),
        Animal::new("rust-mqtt 0.6.0", "a broker", rust_mqtt::Messages::new).over(
            "GuardedTcp",
            RULES,
            transport::rust_mqtt,
        ),
    ]
}
