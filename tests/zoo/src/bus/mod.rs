// SPDX-License-Identifier: MIT OR Apache-2.0
//! Buses and streams with one device, of which transfers take their time.

mod i2c;
mod pin;
mod spi;
mod stream;

pub use i2c::{I2cBus, I2cChip, Nack};
pub use pin::{Level, Pin};
pub use spi::{SpiBus, SpiChip};
pub use stream::{Older, Peer, Port};
