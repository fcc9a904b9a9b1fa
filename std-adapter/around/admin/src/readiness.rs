// SPDX-License-Identifier: MIT OR Apache-2.0
//! The readiness of this process for requests, for load balancers and orchestrators.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use atomic_breaker_server::{AnyBreaker, AnyRegistry, Resource, Snapshot, State};
use axum::Router;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use serde::Serialize;

use super::AdminError;
use super::error::check_names;
use super::response::response;
use super::source::{OfRegistry, OfSingle, ShownSource, Source};

/// The readiness of this process as `application/health+json`
/// ([draft-inadarei-api-health-check-06](https://datatracker.ietf.org/doc/html/draft-inadarei-api-health-check-06)), to be asked
/// without authentication: how many breakers of each name are open, and no keys.
///
/// | status | HTTP | when |
/// |---|---|---|
/// | `pass` | 200 | all breakers let calls through |
/// | `warn` | 200 | one is open or half-open, or its gradual return rejects a part of the calls: some requests fail or get a fallback, and the process goes on serving the others |
/// | `fail` | 503 | one that you named [vital](Self::vital) rejects calls |
///
/// An open breaker is no reason to be unready: other instances have the same dependency, so all of them would become
/// unready at once, and nothing would be served. Name only that vital without which no request at all can be answered.
///
/// A vital breaker whose open time is over is `warn`: it waits for a call that probes, and without requests there would be none.
///
/// ```
/// use atomic_breaker_admin::Readiness;
/// use atomic_breaker_server::{Config, Registry, Resource, breaker};
/// use axum::Router;
/// use std::sync::Arc;
///
/// static DATABASE: Resource = Resource::new(breaker(Config::new()));
///
/// fn app(hosts: &Arc<Registry<String>>) -> Result<Router, Box<dyn std::error::Error>> {
///     let ready = Readiness::new()
///         .registry("hosts", Arc::clone(hosts))
///         .resource("database", &DATABASE)
///         .vital("database")
///         .router()?;
///     Ok(Router::new().nest_service("/ready", ready))
/// }
/// # let hosts = Arc::new(Registry::<String>::builder(Config::new()).build().unwrap());
/// # assert!(app(&hosts).is_ok());
/// ```
#[must_use = "`router` makes a router of it"]
#[derive(Default)]
pub struct Readiness {
    sources: Vec<ShownSource>,
    vital: Vec<Arc<str>>,
}

/// The time for which an answer is given again, so that more frequent questions cost nothing.
const FRESH: Duration = Duration::from_millis(500);

impl Readiness {
    /// A readiness that looks at no breakers, and passes.
    pub const fn new() -> Self {
        Self {
            sources: Vec::new(),
            vital: Vec::new(),
        }
    }

    /// Counts the open keys of a registry: an `Arc`, or a `&'static` reference.
    pub fn registry<H>(self, name: impl Into<Arc<str>>, registry: H) -> Self
    where
        H: AnyRegistry<Key: fmt::Display> + Send + Sync + 'static,
    {
        self.source(name.into(), Box::new(OfRegistry(registry)))
    }

    /// Looks at a single breaker: an `Arc`, or a `&'static` reference.
    pub fn breaker<B>(self, name: impl Into<Arc<str>>, breaker: B) -> Self
    where
        B: AnyBreaker + Send + Sync + 'static,
    {
        self.source(name.into(), Box::new(OfSingle::breaker(breaker)))
    }

    /// Looks at a [`Resource`]: an `Arc`, or a `&'static` reference. In shadow mode it rejects nothing, so it is never more
    /// than `warn`.
    pub fn resource<R, B>(self, name: impl Into<Arc<str>>, resource: R) -> Self
    where
        R: Deref<Target = Resource<B>> + Send + Sync + 'static,
        B: AnyBreaker + 'static,
    {
        self.source(name.into(), Box::new(OfSingle::resource(resource)))
    }

    fn source(mut self, name: Arc<str>, source: Box<dyn Source>) -> Self {
        self.sources.push(ShownSource { name, source });
        self
    }

    /// Names a breaker or resource without which no request at all can be answered: while it rejects calls, this process is
    /// not ready.
    pub fn vital(mut self, name: impl Into<Arc<str>>) -> Self {
        self.vital.push(name.into());
        self
    }

