// SPDX-License-Identifier: MIT OR Apache-2.0
//! The drivers, each with the model of its device.

pub mod ads1x1x;
pub mod at24cx;
pub mod atat;
pub mod bme280;
pub mod ds323x;
pub mod embedded_sdmmc;
pub mod ili9341;
pub mod lora_phy;
pub mod mcp25xx;
pub mod rust_mqtt;
pub mod scd4x;
pub mod sequential_storage;
pub mod sht4x;
pub mod ssd1306;
pub mod w5500;
