//! The observer that counts.

mod calls;
mod down;
#[cfg(feature = "fleet")]
mod fleets;
#[cfg(feature = "steps")]
mod jobs;
mod keys;
mod lane;
mod meter;
mod one;
mod publish;
mod series;

use std::fmt;

#[cfg(feature = "fleet")]
pub use fleets::Fleets;
#[cfg(feature = "steps")]
pub use jobs::Jobs;
pub use keys::Keys;
pub use one::One;
pub use publish::{publish, publish_each_second};

/// Counts what happens to breakers for the `metrics` facade, and shows their states. `Metrics` count for one breaker,
/// [`Metrics<Keys>`](Keys) for the keys of a registry, with the feature `steps` `Metrics<Jobs>` for durable jobs, and with
/// `fleet` `Metrics<Fleets>` for a fleet.
///
/// The counts reach the recorder through [`publish`](super::publish()), so that a call costs no more than one addition
/// to memory that no other thread writes:
///
/// ```
/// use atomic_breaker_observe::{Breaker, Config, Metrics, StdClock};
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
/// the word when the last transition was made through this breaker, and closed before the first; later changes by other
/// processes that share the word are not seen.
#[derive(Clone, Debug)]
pub struct Metrics<Of = One>(Of);

impl<Of: Observed> Metrics<Of> {
    /// Creates metrics under that name: its first 128 bytes, with control characters escaped. They are published from
    /// now on, at zero before anything happens. Each name takes 17 KB; the first 1,000 are kept apart, further ones are
    /// named `other`.
    pub fn new(name: impl fmt::Display) -> Self {
        Self(Of::named(&name))
    }
}

/// What [`Metrics`] can count: [`One`], [`Keys`], with the feature `steps` `Jobs`, and with `fleet` `Fleets`. Which of
/// them follows from where the metrics are used.
pub trait Observed {
    #[doc(hidden)]
    fn named(name: &dyn fmt::Display) -> Self;
}
