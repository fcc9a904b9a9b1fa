// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each client against its real server, which hangs, dies and comes back.

mod deadpool_postgres;
mod lettre;
mod outage;
mod proxy;
mod redis;
mod s3;
mod server;
mod sqlx;
