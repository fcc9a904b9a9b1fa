// SPDX-License-Identifier: MIT OR Apache-2.0
//! Decides which requests are let in.

mod host;

pub(super) use host::{OriginOf, UrlHost};

use axum::http::header::{CONTENT_TYPE, HOST, HeaderName, ORIGIN};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{Method, StatusCode};

use super::Operator;
use super::response::Problem;

/// The hosts and origins that are served.
#[derive(Debug, Default)]
pub(super) struct RequestGate {
    /// `None`: loopback only.
    pub(super) hosts: Option<Vec<UrlHost>>,
    pub(super) origins: Vec<OriginOf>,
    /// `true` if requests without an operator are served.
    pub(super) is_open: bool,
}

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

impl RequestGate {
    /// The operator, if the request may come in at all.
    pub(super) fn admit(&self, request: &Parts) -> Result<Operator, Problem> {
        self.check_host(request)?;
        match request.extensions.get::<Operator>() {
            Some(operator) => Ok(operator.clone()),
            None if self.is_open => Ok(Operator::new("anyone")),
            None => Err(Problem::forbidden(
                "this request carries no Operator: have the layer that authenticates insert one \
                 (request.extensions_mut().insert(Operator::new(name))), and put that layer around the admin's router; \
                 Admin::unauthenticated() serves everyone who can reach it",
            )),
        }
    }

    /// Checks that the requested host is served: a page under another name that leads to this address (DNS rebinding)
    /// is a foreign one.
    fn check_host(&self, request: &Parts) -> Result<(), Problem> {
        let host = requested_host(request)?;
        let is_served = match &self.hosts {
            None => host.is_loopback(),
            Some(hosts) => hosts.iter().any(|served| served.serves(&host)),
        };
        if is_served {
            return Ok(());
        }
        Err(Problem::forbidden(format!(
            "the admin is not served under the host {:?}: if it is one of the service's own, add it with Admin::hosts",
            host.name
        )))
    }

    /// Checks that a request that changes something comes from the page, or from no browser.
    pub(super) fn change(&self, request: &Parts) -> Result<(), Problem> {
        if request.method != Method::POST {
            return Err(Problem::not_allowed("POST"));
        }
        same_site(request)?;
        if let Some(origin) = one(request, &ORIGIN)? {
            let host = requested_host(request)?;
            let is_own = OriginOf::parse(origin)
                .is_some_and(|origin| origin.is_of(&host) || self.origins.contains(&origin));
            if !is_own {
                return Err(Problem::forbidden(format!(
                    "a page of the origin {origin:?} may not change anything here: have the proxy pass the header Host on, or \
                     add the origin with Admin::origins if it is that of the admin's own page"
                )));
            }
        }
        // A content type that a form cannot send.
        let kind = one(request, &CONTENT_TYPE)?.unwrap_or_default();
        let essence = kind.split(';').next().unwrap_or_default().trim();
        if essence.eq_ignore_ascii_case("application/json") {
            return Ok(());
        }
        Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "a change must be JSON: send it with the header Content-Type: application/json",
        ))
    }
}

/// Checks that a request only reads.
pub(super) fn visit(request: &Parts) -> Result<(), Problem> {
    match request.method {
        Method::GET | Method::HEAD => Ok(()),
        _ => Err(Problem::not_allowed("GET, HEAD")),
    }
}

/// Checks that a request that only reads, and is not a visit of the page, comes from the page, or from no browser.
pub(super) fn read(request: &Parts) -> Result<(), Problem> {
    visit(request)?;
    same_site(request)
}

fn same_site(request: &Parts) -> Result<(), Problem> {
    match one(request, &SEC_FETCH_SITE)? {
        None | Some("same-origin" | "none") => Ok(()),
        Some(_) => Err(Problem::forbidden(
            "this request comes from another site: use the page that the admin serves",
        )),
    }
}

/// The host in the request line or `:authority` and the one in the header, which must agree.
fn requested_host(request: &Parts) -> Result<UrlHost, Problem> {
    let of_header = one(request, &HOST)?;
    let of_uri = request.uri.authority().map(Authority::as_str);
    let mut hosts = [of_uri, of_header].into_iter().flatten().map(|text| {
        let error = || Problem::bad_request(format!("{text:?} is not the name of a host"));
        UrlHost::parse(text).ok_or_else(error)
    });
    let none = || Problem::bad_request("this request names no host: send the header Host");
    let host = hosts.next().ok_or_else(none)??;
    match hosts.next().transpose()? {
        Some(other) if other != host => {
            let error = "this request names two different hosts";
            Err(Problem::bad_request(error))
        }
        _ => Ok(host),
    }
}

/// A header that may occur at most once.
fn one<'a>(request: &'a Parts, name: &HeaderName) -> Result<Option<&'a str>, Problem> {
    let mut values = request.headers.get_all(name).iter();
    let (first, second) = (values.next(), values.next());
    match (first.map(|value| value.to_str()), second) {
        (None, _) => Ok(None),
        (Some(Ok(value)), None) => Ok(Some(value)),
        _ => {
            let error = format!("the header {name} occurs twice, or is not text");
            Err(Problem::bad_request(error))
        }
    }
}
