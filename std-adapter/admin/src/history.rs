//! The timeline, as it is requested.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::response::Problem;
use super::shown::Shown;
use super::status::{check, contains, usual_limit};
use super::timeline::Event;

/// Which transitions are requested, newest first.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Query {
    of: Option<String>,
    key: Option<String>,
    #[serde(default)]
    search: String,
    /// With smaller numbers than this.
    before: Option<u64>,
    #[serde(default = "usual_limit")]
    limit: usize,
}

/// How many are examined under one lock.
const AT_ONCE: usize = 256;

impl Query {
    pub(super) fn check(&self) -> Result<(), Problem> {
        check(self.limit, "before", &self.search)
    }

    fn wants(&self, event: &Event, search: &str) -> bool {
        let subject = &event.subject;
        let key = subject.key.as_deref();
        self.of.as_deref().is_none_or(|of| of == &*subject.of)
            && self.key.as_deref().is_none_or(|wanted| key == Some(wanted))
            && (contains(&subject.of, search) || contains(key.unwrap_or_default(), search))
    }
}

#[derive(Debug, Serialize)]
pub(super) struct History {
    /// Differs from process to process: the numbers of another process mean other events.
    run: u32,
    events: Vec<Arc<Event>>,
    /// Whether older matching ones are kept.
    has_more: bool,
}

pub(super) fn read(shown: &Shown, query: &Query) -> History {
    let search = query.search.to_lowercase();
    let mut events = Vec::new();
    let mut before = query.before.unwrap_or(u64::MAX);
    // One extra shows that there are more.
    while events.len() <= query.limit {
        let mut older = shown.timeline.before(before, AT_ONCE);
        let Some(oldest) = older.last() else { break };
        before = oldest.number;
        older.retain(|event| query.wants(event, &search));
        events.append(&mut older);
    }
    let has_more = events.len() > query.limit;
    events.truncate(query.limit);
    History {
        run: shown.timeline.run(),
        events,
        has_more,
    }
}
