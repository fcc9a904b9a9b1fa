//! Hosts and origins, in the form in which they are compared.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A host as in a URL: a name or an address, and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    name: Name,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Name {
    /// In lower case, without a trailing dot.
    Dns(String),
    Ip(IpAddr),
}

const MAX_NAME: usize = 253;

impl Host {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (name, port) = match text.rsplit_once(':') {
            // Digits only: the standard library also accepts a sign.
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
                (name, Some(port.parse().ok()?))
            }
            _ => (text, None),
        };
        let name = match name.strip_prefix('[') {
            Some(rest) => {
                let address: Ipv6Addr = rest.strip_suffix(']')?.parse().ok()?;
                Name::Ip(address.into())
            }
            None => Name::parse(name)?,
        };
        Some(Self { name, port })
    }

    /// Loopback addresses, and the one name that is never looked up at a name server.
    pub(super) fn is_loopback(&self) -> bool {
        match &self.name {
            Name::Dns(name) => name == "localhost",
            Name::Ip(address) => address.is_loopback(),
        }
    }

    /// A host listed without a port is served at all ports.
    pub(super) fn serves(&self, asked: &Self) -> bool {
        self.name == asked.name && (self.port.is_none() || self.port == asked.port)
    }
}

impl Name {
    fn parse(text: &str) -> Option<Self> {
        if let Ok(address) = text.parse::<Ipv4Addr>() {
            return Some(Self::Ip(address.into()));
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let labels_fit = name
            .split('.')
            .all(|label| !label.is_empty() && label.bytes().all(is_name));
        (labels_fit && name.len() <= MAX_NAME).then(|| Self::Dns(name.to_ascii_lowercase()))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Name::Dns(name) => f.write_str(name)?,
            Name::Ip(IpAddr::V4(address)) => write!(f, "{address}")?,
            Name::Ip(IpAddr::V6(address)) => write!(f, "[{address}]")?,
        }
        match self.port {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

/// The content of the header `Origin`: the page that makes a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OriginOf {
    is_https: bool,
    host: Host,
}

impl OriginOf {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (scheme, host) = text.split_once("://")?;
        let is_https = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let host = Host::parse(host)?.at_port(is_https);
        Some(Self { is_https, host })
    }

    /// Whether the page belongs to this host. Its scheme is not known here, as a proxy may have ended TLS.
    pub(super) fn is_of(&self, host: &Host) -> bool {
        self.host == host.clone().at_port(self.is_https)
    }
}

impl Host {
    /// Adds the default port where none is named.
    fn at_port(mut self, is_https: bool) -> Self {
        self.port = Some(self.port.unwrap_or(if is_https { 443 } else { 80 }));
        self
    }
}
