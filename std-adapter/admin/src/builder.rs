//! Builds an admin.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use atomic_breaker::AnyBreaker;
#[cfg(feature = "fleet")]
use atomic_breaker_fleet::Joined;
use atomic_breaker_registry::{AnyRegistry, AnyResource};
#[cfg(feature = "steps")]
use atomic_breaker_steps::{Steps, Store};
use axum::Router;
use tokio::sync::Semaphore;

use super::gate::{Gate, Host, OriginOf};
use super::named::Named;
use super::shown::Shown;
#[cfg(feature = "steps")]
use super::source::OfSteps;
use super::source::{OfRegistry, OfSingle, Source};
use super::{AdminError, Timeline, router, text};

/// What is shown, and to which clients; [`router`](Self::router) turns it into an axum router, which a service nests
/// behind its own authentication. The [module](super) shows a whole program.
#[must_use = "`router` makes a router of it"]
pub struct Admin {
    shown: Shown,
    /// The first setting that is wrong.
    error: Option<AdminError>,
}

const MAX_NAME: usize = 128;
const STREAMS: usize = 64;
const MOST_STREAMS: usize = 10_000;
const READERS: usize = 2;

impl Admin {
    /// Shows the content of the timeline; add registries and breakers.
    pub fn new(timeline: &Timeline) -> Self {
        Self {
            shown: Shown {
                title: "Circuit breakers".to_owned(),
                timeline: timeline.clone(),
                sources: Vec::new(),
                #[cfg(feature = "fleet")]
                fleets: Vec::new(),
                #[cfg(feature = "steps")]
                steps: Vec::new(),
                gate: Gate::default(),
                readers: Arc::new(Semaphore::new(READERS)),
                commands: Arc::new(Semaphore::new(1)),
                streams: Arc::new(Semaphore::new(STREAMS)),
                most_streams: STREAMS,
            },
            error: None,
        }
    }

    /// Shows a registry: an `Arc`, or a `&'static` reference. The name of a key is its `Display` text, of which up to
    /// 256 bytes are shown. Names must differ: of two keys with the same name none can be changed.
    pub fn registry<H>(self, name: impl Into<Arc<str>>, registry: H) -> Self
    where
        H: AnyRegistry<Key: fmt::Display> + Send + Sync + 'static,
    {
        self.source(name.into(), Box::new(OfRegistry(registry)))
    }

    /// Shows a single breaker: an `Arc`, or a `&'static` reference.
    pub fn breaker<B>(self, name: impl Into<Arc<str>>, breaker: B) -> Self
    where
        B: AnyBreaker + Send + Sync + 'static,
    {
        self.source(name.into(), Box::new(OfSingle::breaker(breaker)))
    }

    /// Shows a [`Resource`](atomic_breaker_registry::Resource), with its last failure and shadow mode: an `Arc`, or a
    /// `&'static` reference.
    pub fn resource<R>(self, name: impl Into<Arc<str>>, resource: R) -> Self
    where
        R: AnyResource + Send + Sync + 'static,
    {
        self.source(name.into(), Box::new(OfSingle::resource(resource)))
    }

    fn source(mut self, name: Arc<str>, it: Box<dyn Source>) -> Self {
        self.shown.sources.push(Named { name, it });
        self
    }

    /// Shows how this process stands in a fleet.
    #[cfg(feature = "fleet")]
    pub fn fleet(mut self, name: impl Into<Arc<str>>, joined: &Joined) -> Self {
        let (name, it) = (name.into(), joined.watch());
        self.shown.fleets.push(Named { name, it });
        self
    }

    /// Shows the jobs of durable steps, in any store: the page has a tab for them, where they are tried again and
    /// cancelled. Of their states only the size is shown.
    ///
    /// Keys and the text of errors are shown to every operator.
    #[cfg(feature = "steps")]
    pub fn steps<D: Store>(self, name: impl Into<Arc<str>>, steps: &Steps<D>) -> Self {
        self.jobs(name.into(), OfSteps::new(steps, false))
    }

    /// [`steps`](Self::steps), with the states of jobs: for every operator, including viewers.
    #[cfg(feature = "steps")]
    pub fn steps_with_states<D: Store>(self, name: impl Into<Arc<str>>, steps: &Steps<D>) -> Self {
        self.jobs(name.into(), OfSteps::new(steps, true))
    }

