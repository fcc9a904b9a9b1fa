// SPDX-License-Identifier: MIT OR Apache-2.0
//! An event.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use atomic_breaker_server::{Cause, Config, State, Transition};
use serde::Serialize;

/// The subject of an event.
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
pub(crate) struct TimelineEvent {
    pub(crate) number: u64,
    /// Milliseconds since 1970.
    pub(crate) at: u64,
    #[serde(flatten)]
    pub(crate) subject: Subject,
    #[serde(flatten)]
    pub(crate) what: What,
    /// The operator, if one did it here.
    pub(crate) by: Option<Arc<str>>,
    /// The reason that the operator gave.
    pub(crate) reason: Option<Arc<str>>,
    #[serde(flatten)]
    pub(super) folded: Folded,
}

/// The changes for which one event stands: more than one if breakers probe again and again in an outage.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Folded {
    /// The number of changes.
    changes: u64,
    /// The number and time of the first.
    first: u64,
    first_at: u64,
}

impl Folded {
    /// The fold of one change, or of one more change than the event stands for that it continues.
    pub(super) fn after(before: Option<&TimelineEvent>, number: u64, at: u64) -> Self {
        match before {
            Some(TimelineEvent { folded, .. }) => Self {
                changes: folded.changes.saturating_add(1),
                ..*folded
            },
            None => Self {
                changes: 1,
                first: number,
                first_at: at,
            },
        }
    }
}

impl TimelineEvent {
    /// Returns whether it is one of those that repeat for as long as an outage lasts, and no operator
    /// did it.
    pub(super) fn is_probing(&self) -> bool {
        let repeats = |state| matches!(state, State::Open | State::HalfOpen);
        let made = self.transition().filter(|_| self.by.is_none());
        made.is_some_and(|it| repeats(it.from) && repeats(it.to) && it.cause != Cause::Restored)
    }

    pub(crate) const fn transition(&self) -> Option<&Transition> {
        match &self.what {
            What::Transition { made, .. } => Some(&made.transition),
            What::Change(_) => None,
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum What {
    Transition {
        #[serde(flatten)]
        made: MadeTransition,
        /// The text of the failure that caused it, if known.
        failure: Option<Box<str>>,
    },
    /// An operator's action that is not a transition.
    Change(Change),
}

/// A transition in the form in which it is shown.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct MadeTransition {
    #[serde(flatten)]
    pub(crate) transition: Transition,
    /// The cause in words.
    why: &'static str,
}

impl From<Transition> for MadeTransition {
    fn from(transition: Transition) -> Self {
        Self {
            transition,
            why: transition.cause.text(),
        }
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
