//! A process that has joined its fleet.

mod followers;
mod holds;
mod identity;
mod lane;
mod places;
mod seat;
mod seats;
mod steer;
mod task;

use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::{Fleet, FleetConfig, FleetError, Name};
use followers::Followers;
pub use holds::{FleetHold, FleetHolds, FleetStage};
use identity::{Held, of_this_machine};
use lane::Lane;
use places::Places;
pub use seat::Seat;
pub use seats::Seats;
use steer::Queue;
use task::{Link, Task};

/// How many events of breakers may wait for the task.
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
    places: Places,
    status: watch::Receiver<FleetStatus>,
    holds: FleetHolds,
    /// Aborted when dropped.
    _task: JoinSet<()>,
    _held: Option<Held>,
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
        let limit = Duration::from_millis(config.limit_ms.into());
        let lane = Lane::new(engine, id, limit, clock);
        let (events, of_breakers) = mpsc::channel(QUEUE);
        let (status, shown) = watch::channel(FleetStatus::default());
        let overflows = Arc::<AtomicU64>::default();
        let holds = FleetHolds::new(clock);
        let task = Task {
            config,
            lane,
            events: of_breakers,
            shown: status,
            overflows: Arc::clone(&overflows),
            clock,
            followers: Followers::new(config, holds.clone()),
            link: Link::default(),
        };
        let mut tasks = JoinSet::new();
        tasks.spawn_on(task.run(), &runtime);
        Ok(Self {
            queue: Queue { events, overflows },
            places: Places::default(),
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
    /// are the same places, like a clone. The name of each key begins with it and a slash. To other instances, a breaker with a [seat](Self::seat) of such a name is the same
    /// as that key; in this instance it takes precedence.
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

    /// What the fleet says about each breaker that it holds open.
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

/// The status of a joined process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FleetStatus {
    /// The engine answers, and what it publishes is heard.
    pub is_connected: bool,
    /// Living instances, as the engine last reported; 0 if it has never answered.
    pub living: u32,
    /// There are fewer living instances than the quorum: it cannot be reached.
    pub is_below_quorum: bool,
    /// Breakers that were taken, and registry keys that are followed now: those that are open here, or recently were.
    pub breakers: usize,
    /// Breakers that the fleet holds open.
    pub open: usize,
    /// Requests that failed or got no answer within the limit, and subscriptions that failed or ended, since the start.
    pub unanswered: u64,
    /// The reason for the last of these, in the words of the engine's client; kept after reconnecting.
    pub last_error: Option<FleetError>,
    /// Breaker events that were dropped because the queue was full, since the start.
    pub overflows: u64,
    /// How often a registry key could not follow because its name is too long or there was no room, since the start.
    pub left_alone: u64,
    /// In shadow mode: how many actions on breakers were withheld, since the start.
    pub withheld: u64,
}
