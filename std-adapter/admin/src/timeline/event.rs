//! An event.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use atomic_breaker::{Cause, Config, State, Transition};
use serde::{Serialize, Serializer};

/// What an event is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub(crate) struct Subject {
    /// The registry, or the breaker.
    pub(crate) of: Arc<str>,
    /// The key, for a registry.
    pub(crate) key: Option<Arc<str>>,
}

impl Subject {
    pub(crate) fn new(of: &Arc<str>, key: Option<&str>) -> Self {
        Self {
            of: Arc::clone(of),
            key: key.map(Into::into),
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct Event {
    pub(crate) number: u64,
    #[serde(serialize_with = "as_unix_ms")]
    pub(crate) at: SystemTime,
    #[serde(flatten)]
    pub(crate) subject: Subject,
    #[serde(flatten)]
    pub(crate) what: What,
    /// The operator, if one did it here.
    pub(crate) by: Option<Arc<str>>,
}

impl Event {
    pub(crate) const fn transition(&self) -> Option<&Transition> {
        match &self.what {
            What::Transition {
                made: Made(made), ..
            } => Some(made),
            What::Change(_) => None,
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum What {
    Transition {
        #[serde(flatten)]
        made: Made,
        /// The text of the failure that caused it, if known.
        failure: Option<Box<str>>,
    },
    /// An operator's action that is not a transition.
    Change(Change),
}

/// A transition in the form in which it is shown.
#[derive(Debug)]
pub(crate) struct Made(pub(crate) Transition);

impl Serialize for Made {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shown {
            from: State,
            to: State,
            cause: Cause,
            why: &'static str,
            open_for_ms: Option<u32>,
            trips: u8,
            epoch: u16,
        }
        let Self(made) = self;
        let shown = Shown {
            from: made.from,
            to: made.to,
            cause: made.cause,
            why: made.cause.text(),
            open_for_ms: made.open_for().map(|_| made.open_for_ms),
            trips: made.trips,
            epoch: made.epoch,
        };
        shown.serialize(serializer)
    }
}

#[derive(Debug, Serialize)]
#[serde(tag = "change", rename_all = "kebab-case")]
pub(crate) enum Change {
    Rules(Rules),
    OwnRulesCleared(Rules),
    Enforcement { old_percent: u8, new_percent: u8 },
}

/// The rules before and after.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Rules {
    pub(crate) old: Config,
    pub(crate) new: Config,
}

/// Milliseconds since 1970; 0 before.
pub(crate) fn unix_ms(at: SystemTime) -> u64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn as_unix_ms<S: Serializer>(at: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(unix_ms(*at))
}
