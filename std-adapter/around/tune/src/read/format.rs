// SPDX-License-Identifier: MIT OR Apache-2.0
//! Formats of logs.

use super::traefik;

/// The format of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogFormat {
    /// Comma-separated values, whose first line names the columns.
    Csv,
    /// An object of JSON per line.
    JsonLines,
    /// An access log of nginx, written with this format. Each upstream of a request is a call, and its key the upstream's
    /// address. A group without live upstreams has rejected a call; a call without a status was left by its caller.
    ///
    /// ```text
    /// log_format breaker 'msec=$msec request_time=$request_time upstream=$upstream_addr '
    ///                    'status=$upstream_status time=$upstream_response_time';
    /// ```
    Nginx,
    /// An access log of Envoy in its default format. The key is the upstream's address, or without one the authority; flags
    /// of the response decide before its status: `UO`, `UH`, `OM` and `DO` reject a call.
    Envoy,
    /// An access log of Traefik, in JSON, whose durations are in nanoseconds, or in its common format. The call is the one to
    /// the service, by its own status and duration where they are logged, and the key is its address. A line that Traefik
    /// answered by itself has none. Of JSON, columns that are [named](crate::LogReader::column) take the place of these.
    Traefik,
    /// Spans of OpenTelemetry in the JSON of its protocol, a batch per line, as the collector's file exporter writes them.
    /// Spans of kind client are calls; the key is `server.address` with its port,
    /// `peer.service`, `net.peer.name` with its port, or `rpc.service`. Errors of SQL count by their SQLSTATE.
    Otlp,
}

impl LogFormat {
    /// The format that the first line of a log looks like.
    pub(super) fn of_line(first: &str) -> Self {
        let first = first.trim_start();
        let bare = first.replace(char::is_whitespace, "");
        if bare.starts_with("{\"resourceSpans\"") {
            Self::Otlp
        } else if traefik::is_first(first) {
            Self::Traefik
        } else if first.starts_with('{') {
            Self::JsonLines
        } else if first.starts_with('[') {
            Self::Envoy
        } else if first.starts_with("msec=") {
            Self::Nginx
        } else {
            Self::Csv
        }
    }
}
