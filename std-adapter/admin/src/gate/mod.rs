//! Decides which requests are let in.

mod host;

pub(super) use host::{Host, OriginOf};

use axum::http::header::{CONTENT_TYPE, HOST, HeaderName, ORIGIN};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Method, StatusCode};

use super::answer::Problem;
use super::{AdminError, Operator};

/// Which hosts and origins are served.
#[derive(Clone, Debug)]
pub(super) struct Gate {
    /// `None`: loopback only.
    hosts: Option<Vec<Host>>,
    origins: Vec<OriginOf>,
    is_open: bool,
}

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

impl Gate {
    pub(super) fn new(
        hosts: Option<&[String]>,
        origins: &[String],
        is_open: bool,
    ) -> Result<Self, AdminError> {
        let host =
            |host: &String| Host::parse(host).ok_or_else(|| AdminError::BadHost(host.clone()));
        let origin = |origin: &String| {
            OriginOf::parse(origin).ok_or_else(|| AdminError::BadOrigin(origin.clone()))
        };
        Ok(Self {
            hosts: hosts
                .map(|hosts| hosts.iter().map(host).collect())
                .transpose()?,
            origins: origins.iter().map(origin).collect::<Result<_, _>>()?,
            is_open,
        })
    }

    /// The operator, if the request may come in at all.
    pub(super) fn admit(&self, request: &Parts) -> Result<Operator, Problem> {
        self.host(request)?;
        match request.extensions.get::<Operator>() {
            Some(operator) => Ok(operator.clone()),
            None if self.is_open => Ok(Operator::new("anybody")),
            None => Err(Problem::new(
                StatusCode::FORBIDDEN,
                "this request carries no Operator: have the layer that authenticates insert one \
                 (request.extensions_mut().insert(Operator::new(name))), and put that layer around the admin's router; \
                 Admin::unauthenticated() serves whoever reaches it",
            )),
        }
    }

    /// The requested host, if it is served: a page under another name that leads to this address (DNS rebinding) is a
    /// foreign one.
    fn host(&self, request: &Parts) -> Result<Host, Problem> {
        let host = requested_host(request)?;
        let is_served = match &self.hosts {
            None => host.is_loopback(),
            Some(hosts) => hosts.iter().any(|served| served.serves(&host)),
        };
        if is_served {
            return Ok(host);
        }
        Err(Problem::new(
            StatusCode::FORBIDDEN,
            format!(
                "the admin is not served under the host {:?}: add it with Admin::hosts, unless it is not yours",
                host.to_string()
            ),
        ))
    }

    /// Whether a request that is not a visit of the page comes from the page, or from no browser.
    pub(super) fn same_site(request: &Parts) -> Result<(), Problem> {
        match one(&request.headers, &SEC_FETCH_SITE)? {
            None | Some("same-origin" | "none") => Ok(()),
            Some(_) => Err(Problem::new(
                StatusCode::FORBIDDEN,
                "this request comes from another site: use the page that the admin serves",
            )),
        }
    }

    /// Whether a request that changes something comes from the page, or from no browser.
    pub(super) fn change(&self, request: &Parts) -> Result<(), Problem> {
        Self::same_site(request)?;
        let Some(origin) = one(&request.headers, &ORIGIN)? else {
            return json(&request.headers);
        };
        let host = requested_host(request)?;
        let is_ours = OriginOf::parse(origin)
            .is_some_and(|origin| origin.is_of(&host) || self.origins.contains(&origin));
        if is_ours {
            return json(&request.headers);
        }
        Err(Problem::new(
            StatusCode::FORBIDDEN,
            format!(
                "a page of the origin {origin:?} may change nothing here: have the proxy pass the header Host on, or \
                 add the origin with Admin::origins if it is that of the admin's own page"
            ),
        ))
    }
}

/// The host in the request line or `:authority` and the one in the header, which must agree.
fn requested_host(request: &Parts) -> Result<Host, Problem> {
    let of_header = one(&request.headers, &HOST)?;
    let of_uri = request.uri.authority().map(Authority::as_str);
    let parse = |text: &str| {
        Host::parse(text).ok_or_else(|| {
            Problem::new(
                StatusCode::BAD_REQUEST,
                format!("{text:?} is not the name of a host"),
            )
        })
    };
    match (of_uri, of_header) {
        (Some(host), None) | (None, Some(host)) => parse(host),
        (Some(of_uri), Some(of_header)) => {
            let (of_uri, of_header) = (parse(of_uri)?, parse(of_header)?);
            if of_uri == of_header {
                Ok(of_uri)
            } else {
                Err(Problem::new(
                    StatusCode::BAD_REQUEST,
                    "this request names two different hosts",
                ))
            }
        }
        (None, None) => Err(Problem::new(
            StatusCode::BAD_REQUEST,
            "this request names no host: send the header Host",
        )),
    }
}

/// A header that may occur at most once.
fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Problem> {
    let mut values = headers.get_all(name).iter();
    let (first, second) = (values.next(), values.next());
    match (first.map(|value| value.to_str()), second) {
        (None, _) => Ok(None),
        (Some(Ok(value)), None) => Ok(Some(value)),
        _ => Err(Problem::new(
            StatusCode::BAD_REQUEST,
            format!("the header {name} comes twice, or is not text"),
        )),
    }
}

/// A content type that a form cannot send.
fn json(headers: &HeaderMap) -> Result<(), Problem> {
    let kind = one(headers, &CONTENT_TYPE)?.unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(Problem::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "a change is JSON: send it with the header Content-Type: application/json",
    ))
}

/// Whether the method is one of these.
pub(super) fn method(request: &Parts, allowed: &'static [Method]) -> Result<(), Problem> {
    if allowed.contains(&request.method) {
        return Ok(());
    }
    let names: Vec<_> = allowed.iter().map(Method::as_str).collect();
    Err(Problem::not_allowed(&names.join(", ")))
}
