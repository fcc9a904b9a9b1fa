// SPDX-License-Identifier: MIT OR Apache-2.0
//! The server that a request goes to.

mod host;

use std::fmt;
use std::hash::{Hash, Hasher};

use http::header::HOST;
use http::uri::{Authority, Scheme};
use http::{Request, Uri};

pub use host::OriginError;

use atomic_breaker_server::KeyName;

/// The server that a request goes to: scheme, host and port (RFC 6454), as a key for a breaker per host.
///
/// Never empty: a URI without a host, or with an invalid one, is an [`OriginError`]. So two servers share a key only if
/// they are the same, and a key has at most about 400 bytes, wherever it comes from.
///
/// Hosts are compared case-insensitively, and the default port of the scheme is the same as none. A user name and
/// password in the URI are neither compared nor shown. It shares the text of the URI; a clone has its own copy, so a
/// clone that is kept does not keep a long URI.
///
/// ```
/// use atomic_breaker_http::Origin;
/// use http::Uri;
///
/// let one = Origin::from_uri(&Uri::from_static("https://user:secret@API.example:443/a?b"))?;
/// let same = Origin::from_uri(&Uri::from_static("https://api.example/c"))?;
/// assert_eq!(one, same);
/// assert_eq!(one.to_string(), "https://api.example");
/// assert_ne!(one, Origin::from_uri(&Uri::from_static("http://api.example/c"))?);
/// assert!(Origin::from_uri(&Uri::from_static("/a/path")).is_err());
/// # Ok::<(), atomic_breaker_http::OriginError>(())
/// ```
///
/// A host with a dot at its end is **another key** than one without: `api.example.` is complete, while `api.example` may
/// be completed by the search list of the resolver (RFC 3986, 3.2.2), such as in Kubernetes, so the two can be different
/// servers. Write each host in one way, or it has two breakers.
///
/// [`PerHost`](crate::PerHost) takes it from each request of a layer.
pub struct Origin {
    scheme: Option<Scheme>,
    authority: Authority,
}

impl Origin {
    /// The origin of a URI.
    ///
    /// # Errors
    /// [`OriginError::Missing`] for a URI without a host, such as the bare path that servers see in HTTP/1 and that
    /// tonic's clients send unless they are built with `with_origin`. The other errors say what is invalid.
    pub fn from_uri(uri: &Uri) -> Result<Self, OriginError> {
        let authority = uri.authority().ok_or(OriginError::Missing)?;
        Self::new(uri.scheme().cloned(), authority.clone())
    }

    /// The origin of a request: of its URI, or else of its `Host` header, which has no scheme.
    ///
    /// # Errors
    /// Like [`from_uri`](Self::from_uri), if the URI has no host and the header has none or an invalid one.
    pub fn from_request<B>(request: &Request<B>) -> Result<Self, OriginError> {
        if request.uri().authority().is_some() {
            return Self::from_uri(request.uri());
        }
        let header = request.headers().get(HOST).ok_or(OriginError::Missing)?;
        let authority = Authority::try_from(header.as_bytes());
        Self::new(None, authority.map_err(|_| OriginError::BadHost)?)
    }

    pub(crate) fn new(scheme: Option<Scheme>, authority: Authority) -> Result<Self, OriginError> {
        host::check(scheme.as_ref(), &authority)?;
        Ok(Self { scheme, authority })
    }

    /// A copy that shares its text, with all of the URI: for as long as a request lasts.
    pub(crate) fn shared(&self) -> Self {
        Self {
            scheme: self.scheme.clone(),
            authority: self.authority.clone(),
        }
    }

    /// The host as written; an IPv6 address in its brackets.
    pub fn host(&self) -> &str {
        self.authority.host()
    }

    /// The port: the one in the URI, or that of the scheme.
    pub fn port(&self) -> Option<u16> {
        self.authority.port_u16().or_else(|| self.default_port())
    }

    /// The scheme: `https`.
    pub fn scheme(&self) -> Option<&str> {
        self.scheme.as_ref().map(Scheme::as_str)
    }

    /// The port that IANA registered for the scheme.
    fn default_port(&self) -> Option<u16> {
        let scheme = self.scheme()?;
        let is = |name| scheme.eq_ignore_ascii_case(name);
        if is("http") || is("ws") {
            Some(80)
        } else if is("https") || is("wss") {
            Some(443)
        } else {
            None
        }
    }

    /// Letters in lower case: schemes and hosts are case-insensitive (RFC 3986, 6.2.2.1).
    fn lower(text: &str) -> impl Iterator<Item = u8> {
        text.bytes().map(|byte| byte.to_ascii_lowercase())
    }
}

impl Clone for Origin {
    fn clone(&self) -> Self {
        // Without user name and password.
        let (host, port) = (self.authority.host(), self.authority.port());
        let text = port.map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        Self {
            scheme: self.scheme.clone(),
            // It was valid, so its parts are, too.
            authority: Authority::try_from(text).unwrap_or_else(|_| self.authority.clone()),
        }
    }
}

/// Shows the same text as `Display`.
impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Origin({self})")
    }
}

impl PartialEq for Origin {
    fn eq(&self, other: &Self) -> bool {
        let [one, another] = [self, other].map(|origin| origin.scheme().unwrap_or_default());
        one.eq_ignore_ascii_case(another)
            && self.port() == other.port()
            && self.host().eq_ignore_ascii_case(other.host())
    }
}

impl Eq for Origin {}

impl Hash for Origin {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.port().hash(state);
        for text in [self.scheme().unwrap_or_default(), self.host()] {
            Self::lower(text).for_each(|byte| state.write_u8(byte));
            // As `str` does, so that one field does not run into the next.
            state.write_u8(0xFF);
        }
    }
}

/// `https://api.example:8443`, without the default port of the scheme.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(scheme) = self.scheme() {
            write!(f, "{}://", scheme.to_ascii_lowercase())?;
        }
        f.write_str(&self.host().to_ascii_lowercase())?;
        match self.port() {
            port if port == self.default_port() => Ok(()),
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

impl KeyName for Origin {
    fn from_name(name: &str) -> Option<Self> {
        Self::from_uri(&name.parse().ok()?).ok()
    }
}
