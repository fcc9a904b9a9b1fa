// SPDX-License-Identifier: MIT OR Apache-2.0
//! Manual control.

use core::time::Duration;

use crate::breaker::{Adjustable, Breaker, LaterRules};
use crate::clock::Clock;
use crate::config::{AsRules, Config, ConfigError};
use crate::machine::{Command, Step};
use crate::number::ms;
use crate::observer::{Cause, Observer, Transition};
use crate::snapshot::Snapshot;
use crate::state::State;
use crate::tally::Tally;
use crate::word::Word;

/// Manual control: each command is one compare-and-swap and returns the transition that it caused. A transition begins
/// an epoch, so reports of calls that were under way change nothing, except that a `Retry-After` among them may still
/// move the deadline of the open time that has just begun. A command that does not apply changes nothing.
impl<C: Clock, W: Word, T: Tally, O: Observer, R: AsRules<W::Bits>> Breaker<C, W, T, O, R> {
    /// Opens for the configured time, as a failure would. On an open breaker that time starts over, but its deadline
    /// can only move later. Does nothing while forced open or disabled.
    pub fn trip(&self) -> Option<Transition> {
        self.obey(Command::Trip(0))
    }

    /// [`trip`](Self::trip) for at least this long (up to what the word holds: 24.8 days, 2¹⁴ ticks in a 32-bit word).
    /// A time demanded this way ends early only through another command, and not through
    /// [`probe_early`](Self::probe_early). If the current open time is longer, the same holds for the rest of it.
    pub fn trip_for(&self, at_least: Duration) -> Option<Transition> {
        self.obey(Command::Trip(ms(at_least)))
    }

    /// Rejects every call until [`release`](Self::release) or [`reset`](Self::reset). A disabled breaker is disabled
    /// again when it is released.
    pub fn force_open(&self) -> Option<Transition> {
        self.obey(Command::ForceOpen)
    }

    /// Ends [`force_open`](Self::force_open): the breaker becomes half-open, so that probes find out how the resource
    /// is, or disabled if it is disabled, too. Does nothing in other states.
    pub fn release(&self) -> Option<Transition> {
        self.obey(Command::Release)
    }

    /// Closes and clears every count, from any state.
    pub fn reset(&self) -> Option<Transition> {
        self.obey(Command::Reset)
    }

    /// Lets every call pass and learns nothing, until [`enable`](Self::enable) or [`reset`](Self::reset). A breaker
    /// that is forced open is forced open again when it is enabled.
    pub fn disable(&self) -> Option<Transition> {
        self.obey(Command::Disable)
    }

    /// Ends [`disable`](Self::disable): the breaker becomes closed, with every count cleared, or forced open if it is
    /// forced open, too. Does nothing in other states.
    pub fn enable(&self) -> Option<Transition> {
        self.obey(Command::Enable)
    }

    /// Ends the open time, even one that was demanded: the breaker is half-open from now on, and the next call is a
    /// probe. If it is half-open already, a new round begins: probes in flight are presumed lost, and the lease is the
    /// configured one again. Does nothing in other states.
    pub fn probe_now(&self) -> Option<Transition> {
        self.obey(Command::ProbeNow)
    }

    /// [`probe_now`](Self::probe_now) for an open breaker only, unless its open time was demanded by
    /// [`Failure::retry_after`](crate::Failure::retry_after) or [`trip_for`](Self::trip_for). For callers that know
    /// more than the clock, such as one that pings the resource meanwhile.
    pub fn probe_early(&self) -> Option<Transition> {
        self.obey(Command::ProbeEarly)
    }

    /// Frees the word for another resource, if there is nothing left to wait for: the breaker is closed, its open time,
    /// its lease or its return is over, or it is half-open with a free slot. The word is then fresh, in the next epoch,
    /// so earlier permits change nothing. Returns whether the word was freed; if not, nothing changes. Observers are
    /// not notified. For registries that evict what they need not remember.
    pub fn retire(&self) -> bool {
        let machine = self.machine();
        let applied = self.apply(|circuit, now| {
            let is_over =
                circuit.state() != State::Disabled && machine.wait(circuit, now.ms()).is_none();
            if is_over {
                Step::Transition(circuit.enter(State::Closed), Cause::Manual)
            } else {
                Step::Keep
            }
        });
        applied.is_transition()
    }

    fn obey(&self, command: Command) -> Option<Transition> {
        let machine = self.machine();
        let applied = self.apply(|circuit, now| machine.obey(circuit, command, now));
        self.notify(applied);
        applied.made(&self.clock)
    }
}

macro_rules! control {
    ($(#[$meta:meta])* $($name:ident($($argument:ident: $kind:ty)?) -> $result:ty;)*) => {
        $(#[$meta])*
        pub trait Control {
            $(
                #[doc = concat!("[`Breaker::", stringify!($name), "`].")]
                fn $name(&self $(, $argument: $kind)?) -> $result;
            )*
        }

        impl<C: Clock, W: Word, T: Tally, O: Observer, R: AsRules<W::Bits>> Control
            for Breaker<C, W, T, O, R>
        {
            $(fn $name(&self $(, $argument: $kind)?) -> $result {
                Breaker::$name(self $(, $argument)?)
            })*
        }
    };
}

control! {
    /// An operator's view and commands, for breakers of any parts behind one pointer: for dashboards and maps of
    /// breakers.
    ///
    /// ```
    /// use atomic_breaker::{Breaker, Config, Control, LastCalls, ManualClock, Ratio, State};
    ///
    /// let clock = ManualClock::new();
    /// let radio = Breaker::new(Config::new(), &clock);
    /// let config = Config::new().failure_ratio(Ratio::percent(50));
    /// let modem = Breaker::builder(config, &clock).last_calls(LastCalls::new()).build();
    ///
    /// let all: [(&str, &dyn Control); 2] = [("radio", &radio), ("modem", &modem)];
    /// for (name, breaker) in all {
    ///     breaker.force_open();
    ///     println!("{name} is {}", breaker.state());
    /// }
    /// assert_eq!(modem.state(), State::ForcedOpen);
    /// ```
    snapshot() -> Snapshot;
    state() -> State;
    trip() -> Option<Transition>;
    trip_for(at_least: Duration) -> Option<Transition>;
    force_open() -> Option<Transition>;
    release() -> Option<Transition>;
    reset() -> Option<Transition>;
    disable() -> Option<Transition>;
    enable() -> Option<Transition>;
    probe_now() -> Option<Transition>;
    probe_early() -> Option<Transition>;
}

/// [`Control`] of breakers whose rules can be replaced, behind one pointer: for a map of breakers whose rules come
/// from one file.
pub trait Adjust: Control {
    /// [`Breaker::config`], as it is now.
    fn config(&self) -> Config;

    /// [`Breaker::check_config`].
    fn check_config(&self, config: Config) -> Result<(), ConfigError>;

    /// [`Breaker::set_config`].
    fn set_config(&self, config: Config) -> Result<(), ConfigError>;
}

impl<C: Clock, W: Word, T: Tally, O: Observer, L: LaterRules<W::Bits>> Adjust
    for Breaker<C, W, T, O, Adjustable<L, W::Bits>>
{
    fn config(&self) -> Config {
        *Breaker::config(self)
    }

    fn check_config(&self, config: Config) -> Result<(), ConfigError> {
        Breaker::check_config(self, config)
    }

    fn set_config(&self, config: Config) -> Result<(), ConfigError> {
        Breaker::set_config(self, config)
    }
}
