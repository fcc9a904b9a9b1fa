//! Builds an admin.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use axum::Router;
use tokio::sync::Semaphore;

use super::gate::Gate;
#[cfg(feature = "steps")]
use super::jobs::OfSteps;
use super::source::{OfRegistry, OfSingle, Single, Source, displayed};
use super::{AdminError, Timeline, router, text};
#[cfg(feature = "fleet")]
use atomic_breaker_fleet::{FleetStatus, Joined};
use atomic_breaker_std::registry::AnyRegistry;
#[cfg(feature = "steps")]
use atomic_breaker_std::steps::{Steps, Store};

/// What is shown, and to which clients; [`router`](Self::router) turns it into an axum router, which a service nests
/// behind its own authentication. The [module](super) shows a whole program.
#[must_use = "`router` makes a router of it"]
pub struct Admin {
    title: String,
    timeline: Timeline,
    sources: Vec<Named<Box<dyn Source>>>,
    #[cfg(feature = "fleet")]
    fleets: Vec<Named<tokio::sync::watch::Receiver<FleetStatus>>>,
    #[cfg(feature = "steps")]
    steps: Vec<Named<OfSteps>>,
    hosts: Option<Vec<String>>,
    origins: Vec<String>,
    is_unauthenticated: bool,
    streams: usize,
}

/// Something that is shown under a name.
pub(super) struct Named<T> {
    pub(super) name: Arc<str>,
    pub(super) it: T,
}

/// The state that requests are answered from.
pub(super) struct Shown {
    pub(super) title: String,
    pub(super) timeline: Timeline,
    pub(super) sources: Vec<Named<Box<dyn Source>>>,
    #[cfg(feature = "fleet")]
    pub(super) fleets: Vec<Named<tokio::sync::watch::Receiver<FleetStatus>>>,
    #[cfg(feature = "steps")]
    pub(super) steps: Vec<Named<OfSteps>>,
    pub(super) gate: Gate,
    /// How many requests may look at all keys at the same time.
    pub(super) readers: Arc<Semaphore>,
    /// One command at a time, separate from reads: no read delays it, and of two operators who saw the same epoch the
    /// second one is refused.
    pub(super) commands: Arc<Semaphore>,
    pub(super) streams: Arc<AtomicUsize>,
    pub(super) most_streams: usize,
}

const MAX_NAME: usize = 128;
const STREAMS: usize = 64;
const MOST_STREAMS: usize = 10_000;
const READERS: usize = 2;

impl Admin {
    /// Shows the content of the timeline; add registries and breakers.
    pub fn new(timeline: &Timeline) -> Self {
        Self {
            title: "Circuit breakers".to_owned(),
            timeline: timeline.clone(),
            sources: Vec::new(),
            #[cfg(feature = "fleet")]
            fleets: Vec::new(),
            #[cfg(feature = "steps")]
            steps: Vec::new(),
            hosts: None,
            origins: Vec::new(),
            is_unauthenticated: false,
            streams: STREAMS,
        }
    }

    /// Shows a registry: an `Arc`, or a `&'static` reference. Its keys are shown through `Display`, up to 256 bytes of
    /// each.
    pub fn registry<H>(self, name: impl Into<Arc<str>>, registry: H) -> Self
    where
        H: AnyRegistry + Send + Sync + 'static,
        H::Key: fmt::Display,
    {
        self.source(
            name.into(),
            Box::new(OfRegistry {
                handle: registry,
                text: displayed::<H::Key>,
            }),
        )
    }

    /// [`registry`](Self::registry) for keys without `Display`, or that should read differently: `text` makes their
    /// text. Keys of one registry must not read the same, or they cannot be told apart when one is to be changed. Its
    /// recorder takes the same text: [`Recorder::by_text`](super::Recorder::by_text).
    pub fn registry_by<H, F>(self, name: impl Into<Arc<str>>, registry: H, text: F) -> Self
    where
        H: AnyRegistry + Send + Sync + 'static,
        F: Fn(&H::Key) -> String + Send + Sync + 'static,
    {
        let text = move |key: &H::Key| text::of_key(&text(key));
        self.source(
            name.into(),
            Box::new(OfRegistry {
                handle: registry,
                text,
            }),
        )
    }

    /// Shows a single breaker, or a [`Resource`](atomic_breaker_std::Resource): an `Arc`, or a `&'static` reference.
    pub fn breaker(self, name: impl Into<Arc<str>>, breaker: impl Single) -> Self {
        self.source(name.into(), Box::new(OfSingle(breaker)))
    }

