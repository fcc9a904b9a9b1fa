// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each client against its real server, which hangs, dies and comes back.

mod deadpool_postgres;
mod fake;
mod lettre;
mod outage;
mod proxy;
mod redis;
mod refusals;
mod s3;
mod server;
mod sqlx;
