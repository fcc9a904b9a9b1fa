// SPDX-License-Identifier: MIT OR Apache-2.0
//! A gateway and five hosts over HTTP, without a breaker and with the preset.
//!
//! | file | what |
//! |---|---|
//! | `guard` | **the client behind `ClientGuard`: read this first** |
//! | `careful` | the client without |
//! | `scenario` | the events of the hosts; the rates and the limits |
//! | `server`, `condition` | the hosts, a child process, and their counts |
//! | `load` | the gateway: calls that begin at a fixed rate |
//! | `figures`, `report`, `picture` | the figures; the table and the text; the timelines |

mod careful;
mod condition;
mod figures;
mod guard;
mod load;
mod picture;
mod report;
mod scenario;
mod server;

use std::io;

pub(crate) use load::Run;
pub(crate) use picture::draw;
pub(crate) use report::{intro, report};
pub(crate) use server::{ARGUMENT, serve};

/// Plays the scene without a breaker, then with the preset.
pub(crate) fn play() -> io::Result<[Run; 2]> {
    Ok([
        load::run("without a breaker", careful::Careful::new)?,
        load::run("with the preset", guard::Guarded::new)?,
    ])
}