    #[cfg(feature = "steps")]
    fn jobs(mut self, name: Arc<str>, it: OfSteps) -> Self {
        self.shown.steps.push(Named { name, it });
        self
    }

    /// The title of the page: service and environment, for operators who have several open.
    pub fn title(mut self, title: impl fmt::Display) -> Self {
        self.shown.title = text::bounded(&title, MAX_NAME);
        self
    }

    /// The hosts under which it is served: what the browser's address bar shows, with or without a port. A request for
    /// another host is refused, so that a foreign name that leads to this address (DNS rebinding) reaches nothing.
    /// Unless set, `localhost` and loopback addresses.
    pub fn hosts<I>(mut self, hosts: I) -> Self
    where
        I: IntoIterator<Item: Into<String>>,
    {
        let hosts = self.parse_all(hosts, Host::parse, AdminError::BadHost);
        self.shown.gate.hosts = Some(hosts);
        self
    }

    /// Origins of the admin's own page that differ from the host of the request: where a proxy replaces the header
    /// `Host`. For example `"https://admin.example.com"`.
    pub fn origins<I>(mut self, origins: I) -> Self
    where
        I: IntoIterator<Item: Into<String>>,
    {
        self.shown.gate.origins = self.parse_all(origins, OriginOf::parse, AdminError::BadOrigin);
        self
    }

    fn parse_all<T>(
        &mut self,
        texts: impl IntoIterator<Item: Into<String>>,
        parse: fn(&str) -> Option<T>,
        wrong: fn(String) -> AdminError,
    ) -> Vec<T> {
        let texts = texts.into_iter().map(Into::into);
        let parsed = texts.filter_map(|text: String| {
            let parsed = parse(&text);
            if parsed.is_none() {
                self.error.get_or_insert(wrong(text));
            }
            parsed
        });
        parsed.collect()
    }

    /// Also serves requests that carry no [`Operator`](super::Operator): everyone who can reach it may change
    /// everything. For development, and for networks where that is intended.
    pub fn unauthenticated(mut self) -> Self {
        self.shown.gate.is_open = true;
        self
    }

    /// How many pages may be live at the same time, from 1 to 10,000; 64 unless set. Further ones are refused, and read
    /// the states every 5 s.
    pub fn streams(mut self, most: usize) -> Self {
        if (1..=MOST_STREAMS).contains(&most) {
            self.shown.streams = Arc::new(Semaphore::new(most));
            self.shown.most_streams = most;
        } else {
            let what = "the streams of events";
            let error = AdminError::OutOfRange(what, 1, MOST_STREAMS);
            self.error.get_or_insert(error);
        }
        self
    }

    /// The router, to be nested with `nest_service` (`nest` leaves the path with a trailing slash to others).
    ///
    /// # Errors
    /// [`AdminError`] says what is wrong with the settings, and how to fix it.
    pub fn router<S>(self) -> Result<Router<S>, AdminError>
    where
        S: Clone + Send + Sync + 'static,
    {
        let Self { shown, error } = self;
        error.map_or(Ok(()), Err)?;
        check_names(&shown.sources)?;
        #[cfg(feature = "fleet")]
        check_names(&shown.fleets)?;
        #[cfg(feature = "steps")]
        check_names(&shown.steps)?;
        for recorded in shown.timeline.names() {
            if shown.source(&recorded).is_err() {
                return Err(AdminError::NotShown(recorded.to_string()));
            }
        }
        Ok(router::router(Arc::new(shown)))
    }
}

fn check_names<T>(all: &[Named<T>]) -> Result<(), AdminError> {
    let mut seen = HashSet::new();
    for Named { name, .. } in all {
        if name.is_empty() || name.len() > MAX_NAME {
            return Err(AdminError::BadName(name.to_string()));
        }
        if !seen.insert(name) {
            return Err(AdminError::NameTaken(name.to_string()));
        }
    }
    Ok(())
}

impl fmt::Debug for Admin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.shown.sources.iter().map(|it| &it.name).collect();
        f.debug_struct("Admin")
            .field("shows", &names)
            .field("gate", &self.shown.gate)
            .finish_non_exhaustive()
    }
}
