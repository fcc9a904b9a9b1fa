// SPDX-License-Identifier: MIT OR Apache-2.0
//! Logs of calls, from a file.

mod calls;
mod columns;
mod csv_file;
mod envoy;
mod error;
mod format;
mod json_lines;
mod line;
mod logged;
mod named;
mod nginx;
mod otlp;
mod reader;
mod request;
mod stream;
mod time;
mod traefik;

pub use columns::{Column, TimeUnit};
pub use error::{ReadError, ReadSummary, UnitDoubt, WordCounts};
pub use format::LogFormat;
pub use reader::{LogReader, ReadLog};
pub use stream::LogStream;