    fn source(mut self, name: Arc<str>, it: Box<dyn Source>) -> Self {
        self.sources.push(Named { name, it });
        self
    }

    /// Shows how this process stands in a fleet.
    #[cfg(feature = "fleet")]
    pub fn fleet(mut self, name: impl Into<Arc<str>>, joined: &Joined) -> Self {
        self.fleets.push(Named {
            name: name.into(),
            it: joined.watch(),
        });
        self
    }

    /// Shows the jobs of durable steps, in any store: the page has a tab for them, where they are tried again and
    /// cancelled. Of their states only the size is shown.
    ///
    /// Keys and the text of errors are shown to everyone who gets in.
    #[cfg(feature = "steps")]
    pub fn steps<D: Store>(mut self, name: impl Into<Arc<str>>, steps: &Steps<D>) -> Self {
        self.steps.push(Named {
            name: name.into(),
            it: OfSteps::new(steps, false),
        });
        self
    }

    /// [`steps`](Self::steps), with the states of jobs: for everyone who gets in, including viewers.
    #[cfg(feature = "steps")]
    pub fn steps_with_states<D: Store>(
        mut self,
        name: impl Into<Arc<str>>,
        steps: &Steps<D>,
    ) -> Self {
        self.steps.push(Named {
            name: name.into(),
            it: OfSteps::new(steps, true),
        });
        self
    }

    /// The title of the page: service and environment, for operators who have several open.
    pub fn title(mut self, title: impl fmt::Display) -> Self {
        self.title = text::bounded(&title, MAX_NAME);
        self
    }

    /// The hosts under which it is served: what the browser's address bar shows, with or without a port. A request for
    /// another host is refused, so that a foreign name that leads to this address (DNS rebinding) reaches nothing.
    /// Unless set, `localhost` and loopback addresses.
    pub fn hosts<I>(mut self, hosts: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        self.hosts = Some(hosts.into_iter().map(Into::into).collect());
        self
    }

    /// Origins of the admin's own page that differ from the host of the request: where a proxy replaces the header
    /// `Host`. For example `"https://admin.example.com"`.
    pub fn origins<I>(mut self, origins: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        self.origins = origins.into_iter().map(Into::into).collect();
        self
    }

    /// Also serves requests that carry no [`Operator`](super::Operator): everyone who can reach it may change
    /// everything. For development, and for networks where that is intended.
    pub fn unauthenticated(mut self) -> Self {
        self.is_unauthenticated = true;
        self
    }

    /// How many pages may be live at the same time, from 1 to 10,000; 64 unless set. Further ones are refused, and read
    /// the states every 5 s.
    pub fn streams(mut self, most: usize) -> Self {
        self.streams = most;
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
        check_names(self.sources.iter().map(|source| &source.name))?;
        #[cfg(feature = "fleet")]
        check_names(self.fleets.iter().map(|fleet| &fleet.name))?;
        #[cfg(feature = "steps")]
        check_names(self.steps.iter().map(|steps| &steps.name))?;
        for recorded in self.timeline.names() {
            if !self.sources.iter().any(|source| source.name == recorded) {
                return Err(AdminError::NotShown(recorded.to_string()));
            }
        }
        if !(1..=MOST_STREAMS).contains(&self.streams) {
            return Err(AdminError::OutOfRange(
                "the streams of events",
                1,
                MOST_STREAMS,
            ));
        }
        let gate = Gate::new(
            self.hosts.as_deref(),
            &self.origins,
            self.is_unauthenticated,
        )?;
        Ok(router::router(Arc::new(Shown {
            title: self.title,
            timeline: self.timeline,
            sources: self.sources,
            #[cfg(feature = "fleet")]
            fleets: self.fleets,
            #[cfg(feature = "steps")]
            steps: self.steps,
            gate,
            readers: Arc::new(Semaphore::new(READERS)),
            commands: Arc::new(Semaphore::new(1)),
            streams: Arc::default(),
            most_streams: self.streams,
        })))
    }
}

fn check_names<'a>(names: impl Iterator<Item = &'a Arc<str>>) -> Result<(), AdminError> {
    let mut seen = HashSet::new();
    for name in names {
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
        let names: Vec<_> = self.sources.iter().map(|source| &source.name).collect();
        f.debug_struct("Admin")
            .field("shows", &names)
            .field("hosts", &self.hosts)
            .finish_non_exhaustive()
    }
}
