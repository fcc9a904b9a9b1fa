// SPDX-License-Identifier: MIT OR Apache-2.0
//! The contents of the page, and the clients that may see it.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

#[cfg(feature = "fleet")]
use atomic_breaker_fleet::Joined;
use atomic_breaker_server::{AnyBreaker, AnyRegistry, Resource};
#[cfg(feature = "steps")]
use atomic_breaker_steps::{Steps, Store};
use tokio::sync::Semaphore;

use super::error::{MAX_NAME, check_names};
use super::gate::{OriginOf, RequestGate, UrlHost};
#[cfg(feature = "steps")]
use super::jobs::{AnySteps, OfSteps};
use super::labels::{KeyLabels, is_link};
use super::response::Problem;
use super::source::{OfRegistry, OfSingle, ShownSource, Source};
use super::{AdminError, Timeline, text};

/// The contents of the page, and the clients that may see it; [`router`](Self::router) turns it into an axum router,
/// which a service nests behind its own authentication. The [package](super) has an example.
#[must_use = "`router` makes a router of it"]
pub struct Admin {
    pub(super) title: String,
    pub(super) instance: String,
    pub(super) runbook: Option<String>,
    pub(super) labels: KeyLabels,
    pub(super) timeline: Timeline,
    pub(super) sources: Vec<ShownSource>,
    #[cfg(feature = "fleet")]
    pub(super) fleets: Vec<super::source::ShownFleet>,
    #[cfg(feature = "steps")]
    pub(super) steps: Vec<Box<dyn AnySteps>>,
    pub(super) gate: RequestGate,
    /// The permits to look at all keys, one for each request that does so at the same time.
    pub(super) readers: Arc<Semaphore>,
    /// A turn for one command at a time, separate from reads: no read delays it, and of two operators who saw the same
    /// epoch the second one is refused.
    pub(super) commands: Arc<Semaphore>,
    /// The permits for pages that are live at the same time.
    pub(super) streams: Arc<Semaphore>,
    /// The first setting that is wrong.
    error: Option<AdminError>,
}

const STREAMS: usize = 64;
const MOST_STREAMS: usize = 10_000;
const READERS: usize = 2;

