// SPDX-License-Identifier: MIT OR Apache-2.0
//! A zoo of drivers that others published, unmodified, each over a model of its device that falls ill in three ways and is
//! repaired, in virtual time.

#![expect(missing_debug_implementations, reason = "most drivers have none")]
#![expect(clippy::missing_panics_doc, reason = "a model that is set up works")]

pub mod bus;
pub mod condition;
pub mod drivers;
pub mod run;
pub mod subject;
pub mod table;
pub mod time;
pub mod transport;
pub mod zoo;

/// The code of the page.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/drivers.md")]
mod page {}
