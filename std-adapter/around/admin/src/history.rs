// SPDX-License-Identifier: MIT OR Apache-2.0
//! The timeline, as it is requested.

use serde::Deserialize;
use serde_json::{Value, json};

use super::response::Problem;
use super::status::{check, contains, usual_limit};
use super::timeline::TimelineEvent;
use super::{Admin, Operator};

/// The transitions that are requested, newest first.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TimelineQuery {
    of: Option<String>,
    key: Option<String>,
    #[serde(default)]
    search: String,
    /// With smaller numbers than this.
    before: Option<u64>,
    #[serde(default = "usual_limit")]
    limit: usize,
}

/// The number of transitions that are examined under one lock.
const AT_ONCE: usize = 256;

impl TimelineQuery {
    fn wants(&self, event: &TimelineEvent, search: &str) -> bool {
        let subject = &event.subject;
        let key = subject.key.as_deref();
        self.of.as_deref().is_none_or(|of| of == &*subject.of)
            && self.key.as_deref().is_none_or(|wanted| key == Some(wanted))
            && (contains(&subject.of, search) || contains(key.unwrap_or_default(), search))
    }
}

pub(super) fn read(admin: &Admin, _: &Operator, query: &TimelineQuery) -> Result<Value, Problem> {
    check(query.limit, "before", &query.search)?;
    let search = query.search.to_lowercase();
    let mut events = Vec::new();
    let mut before = query.before.unwrap_or(u64::MAX);
    // One extra shows that there are more.
    while events.len() <= query.limit {
        let mut older = admin.timeline.before(before, AT_ONCE);
        let Some(oldest) = older.last() else { break };
        before = oldest.number;
        older.retain(|event| query.wants(event, &search));
        events.append(&mut older);
    }
    let has_more = events.len() > query.limit;
    events.truncate(query.limit);
    // Numbers of another run, of this process or another one, mean other events.
    Ok(json!({ "run": admin.timeline.run(), "events": events, "has_more": has_more }))
}
