// SPDX-License-Identifier: MIT OR Apache-2.0
//! The hosts that are accepted, as keys are kept and come from outside; and the reasons why a request names none.

use std::error::Error;
use std::fmt;
use std::net::Ipv6Addr;

use http::uri::{Authority, Scheme};

/// The longest name, without the dot at its end (RFC 1035, 3.1, as text).
const MAX_NAME: usize = 253;
const MAX_LABEL: usize = 63;
/// The longest name of a network interface.
const MAX_ZONE: usize = 32;
/// The longest path of a socket, with its final zero (`sockaddr_un` of Linux; others have less).
const MAX_PATH: usize = 108;

/// Checks that an authority has a valid host and a valid port.
pub(super) fn check(scheme: Option<&Scheme>, authority: &Authority) -> Result<(), OriginError> {
    let host = authority.host();
    let is_socket = || scheme.is_some_and(|it| it.as_str() == "unix") && is_path(host);
    if !is_host(host) && !is_socket() {
        return Err(OriginError::BadHost);
    }
    // `Authority` accepts any text after an address in brackets, and after the colon; an empty one there means the port of
    // the scheme.
    let text = authority.as_str();
    let server = text.rsplit_once('@').map_or(text, |(_, server)| server);
    let rest = server.strip_prefix(host).unwrap_or(server);
    match rest.strip_prefix(':') {
        Some(port) if !port.is_empty() && !is_port(port) => Err(OriginError::BadPort),
        None if !rest.is_empty() => Err(OriginError::BadHost),
        _ => Ok(()),
    }
}

fn is_port(text: &str) -> bool {
    text.len() <= 5 && text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok()
}

fn is_host(host: &str) -> bool {
    match host.strip_prefix('[') {
        Some(literal) => literal.strip_suffix(']').is_some_and(is_ipv6),
        None => is_name(host),
    }
}

/// A path in hexadecimal digits, as hyperlocal writes it.
fn is_path(host: &str) -> bool {
    (2..=2 * MAX_PATH).contains(&host.len())
        && host.len().is_multiple_of(2)
        && host.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns whether it is an IPv6 address, with a zone (RFC 6874) or without.
fn is_ipv6(literal: &str) -> bool {
    let (address, zone) = literal.split_once('%').unwrap_or((literal, ""));
    let is_zone = zone.len() <= MAX_ZONE && zone.bytes().all(is_letter);
    is_zone && address.parse::<Ipv6Addr>().is_ok()
}

/// Accepts IPv4 addresses, too. `_` occurs in names of services and of containers.
fn is_name(host: &str) -> bool {
    let name = host.strip_suffix('.').unwrap_or(host);
    let is_label =
        |label: &str| (1..=MAX_LABEL).contains(&label.len()) && label.bytes().all(is_letter);
    name.len() <= MAX_NAME && name.split('.').all(is_label)
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

/// The reason why a request names no server that could have a breaker of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OriginError {
    /// The URI is only a path, and there is no `Host` header.
    Missing,
    /// The text in place of the host can be neither a DNS name nor an IP address: more than 253 bytes, a label that is
    /// empty or has more than 63, or a character other than letters, digits, `-` and `_`. With the scheme `unix`, as
    /// hyperlocal's, it may also be the path of a socket in hexadecimal digits.
    BadHost,
    /// The port is not a number up to 65,535.
    BadPort,
}

impl OriginError {
    pub(crate) const fn message(self) -> &'static str {
        match self {
            Self::Missing => {
                "the request names no host, so there is no breaker for it: give its client an absolute URI (tonic: \
                 `with_origin`), or name the host of such requests by `PerHost::with_origin` or \
                 `ClientLayer::with_origin`"
            }
            Self::BadHost => {
                "the host of the request is neither a DNS name of at most 253 bytes nor an IP address, so there is no breaker \
                 for it: correct the URI"
            }
            Self::BadPort => {
                "the port of the request is not a number up to 65535, so there is no breaker for it: correct the URI"
            }
        }
    }
}

impl fmt::Display for OriginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl Error for OriginError {}