impl Admin {
    /// Shows the content of the timeline; add registries and breakers.
    pub fn new(timeline: &Timeline) -> Self {
        Self {
            title: "Circuit breakers".to_owned(),
            instance: this_process(),
            runbook: None,
            labels: KeyLabels::default(),
            timeline: timeline.clone(),
            sources: Vec::new(),
            #[cfg(feature = "fleet")]
            fleets: Vec::new(),
            #[cfg(feature = "steps")]
            steps: Vec::new(),
            gate: RequestGate::default(),
            readers: Arc::new(Semaphore::new(READERS)),
            commands: Arc::new(Semaphore::new(1)),
            streams: Arc::new(Semaphore::new(STREAMS)),
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

    /// Shows a [`Resource`], with its last failure and shadow mode: an `Arc`, or a
    /// `&'static` reference.
    pub fn resource<R, B>(self, name: impl Into<Arc<str>>, resource: R) -> Self
    where
        R: Deref<Target = Resource<B>> + Send + Sync + 'static,
        B: AnyBreaker + 'static,
    {
        self.source(name.into(), Box::new(OfSingle::resource(resource)))
    }

    /// Shows the breakers of keys that processes share: an `Arc`, or a `&'static` reference. Those that a process in
    /// another language has opened are among them. Their rules are those of all processes, and cannot be changed here. The
    /// timeline has what operators command here, but not what calls change, in this process or in others.
    #[cfg(all(feature = "mapped", unix, target_has_atomic = "64"))]
    #[cfg_attr(docsrs, doc(cfg(feature = "mapped")))]
    pub fn slab<C, H>(self, name: impl Into<Arc<str>>, slab: H) -> Self
    where
        C: atomic_breaker_mapped::MachineClock + 'static,
        H: Deref<Target = atomic_breaker_mapped::MappedSlab<C>> + Send + Sync + 'static,
    {
        self.source(name.into(), Box::new(super::source::OfSlab(slab)))
    }

    fn source(mut self, name: Arc<str>, source: Box<dyn Source>) -> Self {
        self.sources.push(ShownSource { name, source });
        self
    }

    /// Shows how this process stands in a fleet, and at each breaker that the fleet holds open what it says about it:
    /// give a breaker or registry the same name here as its seat has.
    #[cfg(feature = "fleet")]
    pub fn fleet(mut self, name: impl Into<Arc<str>>, joined: &Joined) -> Self {
        self.fleets.push(super::source::ShownFleet {
            name: name.into(),
            status: joined.watch(),
            holds: joined.holds(),
        });
        self
    }

    /// Shows the jobs of durable steps, in any store: the page has a tab for them, where they are tried again and
    /// cancelled. Of their states only the size is shown.
    ///
    /// Keys and the text of errors are shown to every operator.
    #[cfg(feature = "steps")]
    pub fn steps<D: Store>(self, name: impl Into<Arc<str>>, steps: &Steps<D>) -> Self {
        self.jobs(OfSteps::new(name.into(), steps, false))
    }

    /// [`steps`](Self::steps), with the states of jobs: for every operator, including viewers.
    #[cfg(feature = "steps")]
    pub fn steps_with_states<D: Store>(self, name: impl Into<Arc<str>>, steps: &Steps<D>) -> Self {
        self.jobs(OfSteps::new(name.into(), steps, true))
    }

    #[cfg(feature = "steps")]
    fn jobs<D: Store>(mut self, steps: OfSteps<D>) -> Self {
        self.steps.push(Box::new(steps));
        self
    }

    /// The title of the page: service and environment, for operators who have several open.
    pub fn title(mut self, title: impl fmt::Display) -> Self {
        self.title = text::bounded(&title, MAX_NAME);
        self
    }

    /// The name of this process among the instances of the service, which the page shows because it knows no other:
    /// at most 128 bytes. Unless set, the name of the machine, if the system tells it, and the number of the process.
    ///
    /// No two should have the same: by its name a process refuses commands that the page meant for another one.
    pub fn instance(mut self, name: impl fmt::Display) -> Self {
        self.instance = text::bounded(&name, MAX_NAME);
        self
    }

    /// The page that says what to do when a breaker is open, to which this one links: an address of `http` or `https`, of at
    /// most 2,048 bytes. Neither this page's own address nor what it shows is passed on.
    pub fn runbook(mut self, address: impl Into<String>) -> Self {
        let address = address.into();
        if !is_link(&address) {
            self.is_wrong(AdminError(format!(
                "{address:?} is not the address of a page: set one that begins with https:// or http:// and a host, without \
                 spaces, such as \"https://wiki.example.com/breakers\""
            )));
        }
        self.runbook = Some(address);
        self
    }

    /// The names that people know keys of a registry by, which are shown beside the keys, and found by a search. Each has a key
    /// as it is shown, and its name, of which up to 128 bytes are shown.
    ///
    /// ```
    /// # use atomic_breaker_admin::{Admin, Timeline};
    /// # use atomic_breaker_server::{Config, Registry};
    /// # use std::sync::Arc;
    /// # let hosts = Arc::new(Registry::<String>::new(Config::new())?);
    /// let admin = Admin::new(&Timeline::new())
    ///     .registry("hosts", hosts)
    ///     .labels("hosts", [("10.0.3.7:443", "payments, Frankfurt"), ("10.0.4.7:443", "payments, Oslo")]);
    /// # let _: axum::Router = admin.router()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn labels<K, L>(
        mut self,
        of: impl Into<Arc<str>>,
        labels: impl IntoIterator<Item = (K, L)>,
    ) -> Self
    where
        K: fmt::Display,
        L: fmt::Display,
    {
        let of = of.into();
        for (key, label) in labels {
            let label = text::bounded(&label, MAX_NAME);
            self.labels.add(&of, text::of_key(&key), label);
        }
        self
    }

    /// The hosts under which it is served: what the browser's address bar shows, with or without a port. A request for
    /// another host is refused, so that a foreign name that leads to this address (DNS rebinding) reaches nothing.
    /// Unless set, `localhost` and loopback addresses.
    pub fn hosts(mut self, hosts: impl IntoIterator<Item: AsRef<str>>) -> Self {
        let hosts = self.parse_all(
            hosts,
            UrlHost::parse,
            "is not a host: set a name or an address, with or without a port, such as \"admin.example.com\", \
             \"10.0.0.7:8080\" or \"[::1]\"",
        );
        self.gate.hosts = Some(hosts);
        self
    }

    /// Origins of the admin's own page that differ from the host of the request: where a proxy replaces the header
    /// `Host`. For example `"https://admin.example.com"`.
    pub fn origins(mut self, origins: impl IntoIterator<Item: AsRef<str>>) -> Self {
        self.gate.origins = self.parse_all(
            origins,
            OriginOf::parse,
            "is not an origin: set scheme and host as the browser shows them, such as \"https://admin.example.com\"",
        );
        self
    }

    fn parse_all<T>(
        &mut self,
        texts: impl IntoIterator<Item: AsRef<str>>,
        parse: fn(&str) -> Option<T>,
        wrong: &str,
    ) -> Vec<T> {
        let mut parsed = Vec::new();
        for text in texts {
            let text = text.as_ref();
            match parse(text) {
                Some(it) => parsed.push(it),
                None => self.is_wrong(AdminError(format!("{text:?} {wrong}"))),
            }
        }
        parsed
    }

    fn is_wrong(&mut self, error: AdminError) {
        self.error.get_or_insert(error);
    }

    /// Also serves requests that carry no [`Operator`](super::Operator): everyone who can reach it may change
    /// everything. For development, and for networks where that is intended.
    pub fn unauthenticated(mut self) -> Self {
        self.gate.is_open = true;
        self
    }

    /// Sets the number of pages that may be live at the same time, from 1 to 10,000; 64 unless set. Further ones are
    /// refused, and read the states every 5 s.
    pub fn streams(mut self, most: usize) -> Self {
        let what = "the streams of events";
        match AdminError::unless_in_range(what, most, MOST_STREAMS) {
            Ok(()) => self.streams = Arc::new(Semaphore::new(most)),
            Err(error) => self.is_wrong(error),
        }
        self
    }

    /// The first thing that is wrong with the settings.
    pub(super) fn check(&mut self) -> Result<(), AdminError> {
        self.error.take().map_or(Ok(()), Err)?;
        check_names(self.sources.iter().map(|it| &*it.name))?;
        #[cfg(feature = "fleet")]
        check_names(self.fleets.iter().map(|it| &*it.name))?;
        #[cfg(feature = "steps")]
        check_names(self.steps.iter().map(|it| it.name()))?;
        for name in self.timeline.names() {
            if self.source_of(&name).is_err() {
                return Err(AdminError(format!(
                    "the timeline records {name:?}, which is not shown: give `Timeline::recorder` and `Admin::registry`, \
                     `breaker` or `resource` the same name"
                )));
            }
        }
        let is_shown = |name: &str| self.sources.iter().any(|it| *it.name == *name);
        if let Some(name) = self.labels.names().find(|name| !is_shown(name)) {
            return Err(AdminError(format!(
                "{name:?} has labels and is not shown: give `Admin::labels` and `Admin::registry` the same name"
            )));
        }
        Ok(())
    }

    /// The registry or breaker with this name.
    pub(super) fn source_of(&self, name: &str) -> Result<&ShownSource, Problem> {
        let found = self.sources.iter().find(|it| *it.name == *name);
        found.ok_or_else(|| {
            Problem::not_found(format!(
                "nothing is shown under the name {name:?}: the status lists what there is"
            ))
        })
    }

    /// The steps with this name.
    #[cfg(feature = "steps")]
    pub(super) fn steps_of(&self, name: &str) -> Result<&dyn AnySteps, Problem> {
        let found = self.steps.iter().find(|steps| steps.name() == name);
        let missing = "no steps are shown under this name: the status lists them";
        let steps = found.ok_or_else(|| Problem::not_found(missing))?;
        Ok(&**steps)
    }
}

/// The machine, where Linux tells its name, and the process.
fn this_process() -> String {
    let number = format!("process {}", std::process::id());
    let machine = std::fs::read_to_string("/proc/sys/kernel/hostname");
    match machine.as_deref().map(str::trim) {
        Ok(machine) if !machine.is_empty() => format!("{machine}, {number}"),
        _ => number,
    }
}

impl fmt::Debug for Admin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.sources.iter().map(|it| &it.name).collect();
        f.debug_struct("Admin")
            .field("shows", &names)
            .field("gate", &self.gate)
            .finish_non_exhaustive()
    }
}
