//! The parts of a request that are kept.

use std::fmt;

use bytes::Bytes;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request, StatusCode, Uri};
use serde::{Deserialize, Serialize};

use super::text::Text;

/// A request as it is kept: method, URI without user name and password, the headers that are
/// [allowed](super::KeepConfig::header), the body. It is the state of a job; once that is done, headers and body are
/// gone, and the status of the response is there.
///
/// As JSON it has `method`, `uri`, `headers` and `body`. Values of headers and the body are text if they are UTF-8 that
/// takes no more space that way, otherwise `{"base64": ".."}`. `Display` leaves out values, query and body.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Row", into = "Row")]
pub struct KeptRequest {
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
    mark: u64,
    status: Option<StatusCode>,
}

impl KeptRequest {
    pub(super) fn new(method: Method, uri: &Uri, headers: HeaderMap, body: Bytes) -> Self {
        let mut kept = Self {
            method,
            uri: without_user(uri),
            headers,
            body,
            mark: 0,
            status: None,
        };
        kept.mark = kept.mark();
        kept
    }

    /// The method.
    pub const fn method(&self) -> &Method {
        &self.method
    }

    /// The URI, without user name and password.
    pub const fn uri(&self) -> &Uri {
        &self.uri
    }

    /// The headers that are kept.
    pub const fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The body; empty once the job is done.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// The status of the response, once the job is done.
    pub const fn status(&self) -> Option<StatusCode> {
        self.status
    }

    /// The request to send.
    pub(super) fn to_request<B: From<Vec<u8>>>(&self) -> Request<B> {
        let mut request = Request::new(B::from(self.body.to_vec()));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        request
    }

    pub(super) fn done(self, status: StatusCode) -> Self {
        Self {
            headers: HeaderMap::new(),
            body: Bytes::new(),
            status: Some(status),
            ..self
        }
    }

    /// Whether another one is the same, even if that is done.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.method == other.method && self.uri == other.uri && self.mark == other.mark
    }

    fn mark(&self) -> u64 {
        let mut mark = Mark::new();
        mark.add(self.method.as_str().as_bytes());
        mark.add(self.uri.to_string().as_bytes());
        // Values of one name in their order, and the names in sorted order.
        let mut names: Vec<_> = self.headers.keys().collect();
        names.sort_unstable_by_key(|name| name.as_str());
        for name in names {
            for value in self.headers.get_all(name) {
                mark.add(name.as_str().as_bytes());
                mark.add(value.as_bytes());
            }
        }
        mark.add(&self.body);
        mark.0
    }
}

/// FNV-1a, the same in each release: it tells requests apart, not people.
pub(super) struct Mark(pub(super) u64);

impl Mark {
    pub(super) const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        let length = (bytes.len() as u64).to_le_bytes();
        for byte in length.iter().chain(bytes) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

pub(super) fn without_user(uri: &Uri) -> Uri {
    let mut parts = uri.clone().into_parts();
    parts.authority = parts.authority.map(|authority| {
        let host = authority.as_str().rsplit('@').next();
        // The whole was valid, so its part is.
        host.and_then(|host| host.parse().ok()).unwrap_or(authority)
    });
    Uri::from_parts(parts).unwrap_or_default()
}

/// The JSON form.
#[derive(Serialize, Deserialize)]
struct Row {
    method: String,
    uri: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    headers: Vec<(String, Text)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<Text>,
    mark: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
}

impl From<KeptRequest> for Row {
    fn from(kept: KeptRequest) -> Self {
        let headers = kept.headers.iter();
        Self {
            method: kept.method.to_string(),
            uri: kept.uri.to_string(),
            headers: headers
                .map(|(name, value)| (name.to_string(), Text::of(value.as_bytes())))
                .collect(),
            body: (!kept.body.is_empty()).then(|| Text::of(&kept.body)),
            mark: format!("{:016x}", kept.mark),
            status: kept.status.map(|status| status.as_u16()),
        }
    }
}

impl TryFrom<Row> for KeptRequest {
    type Error = String;

    fn try_from(row: Row) -> Result<Self, String> {
        let not = |what: &str| format!("no {what} of a request");
        let mut headers = HeaderMap::new();
        for (name, value) in row.headers {
            let value = value.into_bytes().ok_or_else(|| not("header"))?;
            let value = HeaderValue::from_bytes(&value).map_err(|_| not("header"))?;
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| not("header"))?;
            headers
                .try_append(name, value)
                .map_err(|_| not("number of headers"))?;
        }
        let body = match row.body {
            Some(body) => body.into_bytes().ok_or_else(|| not("body"))?,
            None => Vec::new(),
        };
        let status = row.status.map(StatusCode::from_u16).transpose();
        Ok(Self {
            method: row.method.parse().map_err(|_| not("method"))?,
            uri: row.uri.parse().map_err(|_| not("URI"))?,
            headers,
            body: body.into(),
            mark: u64::from_str_radix(&row.mark, 16).map_err(|_| not("mark"))?,
            status: status.map_err(|_| not("status"))?,
        })
    }
}

impl fmt::Debug for KeptRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The map's own `Debug` would show the values.
        let names: Vec<_> = self.headers.keys().collect();
        f.debug_struct("KeptRequest")
            .field("method", &self.method)
            .field("path", &self.uri.path())
            .field("headers", &names)
            .field("body_bytes", &self.body.len())
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}
