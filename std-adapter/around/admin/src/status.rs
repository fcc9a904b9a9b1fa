// SPDX-License-Identifier: MIT OR Apache-2.0
//! The present states.

use std::sync::Arc;
use std::time::SystemTime;

use atomic_breaker_server::{Snapshot, State};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::response::Problem;
use super::source::{SeenBreaker, ShownSource, Source};
use super::timeline::{LastKnown, Rejections, Subject, TimelineEvent, is_down, unix_ms};
use super::{Admin, Operator};

/// The breakers that are requested.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StatusQuery {
    /// The name of the only registry or breaker to look at.
    of: Option<String>,
    /// The text to find in the name or key, in upper or lower case.
    #[serde(default)]
    search: String,
    /// The only state to look for.
    state: Option<State>,
    #[serde(default)]
    order: Order,
    #[serde(default)]
    offset: usize,
    #[serde(default = "usual_limit")]
    limit: usize,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Order {
    /// Breakers that need attention come first.
    #[default]
    State,
    Key,
}

pub(super) const fn usual_limit() -> usize {
    100
}

const MOST: usize = 1_000;
const MOST_SEARCHED: usize = 256;

/// Checks that a request asks for no more than one may have at once; the rest is read with this parameter.
pub(super) fn check(limit: usize, rest: &str, search: &str) -> Result<(), Problem> {
    let error = if !(1..=MOST).contains(&limit) {
        format!("limit must be from 1 to 1000: read the rest with {rest}")
    } else if search.len() > MOST_SEARCHED {
        "search must be at most 256 bytes".to_owned()
    } else {
        return Ok(());
    };
    Err(Problem::bad_request(error))
}

/// A breaker, and what is known of how it got into its state.
#[derive(Debug, Serialize)]
pub(super) struct StatusEntry {
    #[serde(flatten)]
    subject: Subject,
    /// The name that people know its key by.
    label: Option<Arc<str>>,
    #[serde(flatten)]
    seen: SeenBreaker,
    /// Its last transition, if that one led to its present state.
    since: Option<Arc<TimelineEvent>>,
    /// If it is down, since when, if that is known: milliseconds since 1970.
    down_since: Option<u64>,
    /// `true` if it was down before that, or for an unknown time.
    is_down_longer: bool,
    /// Unless it is closed or disabled, its rejections since it has opened, if they are known.
    rejections: Option<Value>,
    /// If a fleet holds it open, what that says.
    #[cfg(feature = "fleet")]
    fleet: Option<Value>,
}

impl StatusEntry {
    fn new(admin: &Admin, subject: Subject, seen: SeenBreaker) -> Self {
        let last = last(admin, &subject, &seen.snapshot);
        let outage = last.as_ref().and_then(|it| it.outage.as_ref());
        let rejections = last.as_ref().and_then(|it| it.rejections.as_ref());
        Self {
            rejections: rejections.map(|(_, rejections)| of_rejections(rejections)),
            #[cfg(feature = "fleet")]
            fleet: super::source::hold(&admin.fleets, &subject.of, subject.key.as_deref()),
            down_since: outage.map(|it| it.since),
            is_down_longer: outage.map_or(is_down(seen.snapshot.state()), |it| it.is_longer),
            since: last.map(|it| it.event),
            label: admin
                .labels
                .of(&subject.of, subject.key.as_deref())
                .cloned(),
            subject,
            seen,
        }
    }
}

fn of_rejections(rejections: &Rejections) -> Value {
    json!({
        "count": rejections.count(),
        "per_second": rejections.per_second(),
        "let_pass": rejections.let_pass(),
        "since": rejections.since,
    })
}

/// All states, in the order in which an operator wants to see them.
const STATES: [State; 6] = [
    State::ForcedOpen,
    State::Open,
    State::HalfOpen,
    State::Returning,
    State::Disabled,
    State::Closed,
];

fn rank(state: State) -> usize {
    let known = STATES.iter().position(|known| *known == state);
    known.unwrap_or(STATES.len())
}

/// A breaker, with what comes before its key in the order: how urgent its state is, and its source.
type StatusRow = ((usize, usize), Subject, SeenBreaker);

