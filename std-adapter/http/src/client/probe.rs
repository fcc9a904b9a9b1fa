// SPDX-License-Identifier: MIT OR Apache-2.0
//! The mark of a probe, and a repair within it, whose time is none of the host.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use atomic_breaker_server::AnyPermit;
use http::Extensions;
use tokio::time::{Instant, timeout};

/// The mark of a probe: among the extensions of the requests of a [`ClientGuard`](crate::ClientGuard) or a
/// `BreakerMiddleware` that are probes, and of no others. A layer below that finds it repairs what the request needs, a step
/// further with each [trip](Self::trips): it resolves the name again, opens new connections, gets a new token.
///
/// ```
/// use atomic_breaker_http::Probe;
/// use http::Extensions;
/// # use std::io;
/// # async fn resolve_again() -> io::Result<()> { Ok(()) }
/// # async fn fetch_token() -> io::Result<()> { Ok(()) }
///
/// /// Belongs before the call, in a layer or a middleware below the breaker.
/// async fn repair(extensions: &Extensions) -> io::Result<()> {
///     let Some(probe) = extensions.get::<Probe>() else {
///         return Ok(());
///     };
///     let repair = async {
///         match probe.trips() {
///             1 => resolve_again().await,
///             _ => fetch_token().await,
///         }
///     };
///     probe.repair(repair).await
/// }
/// # let _ = repair(&Extensions::new());
/// ```
#[derive(Clone)]
pub struct Probe {
    trips: u8,
    repair: Arc<ProbeRepair>,
    /// The mark of another guard further out, whose time goes on in the same repair.
    outer: Option<Arc<Self>>,
}

impl Probe {
    /// Marks a request as a probe.
    pub(crate) fn mark(extensions: &mut Extensions, trips: u8) -> Self {
        let outer = extensions.get().cloned().map(Arc::new);
        let probe = Self {
            trips,
            repair: Arc::default(),
            outer,
        };
        extensions.insert(probe.clone());
        probe
    }

    /// Takes the mark away, which the next try does not have.
    #[cfg(feature = "reqwest-middleware")]
    pub(crate) fn unmark(self, extensions: &mut Extensions) {
        extensions.remove::<Self>();
        self.outer.map(|outer| extensions.insert((*outer).clone()));
    }

    /// The number of trips in a row before this probe, at least 1.
    pub const fn trips(&self) -> u8 {
        self.trips
    }

    /// Runs a repair, whose time is none of the host: when it is over, the [limit of the
    /// probe](crate::ClientConfig::probe_limit) and the time of [`Config::slow_call`](crate::Config::slow_call) begin anew.
    ///
    /// It must end within the limit of a try, counted from the beginning of the probe, which fails otherwise: so a probe with
    /// a repair takes at most twice that limit. An error that the layer returns, and a panic, are the failure of the probe, too.
    /// Of several repairs within one probe, the first has time of its own, and the time of the others is that of the host.
    pub async fn repair<T>(&self, repair: impl Future<Output = T>) -> T {
        // Ends the repair when it is dropped, too, as a layer may limit its time.
        let _ends = EndsRepair::begin(self);
        repair.await
    }

    fn and_outer(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |probe| probe.outer.as_deref())
    }
}

impl fmt::Debug for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Probe")
            .field("trips", &self.trips)
            .finish_non_exhaustive()
    }
}

/// Ends the repair when it is dropped.
struct EndsRepair<'a>(&'a Probe);

impl<'a> EndsRepair<'a> {
    fn begin(probe: &'a Probe) -> Self {
        for probe in probe.and_outer() {
            probe.repair.begin();
        }
        Self(probe)
    }
}

impl Drop for EndsRepair<'_> {
    fn drop(&mut self) {
        for probe in self.0.and_outer() {
            probe.repair.end();
        }
    }
}

/// The repair of a probe: its layer runs it, and the try learns when it is over.
#[derive(Default)]
struct ProbeRepair(Mutex<RepairProgress>);

#[derive(Default)]
struct RepairProgress {
    stage: RepairStage,
    /// The number of repairs that run now.
    running: u32,
    /// The waker of the try, which is not always the task that repairs.
    call: Option<Waker>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum RepairStage {
    #[default]
    None,
    Begun,
    /// The try does not know yet.
    Over,
    /// The time of the host has begun anew.
    Noted,
}

impl ProbeRepair {
    fn begin(&self) {
        let mut progress = self.lock();
        progress.running += 1;
        if progress.stage == RepairStage::None {
            progress.stage = RepairStage::Begun;
        }
    }

    fn end(&self) {
        let mut progress = self.lock();
        progress.running -= 1;
        if progress.running == 0 && progress.stage == RepairStage::Begun {
            progress.stage = RepairStage::Over;
            let call = progress.call.take();
            drop(progress);
            call.inspect(Waker::wake_by_ref);
        }
    }

    /// Nothing can panic while it is held, so nothing is ever half done.
    fn lock(&self) -> MutexGuard<'_, RepairProgress> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Probe {
    /// Returns, once, that the repair is over; the task is woken when it is.
    pub(crate) fn is_repaired(&self, context: &Context<'_>) -> bool {
        let mut progress = self.repair.lock();
        if progress.stage == RepairStage::Over {
            progress.stage = RepairStage::Noted;
            return true;
        }
        match &mut progress.call {
            Some(waker) => waker.clone_from(context.waker()),
            none => *none = Some(context.waker().clone()),
        }
        false
    }

    /// Returns whether the repair goes on.
    pub(crate) fn is_repairing(&self) -> bool {
        self.repair.lock().stage == RepairStage::Begun
    }
}

/// The time that a try may take.
#[derive(Clone, Copy)]
pub(super) struct TryTime {
    /// The time of the host.
    pub(super) limit: Duration,
    /// The time from the beginning until a repair has ended, if there is one.
    pub(super) repair_limit: Duration,
}

/// Makes a call within its time; `None` if that has passed. The time and the permit start again when a repair is over. A
/// panic is a failure.
pub(super) async fn in_time<P: AnyPermit, V>(
    permit: &mut Option<P>,
    probe: Option<&Probe>,
    time: TryTime,
    mut call: Pin<&mut impl Future<Output = V>>,
) -> Option<V> {
    let (begun, mut left) = (Instant::now(), time.limit);
    loop {
        let until_repaired = poll_fn(|context| {
            let is_repaired =
                |context: &Context<'_>| probe.is_some_and(|it| it.is_repaired(context));
            if is_repaired(context) {
                return Poll::Ready(None);
            }
            let polled = P::count_panic(permit, || call.as_mut().poll(context));
            if polled.is_ready() && is_repaired(context) {
                permit.as_mut().map(AnyPermit::renew);
            }
            polled.map(Some)
        });
        match timeout(left, until_repaired).await {
            Ok(Some(value)) => return Some(value),
            Ok(None) => {
                permit.as_mut().map(AnyPermit::renew);
                left = time.limit;
            }
            Err(_) => {
                left = time.repair_limit.saturating_sub(begun.elapsed());
                if left.is_zero() || !probe.is_some_and(Probe::is_repairing) {
                    return None;
                }
            }
        }
    }
}
