// SPDX-License-Identifier: MIT OR Apache-2.0
//! A process that has joined its fleet.

mod followers;
mod link;
mod queue;
mod requests;
mod seat;
mod seats;
mod status;
mod task;

use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::identity::{IdHold, of_this_machine};
use super::{Fleet, FleetConfig, FleetError, Name};
use followers::Followers;
use link::Link;
use queue::{Queue, TakenPlaces};
pub use seat::Seat;
pub use seats::Seats;
pub use status::{FleetHold, FleetHolds, FleetStage, FleetStatus};
use task::Task;

/// The number of events of breakers that may wait for the task.
const QUEUE: usize = 4_096;

/// A process that has joined its fleet, through tasks of tokio. Dropping it leaves the fleet: breakers keep what was
/// set and go on alone.
///
/// ```
/// use atomic_breaker_fleet::{FleetConfig, InProcess, Joined};
/// use atomic_breaker_server::{Breaker, Config, StdClock};
/// use std::sync::Arc;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // In production an engine that all instances reach.
/// let fleet = Joined::new(InProcess::new(), FleetConfig::new(3))?;
///
/// let seat = fleet.seat("payments")?;
/// let payments = Breaker::builder(Config::new(), StdClock).observer(seat.clone()).build();
/// let payments = Arc::new(payments);
/// seat.take(Arc::clone(&payments));
///
/// assert_eq!(payments.call(|| Ok::<_, ()>("paid")), Ok("paid"));
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "dropping it leaves the fleet"]
pub struct Joined {
    queue: Queue,
    places: TakenPlaces,
    status: watch::Receiver<FleetStatus>,
    holds: FleetHolds,
    /// Aborted when dropped.
    _task: JoinSet<()>,
    _held: Option<IdHold>,
}

impl Joined {
    /// Joins: starts to listen and to read, in tasks on the runtime in which it is called. Does not wait for the
    /// engine: the [status](Self::status) says whether it answers, and if not why; so does the log.
    ///
    /// # Errors
    /// [`FleetError`] when a setting is invalid, or when it is called outside a tokio runtime.
    pub fn new(engine: impl Fleet, config: FleetConfig) -> Result<Self, FleetError> {
        config.check()?;
        let why = "a fleet is joined within a runtime of tokio: call it in `main` or enter one";
        let runtime = Handle::try_current().map_err(|_| FleetError::new(why))?;
        let named = config.instance.map(|id| (id, None));
        let (id, held) = named.unwrap_or_else(of_this_machine);
        let clock = Instant::now();
        let (events, of_breakers) = mpsc::channel(QUEUE);
        let (status, shown) = watch::channel(FleetStatus::default());
        let overflows = Arc::<AtomicU64>::default();
        let holds = FleetHolds::new(clock);
        let task = Task {
            link: Link::new(engine, id, config, clock),
            followers: Followers::new(config, holds.clone()),
            events: of_breakers,
            shown: status,
            overflows: Arc::clone(&overflows),
        };
        let mut tasks = JoinSet::new();
        tasks.spawn_on(task.run(), &runtime);
        Ok(Self {
            queue: Queue { events, overflows },
            places: TakenPlaces::default(),
            status: shown,
            holds,
            _task: tasks,
            _held: held,
        })
    }

    /// The place of the breaker with this name, which is the same in all instances. Asked for again, it is the same
    /// place, like a clone.
    ///
    /// # Errors
    /// [`FleetError`] if the name is empty or longer than 255 bytes.
    pub fn seat(&self, name: impl AsRef<[u8]>) -> Result<Seat, FleetError> {
        Ok(Seat::new(Name::new(name)?, &self.places, &self.queue))
    }

    /// The places of the keys of the registry with this name, which is the same in all instances. Asked for again, they
    /// are the same places, like a clone. The name of each key begins with it and a slash. To other instances, a breaker with a
    /// [seat](Self::seat) of such a name is the same as that key; in this instance it takes precedence.
    ///
    /// # Errors
    /// [`FleetError`] if the name is empty, longer than 255 bytes, or has a slash.
    pub fn seats<K>(&self, registry: impl AsRef<[u8]>) -> Result<Seats<K>, FleetError>
    where
        K: Hash + Eq + Send + Sync + 'static,
    {
        let name = Name::of_registry(registry.as_ref())?;
        Ok(Seats::new(name, &self.places, &self.queue))
    }

    /// Its status now. Not connected once the runtime in which it was joined has ended.
    pub fn status(&self) -> FleetStatus {
        let mut status = self.status.borrow().clone();
        status.is_connected &= self.status.has_changed().is_ok();
        status
    }

    /// Its status, and every change of it: a slow receiver skips to the latest.
    pub fn watch(&self) -> watch::Receiver<FleetStatus> {
        self.status.clone()
    }

    /// Returns the fleet's state for each breaker that it holds open.
    ///
    /// ```
    /// # use atomic_breaker_fleet::{FleetConfig, InProcess, Joined};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let fleet = Joined::new(InProcess::new(), FleetConfig::new(3))?;
    /// if let Some(hold) = fleet.holds().of("hosts/a.example") {
    ///     println!("held open by the fleet; a probe in {:?}", hold.probe_in);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn holds(&self) -> FleetHolds {
        self.holds.clone()
    }
}
