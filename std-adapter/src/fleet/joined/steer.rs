//! What the fleet does to a breaker of this instance.

use std::cell::Cell;
use std::time::Duration;

use atomic_breaker::{AnyBreaker, BitsOf, Config, Rules, State, Transition};

thread_local! {
    /// Whether what happens to a breaker on this thread now is done by the fleet.
    static IS_OURS: Cell<bool> = const { Cell::new(false) };
}

/// Whether a transition that is being told was made by the fleet itself.
pub(super) fn is_ours() -> bool {
    IS_OURS.get()
}

/// Marks what is done on this thread as the fleet's own, also when an observer panics.
struct Ours;

impl Ours {
    fn begin() -> Self {
        IS_OURS.set(true);
        Self
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        IS_OURS.set(false);
    }
}

/// A breaker, as the fleet handles it.
pub(super) trait Steer: Send {
    fn rules(&self) -> Config;
    /// A probe is in flight, or one of several has succeeded.
    fn is_probing(&self) -> bool;
    /// Open for exactly so long, unless for longer already.
    fn trip(&self, for_ms: u64) -> Option<Transition>;
    fn extend(&self, for_ms: u64) -> Option<Transition>;
    fn probe(&self) -> Option<Transition>;
    fn close(&self) -> Option<Transition>;
}

impl<B: AnyBreaker + Send> Steer for B {
    fn rules(&self) -> Config {
        *self.as_breaker().config()
    }

    fn is_probing(&self) -> bool {
        let seen = self.as_breaker().snapshot();
        seen.probes_in_flight() > 0 || seen.successes() > 0
    }

    /// By rules whose open time is next to nothing, as those of the breaker would lengthen it.
    fn trip(&self, for_ms: u64) -> Option<Transition> {
        let _ours = Ours::begin();
        let brief = Config::new().open_for(Duration::from_millis(1));
        let rules = Rules::<BitsOf<B>>::try_new(brief).ok()?;
        let breaker = self.as_breaker().with_rules(rules);
        breaker.trip_for(Duration::from_millis(for_ms))
    }

    fn extend(&self, for_ms: u64) -> Option<Transition> {
        let is_open = self.as_breaker().state() == State::Open;
        is_open.then(|| self.trip(for_ms)).flatten()
    }

    fn probe(&self) -> Option<Transition> {
        let _ours = Ours::begin();
        self.as_breaker().probe_now()
    }

    /// By as many successes as its rules want, so that traffic returns gradually where they say so.
    fn close(&self) -> Option<Transition> {
        let _ours = Ours::begin();
        let breaker = self.as_breaker();
        let mut last = breaker.probe_now()?;
        for _ in 0..breaker.config().get_close_after() {
            match breaker.acquire() {
                Ok(permit) if permit.is_probe() => last = permit.success().unwrap_or(last),
                // A real call was faster: it decides.
                _ => break,
            }
        }
        Some(last)
    }
}
