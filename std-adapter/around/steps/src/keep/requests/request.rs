// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parts of a request that are kept.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Request, StatusCode, Uri};
use serde::{Deserialize, Serialize};

/// A request as it is kept: method, URI without user name and password, the headers that are
/// [allowed](super::KeepConfig::header), the body. It is the state of a job; once that is done, headers and body are
/// gone, and the status of the response is there.
///
/// As JSON it has `method`, `uri`, `headers` and `body`. Values of headers and the body are text if they are UTF-8 that
/// takes no more space that way, otherwise `{"base64": ".."}`. `Debug` leaves out values, query and body.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "KeptJson", into = "KeptJson")]
pub struct KeptRequest {
    request: Request<Bytes>,
    mark: u64,
    status: Option<StatusCode>,
}

impl KeptRequest {
    pub(super) fn new(mut request: Request<Bytes>) -> Self {
        *request.uri_mut() = without_user(request.uri());
        Self {
            mark: mark(&request),
            request,
            status: None,
        }
    }

    /// The request, with what is kept of it.
    pub const fn request(&self) -> &Request<Bytes> {
        &self.request
    }

    /// The status of the response, once the job is done.
    pub const fn status(&self) -> Option<StatusCode> {
        self.status
    }

    pub(super) fn done(mut self, status: Option<StatusCode>) -> Self {
        self.request.headers_mut().clear();
        *self.request.body_mut() = Bytes::new();
        Self { status, ..self }
    }

    /// Returns whether another request is the same, even if that is done.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let of = |kept: &Self| (kept.request.method().clone(), kept.request.uri().clone());
        of(self) == of(other) && self.mark == other.mark
    }
}

fn mark(request: &Request<Bytes>) -> u64 {
    let mut mark = Mark::new();
    mark.add(request.method().as_str().as_bytes());
    mark.add(request.uri().to_string().as_bytes());
    // The names in sorted order, and the values of each in theirs.
    let mut headers: Vec<_> = request.headers().iter().collect();
    headers.sort_by_key(|(name, _)| name.as_str());
    for (name, value) in headers {
        mark.add(name.as_str().as_bytes());
        mark.add(value.as_bytes());
    }
    mark.add(request.body());
    mark.0
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

/// Bytes within JSON: as text, if they are UTF-8 and take no more space that way, otherwise as base64 (RFC 4648, 4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum Text {
    Plain(String),
    Encoded { base64: String },
}

impl Text {
    fn of(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) if in_json(text) <= bytes.len().div_ceil(3) * 4 + 13 => {
                Self::Plain(text.to_owned())
            }
            _ => Self::Encoded {
                base64: STANDARD.encode(bytes),
            },
        }
    }

    /// `None` if it is not base64.
    fn into_bytes(self) -> Option<Vec<u8>> {
        match self {
            Self::Plain(text) => Some(text.into_bytes()),
            Self::Encoded { base64 } => STANDARD.decode(base64).ok(),
        }
    }
}

/// The length of a text within JSON, between the quotes.
fn in_json(text: &str) -> usize {
    let escaped = |byte| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12 => 2,
        0..32 => 6,
        _ => 1,
    };
    text.bytes().map(escaped).sum()
}

/// The JSON form.
#[derive(Serialize, Deserialize)]
struct KeptJson {
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

impl From<KeptRequest> for KeptJson {
    fn from(kept: KeptRequest) -> Self {
        let KeptRequest {
            request,
            mark,
            status,
        } = kept;
        let text = |(name, value): (&HeaderName, &HeaderValue)| {
            (name.to_string(), Text::of(value.as_bytes()))
        };
        let body = request.body();
        Self {
            method: request.method().to_string(),
            uri: request.uri().to_string(),
            headers: request.headers().iter().map(text).collect(),
            body: (!body.is_empty()).then(|| Text::of(body)),
            mark: format!("{mark:016x}"),
            status: status.map(|status| status.as_u16()),
        }
    }
}

impl TryFrom<KeptJson> for KeptRequest {
    type Error = String;

    fn try_from(row: KeptJson) -> Result<Self, String> {
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
        let body = row.body.map_or(Some(Vec::new()), Text::into_bytes);
        let mut request = Request::new(body.ok_or_else(|| not("body"))?.into());
        *request.method_mut() = row.method.parse().map_err(|_| not("method"))?;
        *request.uri_mut() = row.uri.parse().map_err(|_| not("URI"))?;
        *request.headers_mut() = headers;
        let status = row.status.map(StatusCode::from_u16).transpose();
        Ok(Self {
            request,
            mark: u64::from_str_radix(&row.mark, 16).map_err(|_| not("mark"))?,
            status: status.map_err(|_| not("status"))?,
        })
    }
}

impl fmt::Debug for KeptRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The map's own `Debug` would show the values.
        let names: Vec<_> = self.request.headers().keys().collect();
        f.debug_struct("KeptRequest")
            .field("method", self.request.method())
            .field("path", &self.request.uri().path())
            .field("headers", &names)
            .field("body_bytes", &self.request.body().len())
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}
