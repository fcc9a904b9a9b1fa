// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hosts and origins, in the form in which they are compared.

use std::net::{IpAddr, Ipv6Addr};

/// A host as in a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UrlHost {
    /// A name in lower case, without a trailing dot, or an address; one of IPv6 in brackets and in its shortest form.
    pub(super) name: String,
    port: Option<u16>,
}

const MAX_NAME: usize = 253;

impl UrlHost {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (name, port) = match text.rsplit_once(':') {
            // Digits only: the standard library also accepts a sign.
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
                (name, Some(port.parse().ok()?))
            }
            _ => (text, None),
        };
        let name = if let Some(rest) = name.strip_prefix('[') {
            let address: Ipv6Addr = rest.strip_suffix(']')?.parse().ok()?;
            format!("[{address}]")
        } else {
            let name = name.strip_suffix('.').unwrap_or(name);
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
            let mut labels = name.split('.');
            let labels_fit = labels.all(|it| !it.is_empty() && it.bytes().all(fits));
            (labels_fit && name.len() <= MAX_NAME).then(|| name.to_ascii_lowercase())?
        };
        Some(Self { name, port })
    }

    /// Loopback addresses, and the one name that is never looked up at a name server.
    pub(super) fn is_loopback(&self) -> bool {
        let address = self.name.trim_matches(['[', ']']).parse::<IpAddr>();
        self.name == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }

    /// A host listed without a port is served at all ports.
    pub(super) fn serves(&self, asked: &Self) -> bool {
        self.name == asked.name && (self.port.is_none() || self.port == asked.port)
    }

    /// Adds the default port where none is named.
    fn at_port(mut self, is_https: bool) -> Self {
        self.port = Some(self.port.unwrap_or(if is_https { 443 } else { 80 }));
        self
    }
}

/// The content of the header `Origin`: the page that makes a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OriginOf {
    is_https: bool,
    host: UrlHost,
}

impl OriginOf {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (scheme, host) = text.split_once("://")?;
        let is_https = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let host = UrlHost::parse(host)?.at_port(is_https);
        Some(Self { is_https, host })
    }

    /// Returns whether the page belongs to this host. Its scheme is not known here, as a proxy may have ended TLS.
    pub(super) fn is_of(&self, host: &UrlHost) -> bool {
        self.host == host.clone().at_port(self.is_https)
    }
}
