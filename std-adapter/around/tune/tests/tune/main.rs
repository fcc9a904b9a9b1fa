// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings from logs: reading them, trying settings on them, recommending some, and the command.

#[cfg(feature = "replay")]
mod access_logs;
#[cfg(feature = "command")]
mod command;
#[cfg(feature = "replay")]
mod hostile;
#[cfg(feature = "replay")]
mod incidents;
#[cfg(feature = "replay")]
mod read;
#[cfg(feature = "replay")]
mod recommend;
#[cfg(feature = "replay")]
mod record;
#[cfg(feature = "replay")]
mod replay;
#[cfg(feature = "replay")]
mod settings;
mod simulate;
#[cfg(feature = "replay")]
mod time_limits;
#[cfg(feature = "replay")]
mod traefik;
#[cfg(feature = "command")]
mod two_hours;
