// SPDX-License-Identifier: MIT OR Apache-2.0
//! The same client behind the preset: a breaker per host, a budget for retries, `Retry-After` heeded.

use std::net::SocketAddr;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use atomic_breaker_http::{
    ClientBody, ClientConfig, ClientGuard, ClientService, KeyedObserver, Origin, RequestError,
    State, StdClock,
};
use atomic_breaker_server::Transition;
use axum::body::Bytes;
use axum::http::{Request, Response, Uri};
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper_util::client::legacy::Error;
use tower::{Layer, ServiceExt};

use super::careful::{PAUSES, TRIES, TRY, http, judge};
use super::load::{Caller, Outcome};
use super::scenario::COLD;

const PLAN: ClientConfig = ClientConfig::new()
    .deadline(Duration::from_millis(3_500))
    .try_limit(TRY)
    .tries(TRIES)
    .backoff(PAUSES);

/// Outlives the requests: the breakers of all hosts, and their budgets of retries.
static GUARD: LazyLock<ClientGuard> =
    LazyLock::new(|| ClientGuard::with(PLAN, StdClock, &HISTORY).expect("settings that fit"));

/// The return of traffic to the host that is cold after a restart: this percentage at first, all of it after this time.
pub(crate) const RETURN_FIRST: u32 = 10;
pub(crate) const RETURN: Duration = Duration::from_secs(3);

type Body = Empty<Bytes>;

#[derive(Clone)]
pub(crate) struct Guarded(ClientService<Body, Response<ClientBody<Incoming>>, Error>);

impl Guarded {
    pub(crate) fn new(hosts: &[SocketAddr]) -> Self {
        // The rules of all hosts, and one more.
        let rules = PLAN.breaker_config().gradual_return(RETURN_FIRST, RETURN);
        let set = GUARD.set_breaker_config_of(&origin(hosts[COLD]), rules);
        set.expect("rules that fit, and room for a host");
        Self(GUARD.layer().layer(http()))
    }
}

impl Caller for Guarded {
    async fn call(&self, url: Uri) -> Outcome {
        let mut request = Request::new(Empty::new());
        *request.uri_mut() = url;
        match self.0.clone().oneshot(request).await {
            Ok(response) => judge(response).await,
            Err(RequestError::Rejected(_)) => Outcome::Rejected,
            Err(_) => Outcome::Failed,
        }
    }

    fn state(&self, host: SocketAddr) -> Option<State> {
        Some(GUARD.hosts().state(&origin(host)))
    }

    fn history(&self, host: SocketAddr) -> Option<Vec<(Instant, Transition)>> {
        let key = origin(host);
        let all = HISTORY.locked();
        let of_host = all.iter().filter(|(_, of, _)| *of == key);
        let mut of_host: Vec<_> = of_host.map(|(at, _, told)| (*at, *told)).collect();
        of_host.sort_by_key(|(at, _)| *at);
        Some(of_host)
    }
}

/// The key of a host.
fn origin(host: SocketAddr) -> Origin {
    Origin::from_uri(&super::load::url(host)).expect("a URL with a host")
}

static HISTORY: History = History(Mutex::new(Vec::new()));

/// Records every transition and its time.
pub(crate) struct History(Mutex<Vec<(Instant, Origin, Transition)>>);

impl History {
    fn locked(&self) -> MutexGuard<'_, Vec<(Instant, Origin, Transition)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeyedObserver<Origin> for History {
    fn transition(&self, host: &Origin, transition: &Transition) {
        self.locked()
            .push((Instant::now(), host.clone(), *transition));
    }
}
