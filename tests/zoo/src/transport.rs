// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stacks that own their bus, over a guard of it: how each is made.

use std::rc::Rc;

use atomic_breaker_embassy::{
    Breaker, Exchange, GuardedCan, GuardedFlash, GuardedI2c, GuardedIo, GuardedSpi, GuardedTcp,
};
use embassy_time::Duration;

use crate::bus::Older;
use crate::condition::Condition;
use crate::drivers::{
    at24cx, atat, embedded_sdmmc, ili9341, lora_phy, mcp25xx, rust_mqtt, sequential_storage, sht4x,
    ssd1306,
};
use crate::run::Workshop;
use crate::subject::Subject;

type Shared = &'static Breaker;

/// A sensor that should have been guarded by its driver.
pub fn sht4x(
    condition: &Rc<Condition>,
    breaker: Shared,
    workshop: &Workshop,
) -> impl Subject + use<> {
    let workshop = workshop.clone();
    let bus = GuardedI2c::new(sht4x::bus(condition), breaker).before_probe(move |_, trips| {
        workshop.repair(trips);
        Ok(())
    });
    sht4x::Thermometer::over(bus)
}

/// An EEPROM, whose writes are trusted, as it does not acknowledge while it works.
pub fn at24cx(
    condition: &Rc<Condition>,
    breaker: Shared,
    workshop: &Workshop,
) -> impl Subject + use<> {
    let workshop = workshop.clone();
    let repair = async move |_: &mut _, trips| {
        workshop.repair_async(trips).await;
        Ok(())
    };
    let bus = GuardedI2c::new(at24cx::bus(condition), breaker).trusting_writes();
    let bus = bus.before_probe_async(Duration::from_secs(1), repair);
    at24cx::Pages::over(bus.time_limit(Duration::from_millis(100)))
}

/// A display, which is only written to.
pub fn ssd1306(
    condition: &Rc<Condition>,
    breaker: Shared,
    workshop: &Workshop,
) -> impl Subject + use<> {
    let workshop = workshop.clone();
    ssd1306::Picture::over(condition, |bus| {
        let bus = GuardedI2c::new(bus, breaker).trusting_writes();
        bus.before_probe(move |_, trips| {
            workshop.repair(trips);
            Ok(())
        })
    })
}

/// A display of which nothing comes back.
pub fn ili9341(
    condition: &Rc<Condition>,
    breaker: Shared,
    workshop: &Workshop,
) -> impl Subject + use<> {
    let workshop = workshop.clone();
    ili9341::Square::over(condition, |bus| {
        let bus = GuardedSpi::new(bus, breaker).trusting_writes();
        bus.before_probe(move |_, trips| {
            workshop.repair(trips);
            Ok(())
        })
    })
}

/// A card: also one that is well reads as 0xFF while it works, so that no check of single bytes tells.
pub fn embedded_sdmmc(
    condition: &Rc<Condition>,
    breaker: Shared,
    workshop: &Workshop,
) -> impl Subject + use<> {
    let workshop = workshop.clone();
    let bus = GuardedSpi::new(embedded_sdmmc::bus(condition), breaker).trusting_writes();
    embedded_sdmmc::Blocks::over(bus.before_probe(move |_, trips| {
        workshop.repair(trips);
        Ok(())
    }))
}

/// A radio, which is waited for by a pin that the guard does not see.
pub fn lora_phy(
    condition: &Rc<Condition>,
    breaker: Shared,
    workshop: &Workshop,
) -> impl Subject + use<> {
    let workshop = workshop.clone();
    lora_phy::over(condition, move |bus| {
        let bus = GuardedSpi::new(bus, breaker).trusting_writes();
        let repair = async move |_: &mut _, trips| {
            workshop.repair_async(trips).await;
            Ok(())
        };
        bus.before_probe_async(Duration::from_secs(1), repair)
            .time_limit(Duration::from_millis(100))
    })
}

/// A map in flash.
pub fn sequential_storage(
    condition: &Rc<Condition>,
    breaker: Shared,
    workshop: &Workshop,
) -> impl Subject + use<> {
    let workshop = workshop.clone();
    let repair = async move |_: &mut _, trips| {
        workshop.repair_async(trips).await;
        Ok(())
    };
    let chip = GuardedFlash::new(sequential_storage::chip(condition), breaker);
    let chip = chip.before_probe_async(Duration::from_secs(1), repair);
    sequential_storage::Map::over(chip.time_limit(Duration::from_millis(500)))
}

/// A CAN controller. It is set up by the repair, to which it belongs.
pub fn mcp25xx(
    condition: &Rc<Condition>,
    breaker: Shared,
    workshop: &Workshop,
) -> impl Subject + use<> {
    let workshop = workshop.clone();
    let mut driver = mcp25xx::driver(condition);
    mcp25xx::set_up(&mut driver);
    let can = GuardedCan::new(driver, breaker).before_probe_nb(move |driver, trips| {
        workshop.repair(trips);
        mcp25xx::set_up(driver);
        Ok(())
    });
    mcp25xx::Question::over(can, |_| ())
}

/// A modem, by the two halves of its port.
pub fn atat(
    condition: &Rc<Condition>,
    breaker: Shared,
    workshop: &Workshop,
) -> impl Subject + use<> {
    let workshop = workshop.clone();
    let exchange: &'static Exchange = Box::leak(Box::default());
    let port = atat::port(condition);
    let repair = async move |_: &mut _, trips| {
        workshop.repair_async(trips).await;
        Ok(())
    };
    let to = GuardedIo::new(port.clone(), breaker).half_of(exchange);
    let to = to.before_probe_async(Duration::from_secs(1), repair);
    let from = GuardedIo::new(port, breaker).half_of(exchange);
    let from = from.time_limit(Duration::from_millis(500));
    atat::Commands::over(Older(to), Older(from))
}

/// A broker. A new connection is all the repair that there is.
pub fn rust_mqtt(condition: &Rc<Condition>, breaker: Shared, _: &Workshop) -> impl Subject + use<> {
    let stack = GuardedTcp::new(rust_mqtt::Stack::new(condition), breaker);
    rust_mqtt::Messages::over(stack.time_limit(Duration::from_secs(1)))
}
