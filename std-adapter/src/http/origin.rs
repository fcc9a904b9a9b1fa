//! The server that a request goes to.

use std::fmt;
use std::hash::{Hash, Hasher};

use http::header::HOST;
use http::uri::{Authority, Scheme};
use http::{HeaderMap, Request, Uri};

/// The server that a request goes to: scheme, host and port (RFC 6454), as a key for a breaker per host.
///
/// Hosts are compared without regard to case, and a port that is the scheme's own is the same as none. A user
/// name and password in the URI are neither compared nor shown. It shares the text of the URI; a clone has a copy of its own, so that one which is
/// kept does not keep a long URI.
///
/// ```
/// use atomic_breaker_std::http::Origin;
/// use http::Uri;
///
/// let one = Origin::of(&Uri::from_static("https://user:secret@API.example:443/a?b"));
/// let same = Origin::of(&Uri::from_static("https://api.example/c"));
/// assert_eq!(one, same);
/// assert_eq!(one.to_string(), "https://api.example");
/// assert_ne!(one, Origin::of(&Uri::from_static("http://api.example/c")));
/// ```
///
/// A key per request of a layer:
///
/// ```
/// # #[cfg(all(feature = "registry", target_has_atomic = "64"))] {
/// use atomic_breaker_std::http::Origin;
/// use atomic_breaker_std::registry::{ByKey, Registry};
/// use atomic_breaker_std::{Admit, Config};
/// use http::Request;
/// use std::sync::LazyLock;
///
/// static HOSTS: LazyLock<Registry<Origin>> =
///     LazyLock::new(|| Registry::new(Config::new()).expect("constant rules"));
///
/// let by_host = ByKey::new(&*HOSTS, Origin::of_request::<()>);
/// assert!(by_host.admit(&Request::get("https://api.example/").body(()).unwrap()).is_ok());
/// # }
/// ```
#[derive(Default)]
pub struct Origin {
    scheme: Option<Scheme>,
    authority: Option<Authority>,
}

impl Origin {
    /// That of a URI. One without a host, such as the path alone that servers see in HTTP/1, has an empty
    /// origin, which equals every other such one: see [`of_request`](Self::of_request).
    pub fn of(uri: &Uri) -> Self {
        Self {
            scheme: uri.scheme().cloned(),
            authority: uri.authority().cloned(),
        }
    }

    /// That of a request: of its URI, or else of its `Host` header. A header that is no host is taken for none.
    pub fn of_request<B>(request: &Request<B>) -> Self {
        let mut origin = Self::of(request.uri());
        if origin.authority.is_none() {
            origin.authority = host_of(request.headers());
        }
        origin
    }

    #[cfg(feature = "reqwest")]
    pub(crate) const fn new(scheme: Option<Scheme>, authority: Option<Authority>) -> Self {
        Self { scheme, authority }
    }

    /// The host, as it was written; empty if there is none.
    pub fn host(&self) -> &str {
        self.authority.as_ref().map_or("", Authority::host)
    }

    /// The port: the one that was written, or that of the scheme.
    pub fn port(&self) -> Option<u16> {
        let written = self.authority.as_ref().and_then(Authority::port_u16);
        written.or_else(|| self.default_port())
    }

    /// The scheme: `https`.
    pub fn scheme(&self) -> Option<&str> {
        self.scheme.as_ref().map(Scheme::as_str)
    }

    /// As registered with IANA.
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

    /// Letters in lower case: schemes and hosts are the same in either (RFC 3986, 6.2.2.1).
    fn lower(text: &str) -> impl Iterator<Item = u8> {
        text.bytes().map(|byte| byte.to_ascii_lowercase())
    }
}

fn host_of(headers: &HeaderMap) -> Option<Authority> {
    Authority::try_from(headers.get(HOST)?.as_bytes()).ok()
}

impl Clone for Origin {
    fn clone(&self) -> Self {
        let copied = |authority: &Authority| {
            // Without user name and password; it was valid, so its parts are.
            let (host, port) = (authority.host(), authority.port());
            let text = port.map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
            Authority::try_from(text).ok()
        };
        Self {
            scheme: self.scheme.clone(),
            authority: self.authority.as_ref().and_then(copied),
        }
    }
}

/// As it is displayed.
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
            // As `str` does, so that one does not run into the other.
            state.write_u8(0xFF);
        }
    }
}

/// `https://api.example:8443`, without a port that is the scheme's own.
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
