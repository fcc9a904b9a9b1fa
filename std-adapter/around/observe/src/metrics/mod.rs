// SPDX-License-Identifier: MIT OR Apache-2.0
//! The observer that counts.

mod breakers;
mod calls;
mod down;
mod lane;
mod meter;
mod of_breaker;
#[cfg(feature = "fleet")]
mod of_fleet;
#[cfg(feature = "steps")]
mod of_jobs;
mod of_keys;
mod of_retries;
mod publish;
mod series;

use std::fmt;
use std::sync::Arc;

use atomic_breaker_server::{
    AnyBreaker, Enforcement, Observer, Outcome, Present, Rejected, Transition,
};

use crate::label::Mode;
use calls::{CANCELLED, end_of};
pub use of_breaker::{Observed, OfBreaker};
#[cfg(feature = "fleet")]
pub use of_fleet::OfFleet;
#[cfg(feature = "steps")]
pub use of_jobs::OfJobs;
pub use of_keys::OfKeys;
pub use of_retries::OfRetries;
pub use publish::{publish, publish_each_second};

/// Counts what happens to breakers for the `metrics` facade, and shows their states. `Metrics` count for one breaker,
/// [`Metrics<OfKeys>`](OfKeys) for the keys of a registry, [`Metrics<OfRetries>`](OfRetries) for retries, with the feature
/// `steps` `Metrics<OfJobs>` for durable jobs, and with `fleet` `Metrics<OfFleet>` for a fleet.
///
/// The counts reach the recorder through [`publish`](super::publish()), so that a call costs no more than one addition
/// to memory that no other thread writes:
///
/// ```
/// use atomic_breaker_observe::Metrics;
/// use atomic_breaker_server::{Breaker, Config, StdClock};
/// use metrics_exporter_prometheus::PrometheusBuilder;
///
/// let recorder = PrometheusBuilder::new().build_recorder();
/// let prometheus = recorder.handle();
/// metrics::set_global_recorder(recorder).expect("the only one");
///
/// let payments = Breaker::builder(Config::new(), StdClock).observer(Metrics::new("payments")).build();
/// payments.trip();
///
/// // For each scrape:
/// atomic_breaker_observe::publish();
/// let page = prometheus.render();
/// let open = r#"circuit_breaker_breakers{circuit_breaker_name="payments",circuit_breaker_state="open"} 1"#;
/// assert!(page.contains(open));
/// ```
///
/// Create one for each breaker. Several with the same name are counted together, even one after another: counters
/// continue, and the gauge of the states says how many breakers of that name are in each state. The state is the one in
/// the word when the last transition was made through this breaker, and closed before the first. Later changes by other
/// processes that share the word are seen where it is [looked up](Self::watch_state).
#[derive(Clone, Debug)]
pub struct Metrics<Of = OfBreaker>(Of);

impl<Of: Observed> Metrics<Of> {
    /// Creates metrics under that name: its first 128 bytes, with control characters escaped. They are published from
    /// now on, at zero before anything happens. Each name takes 17 KB; the first 1,000 are kept apart, further ones are
    /// named `other`.
    pub fn new(name: impl fmt::Display) -> Self {
        Self(Of::named(&name))
    }
}

impl Metrics {
    /// Metrics for a `static`, like those of [`new`](Self::new): published from the first call on, or once they are
    /// [registered](Self::register).
    pub const fn in_static(name: &'static str) -> Self {
        Self(OfBreaker::in_static(name))
    }

    /// Publishes the metrics from now on: when the program starts, so that there is a zero to begin with.
    pub fn register(&self) {
        self.0.counted();
    }

    /// Looks the state of this breaker up each time it is published: for one whose word others change, such as processes in
    /// other languages. Without this the state is that of the last transition in this process. Ends when the breaker is
    /// dropped.
    ///
    /// ```
    /// use atomic_breaker_observe::Metrics;
    /// use atomic_breaker_server::{Breaker, Config, StdClock};
    /// use std::sync::Arc;
    ///
    /// let metrics = Metrics::new("database");
    /// let database = Arc::new(Breaker::builder(Config::new(), StdClock).observer(metrics).build());
    /// database.observer().watch_state(&database);
    /// ```
    pub fn watch_state<B>(&self, breaker: &Arc<B>)
    where
        Arc<B>: AnyBreaker,
        B: Send + Sync + 'static,
    {
        let weak = Arc::downgrade(breaker);
        let state = move || Some(weak.upgrade()?.as_breaker().state());
        self.0.counted().look_up(state);
    }

    /// Says where to find the enforcement of a breaker in a [`Resource`](atomic_breaker_server::Resource) that may be in
    /// shadow mode, which the breaker itself does not know; `Log` has the same setting. Without it, all rejections count
    /// as enforced.
    #[must_use]
    pub const fn enforcement(mut self, of: fn() -> &'static Enforcement) -> Self {
        self.0.enforcement = Some(of);
        self
    }
}

impl Observer for Metrics {
    #[cold]
    fn transition(&self, transition: &Transition) {
        self.0.counted().count(transition, || transition.to);
    }

    #[cold]
    fn changed(&self, transition: &Transition, present: Present<'_>) {
        self.0.counted().count(transition, || present.state());
    }

    #[cold]
    fn rejected(&self, _: Rejected) {
        let mode = Mode::of(self.0.enforcement);
        self.0.counted().all.rejections[mode as usize].add();
    }

    #[inline]
    fn outcome(&self, outcome: Outcome) {
        self.0.counted().all.calls.add(end_of(outcome));
    }

    #[inline]
    fn cancelled(&self) {
        self.0.counted().all.calls.add(CANCELLED);
    }
}