/// Looks at everything, and returns what is requested, and how many match the search in each state.
fn rows(admin: &Admin, query: &StatusQuery) -> (Vec<StatusRow>, Vec<Value>) {
    let search = query.search.to_lowercase();
    let mut counts = [0; STATES.len() + 1];
    let mut rows = Vec::new();
    for (index, ShownSource { name, source }) in admin.sources.iter().enumerate() {
        if query.of.as_deref().is_some_and(|of| *of != **name) {
            continue;
        }
        let is_named_so = contains(name, &search);
        source.visit(&mut |key, seen| {
            let is_labelled_so = || {
                let label = admin.labels.of(name, key);
                label.is_some_and(|label| contains(label, &search))
            };
            if !is_named_so && !contains(key.unwrap_or_default(), &search) && !is_labelled_so() {
                return;
            }
            let state = seen.snapshot.state();
            counts[rank(state)] += 1;
            if query.state.is_none_or(|wanted| wanted == state) {
                let rank = match query.order {
                    Order::State => rank(state),
                    Order::Key => 0,
                };
                rows.push(((rank, index), Subject::new(name, key), seen));
            }
        });
    }
    rows.sort_unstable_by(|(a, a_subject, _), (b, b_subject, _)| {
        a.cmp(b).then_with(|| a_subject.key.cmp(&b_subject.key))
    });
    let counts = STATES.iter().zip(counts);
    let counts = counts.map(|(state, count)| json!({ "state": state, "count": count }));
    (rows, counts.collect())
}

#[derive(Debug, Serialize)]
pub(super) struct StatusPage {
    #[serde(flatten)]
    head: Value,
    entries: Vec<StatusEntry>,
}

pub(super) fn read(
    admin: &Admin,
    operator: &Operator,
    query: &StatusQuery,
) -> Result<StatusPage, Problem> {
    check(query.limit, "offset", &query.search)?;
    let (rows, counts) = rows(admin, query);
    let matching = rows.len();
    let page = rows.into_iter().skip(query.offset).take(query.limit);
    let entries = page.map(|(_, subject, seen)| StatusEntry::new(admin, subject, seen));
    let recorded = admin.timeline.names();
    let sources = admin.sources.iter().map(|ShownSource { name, source }| {
        let mut head = source.head();
        head["name"] = json!(name);
        head["is_recorded"] = json!(recorded.contains(name));
        head
    });
    #[cfg_attr(not(any(feature = "fleet", feature = "steps")), expect(unused_mut))]
    let mut head = json!({
        "title": admin.title,
        "instance": admin.instance,
        "runbook": admin.runbook,
        "operator": operator.name(),
        "may_change": operator.may_change(),
        "at": unix_ms(SystemTime::now()),
        "sources": sources.collect::<Vec<_>>(),
        "states": counts,
        "matching": matching,
        "offset": query.offset,
    });
    #[cfg(feature = "fleet")]
    {
        head["fleets"] = admin.fleets.iter().map(super::source::fleet).collect();
    }
    #[cfg(feature = "steps")]
    {
        head["steps"] = admin.steps.iter().map(|steps| steps.head()).collect();
    }
    let entries = entries.collect();
    Ok(StatusPage { head, entries })
}

/// Returns whether a text contains another one, given in lower case.
pub(super) fn contains(text: &str, search: &str) -> bool {
    search.is_empty() || text.contains(search) || text.to_lowercase().contains(search)
}

/// The transition that began its present epoch, and the outage if it is down. No other transition tells since when it
/// has been in its state.
pub(super) fn last(admin: &Admin, subject: &Subject, now: &Snapshot) -> Option<LastKnown> {
    let last = admin.timeline.last_of(subject)?;
    let made = last.event.transition()?;
    (made.epoch == now.epoch() && made.to == now.entered()).then_some(last)
}

/// The entry of a breaker after it was changed.
pub(super) fn entry(admin: &Admin, subject: &Subject, source: &dyn Source) -> Option<StatusEntry> {
    let mut found = None;
    source.visit(&mut |key, seen| {
        if key == subject.key.as_deref() {
            found = Some(seen);
        }
    });
    Some(StatusEntry::new(admin, subject.clone(), found?))
}

/// The breaker or registry whose rules are requested.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RulesOf {
    of: String,
    key: Option<String>,
}

pub(super) fn rules(admin: &Admin, _: &Operator, query: &RulesOf) -> Result<Value, Problem> {
    let source = admin.source_of(&query.of)?;
    let rules = source.source.rules(query.key.as_deref())?;
    Ok(json!({ "rules": rules }))
}
