// SPDX-License-Identifier: MIT OR Apache-2.0
//! A subscriber and a recorder that keep their input.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use atomic_breaker_observe::{Metrics, publish};
use atomic_breaker_server::{Breaker, Config, StdClock, word::NativeWord};
use metrics::{Counter, Gauge, Histogram, Key, KeyName, Recorder, SharedString, Unit};
use metrics_exporter_prometheus::PrometheusBuilder;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// Two consecutive failures trip it for ten seconds.
pub(crate) const RULES: Config = Config::new()
    .consecutive_failures(2)
    .open_for(Duration::from_secs(10));

/// A breaker that is counted under this name.
pub(crate) fn counted(name: &str) -> Breaker<StdClock, NativeWord, (), Metrics> {
    Breaker::builder(RULES, StdClock)
        .observer(Metrics::new(name))
        .build()
}

/// The values that `publish` passes to a fresh recorder, by series.
#[derive(Debug)]
pub(crate) struct Page(pub(crate) String);

impl Page {
    pub(crate) fn now() -> Self {
        let recorder = PrometheusBuilder::new().build_recorder();
        metrics::with_local_recorder(&recorder, publish);
        Self(recorder.handle().render())
    }

    /// The value of the series of a breaker; labels as they are rendered, without `circuit_breaker_`.
    pub(crate) fn get(&self, metric: &str, name: &str, labels: &[(&str, &str)]) -> Option<u64> {
        let mut series = format!("circuit_breaker_{metric}{{circuit_breaker_name=\"{name}\"");
        for (label, value) in labels {
            write!(series, ",circuit_breaker_{label}=\"{value}\"").unwrap();
        }
        series.push_str("} ");
        let line = self.0.lines().find_map(|line| line.strip_prefix(&series))?;
        Some(line.parse().unwrap())
    }

    pub(crate) fn calls(&self, name: &str, outcome: &str) -> Option<u64> {
        self.get("calls", name, &[("outcome", outcome)])
    }

    pub(crate) fn transitions(&self, name: &str, to: &str, cause: &str) -> Option<u64> {
        self.get("transitions", name, &[("state", to), ("cause", cause)])
    }

    pub(crate) fn breakers(&self, name: &str, state: &str) -> Option<u64> {
        self.get("breakers", name, &[("state", state)])
    }
}

/// A recorder that calls back when a counter or a gauge is registered.
pub(crate) struct CallsBack<C, G> {
    counter: C,
    gauge: G,
}

impl<C: Fn(), G: Fn(&Key)> CallsBack<C, G> {
    pub(crate) fn new(counter: C, gauge: G) -> Self {
        Self { counter, gauge }
    }
}

impl<C: Fn(), G: Fn(&Key)> Recorder for CallsBack<C, G> {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, _: &Key, _: &metrics::Metadata<'_>) -> Counter {
        (self.counter)();
        Counter::noop()
    }

    fn register_gauge(&self, key: &Key, _: &metrics::Metadata<'_>) -> Gauge {
        (self.gauge)(key);
        Gauge::noop()
    }

    fn register_histogram(&self, _: &Key, _: &metrics::Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}

/// An event: level and target, and its fields as text.
#[derive(Clone, Debug)]
pub(crate) struct Logged {
    pub(crate) level: tracing::Level,
    pub(crate) target: &'static str,
    fields: BTreeMap<String, String>,
}

impl Logged {
    /// A field, without `circuit_breaker.`; `message`.
    pub(crate) fn get(&self, field: &str) -> Option<&str> {
        let full = format!("circuit_breaker.{field}");
        let found = self.fields.get(&full).or_else(|| self.fields.get(field));
        found.map(String::as_str)
    }

    pub(crate) fn left_out(&self) -> u64 {
        self.get("rejections_left_out")
            .map_or(0, |count| count.parse().unwrap())
    }
}

impl Visit for Logged {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.name().into(), value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.fields
            .insert(field.name().into(), format!("{value:?}"));
    }
}

/// Keeps the events that it wants.
#[derive(Clone, Debug)]
pub(crate) struct Keeper {
    wants: fn(&Metadata<'_>) -> bool,
    kept: Arc<Mutex<Vec<Logged>>>,
}

/// All but those of calls that failed, of which there are many.
impl Default for Keeper {
    fn default() -> Self {
        Self {
            wants: |event| !of_failures(event) && !of_calls(event),
            kept: Arc::default(),
        }
    }
}

pub(crate) fn of_failures(event: &Metadata<'_>) -> bool {
    event.target() == "atomic_breaker::failure"
}

pub(crate) fn of_calls(event: &Metadata<'_>) -> bool {
    event.target() == "atomic_breaker::call"
}

impl Keeper {
    /// Of those that `wants` wants, on any thread that uses a clone.
    pub(crate) fn of(wants: fn(&Metadata<'_>) -> bool) -> Self {
        let kept = Arc::default();
        Self { wants, kept }
    }

    pub(crate) fn kept(&self) -> Vec<Logged> {
        self.kept.lock().unwrap().clone()
    }
}

impl Subscriber for Keeper {
    fn enabled(&self, event: &Metadata<'_>) -> bool {
        (self.wants)(event)
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut logged = Logged {
            level: *event.metadata().level(),
            target: event.metadata().target(),
            fields: BTreeMap::new(),
        };
        event.record(&mut logged);
        self.kept.lock().unwrap().push(logged);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The events logged on this thread meanwhile.
pub(crate) fn logged(what: impl FnOnce()) -> Vec<Logged> {
    kept(&Keeper::default(), what)
}

/// Those that `wants` wants.
pub(crate) fn logged_if(wants: fn(&Metadata<'_>) -> bool, what: impl FnOnce()) -> Vec<Logged> {
    kept(&Keeper::of(wants), what)
}

fn kept(keeper: &Keeper, what: impl FnOnce()) -> Vec<Logged> {
    tracing::subscriber::with_default(keeper.clone(), what);
    keeper.kept()
}
