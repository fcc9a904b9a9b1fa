// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jobs of durable steps, in any store: read, tried again, cancelled.

mod any;
mod asked;
mod change;
mod counts;
mod read;

use serde::Deserialize;

pub(super) use any::AnySteps;
pub(super) use asked::OfSteps;
pub(super) use change::JobRequest;
pub(super) use read::JobsQuery;

/// The job that is requested.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JobQuery {
    pub(super) of: String,
    pub(super) id: i64,
}

/// The steps whose counts are requested.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CountsQuery {
    pub(super) of: String,
}