    /// The router, to be nested with `nest_service`; it answers GET and HEAD.
    ///
    /// # Errors
    /// [`AdminError`] says which name does not fit, is given twice, or is vital and not a breaker that was added.
    pub fn router<S>(self) -> Result<Router<S>, AdminError>
    where
        S: Clone + Send + Sync + 'static,
    {
        check_names(self.sources.iter().map(|it| &*it.name))?;
        for name in &self.vital {
            let found = self.sources.iter().find(|it| it.name == *name);
            if found.is_none_or(|it| it.source.has_keys()) {
                return Err(AdminError(format!(
                    "{name:?} is to be vital, and is no breaker or resource that was added: a registry never is, as other keys \
                     of it may work"
                )));
            }
        }
        let asked = Arc::new(AskedReadiness {
            readiness: self,
            last: Mutex::new(None),
        });
        let answer = move || std::future::ready(asked.answer());
        Ok(Router::new().route("/", get(answer)))
    }

    fn report(&self) -> ReadinessReport {
        let mut report = ReadinessReport {
            status: ReadinessStatus::Pass,
            checks: BTreeMap::new(),
        };
        for ShownSource { name, source } in &self.sources {
            let is_vital = self.vital.contains(name);
            let enforced = source.enforcement().is_none_or(|it| it.percent() > 0);
            let (mut open, mut status) = (0, ReadinessStatus::Pass);
            source.visit(&mut |_, seen| {
                open += u64::from(is_down(&seen.snapshot));
                let rejects = is_vital && enforced && seen.snapshot.rejection().is_some();
                status = status.max(match is_down(&seen.snapshot) {
                    true if rejects && seen.snapshot.state() != State::Returning => {
                        ReadinessStatus::Fail
                    }
                    true => ReadinessStatus::Warn,
                    false => ReadinessStatus::Pass,
                });
            });
            if is_vital && status == ReadinessStatus::Fail {
                source.note_waiting();
            }
            let check = ReadinessCheck {
                component_type: "component",
                observed_value: open,
                observed_unit: "open breakers",
                status,
                output: (status != ReadinessStatus::Pass).then(|| {
                    if source.has_keys() {
                        format!("{open} keys do not let all calls pass")
                    } else {
                        "it does not let all calls pass".to_owned()
                    }
                }),
            };
            report.status = report.status.max(status);
            report.checks.insert(format!("{name}:open"), [check]);
        }
        report
    }
}

/// Returns whether the breaker rejects calls, or waits for a probe.
const fn is_down(seen: &Snapshot) -> bool {
    match seen.state() {
        State::Closed | State::Disabled => false,
        // While only its trips are not forgotten yet, every call passes.
        State::Returning => seen.wait().is_some(),
        _ => true,
    }
}

impl fmt::Debug for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.sources.iter().map(|it| &it.name).collect();
        f.debug_struct("Readiness")
            .field("of", &names)
            .field("vital", &self.vital)
            .finish()
    }
}

/// A readiness with its last answer.
struct AskedReadiness {
    readiness: Readiness,
    last: Mutex<Option<(Instant, StatusCode, Bytes)>>,
}

impl AskedReadiness {
    fn answer(&self) -> Response {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = last.take().filter(|(at, ..)| at.elapsed() < FRESH);
        let (_, status, body) = last.insert(fresh.unwrap_or_else(|| {
            let report = self.readiness.report();
            let status = match report.status {
                ReadinessStatus::Fail => StatusCode::SERVICE_UNAVAILABLE,
                ReadinessStatus::Pass | ReadinessStatus::Warn => StatusCode::OK,
            };
            // Only maps whose keys are not strings fail.
            let body = serde_json::to_vec(&report).unwrap_or_default();
            (Instant::now(), status, body.into())
        }));
        response(*status, "application/health+json", body.clone())
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum ReadinessStatus {
    Pass,
    Warn,
    Fail,
}

/// The whole answer.
#[derive(Serialize)]
struct ReadinessReport {
    status: ReadinessStatus,
    checks: BTreeMap<String, [ReadinessCheck; 1]>,
}

/// The check of one name.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReadinessCheck {
    component_type: &'static str,
    observed_value: u64,
    observed_unit: &'static str,
    status: ReadinessStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
}
