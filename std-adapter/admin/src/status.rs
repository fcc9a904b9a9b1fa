//! The present states.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use atomic_breaker::{Config, Snapshot, State, Transition};
use serde::{Deserialize, Serialize};

use super::Operator;
use super::named::Named;
use super::response::Problem;
use super::shown::Shown;
#[cfg(feature = "fleet")]
use super::source::OfFleet;
use super::source::{Head, Seen};
use super::text::{STATES, rank};
use super::timeline::{Made, Subject, Timeline, unix_ms};

/// Which breakers are requested.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Query {
    /// Of this registry or breaker only.
    of: Option<String>,
    /// Whose name or key contains this, in upper or lower case.
    #[serde(default)]
    search: String,
    /// In this state.
    state: Option<State>,
    #[serde(default)]
    order: Order,
    #[serde(default)]
    offset: usize,
    #[serde(default = "usual_limit")]
    limit: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Order {
    /// First those that need attention.
    #[default]
    State,
    Key,
}

pub(super) const fn usual_limit() -> usize {
    100
}

const MOST: usize = 1_000;
const MOST_SEARCHED: usize = 256;

impl Query {
    pub(super) fn check(&self) -> Result<(), Problem> {
        check(self.limit, "offset", &self.search)
    }
}

/// Whether a request asks for no more than one may have at once; the rest is read with this parameter.
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

#[derive(Debug, Serialize)]
pub(super) struct Status<'a> {
    title: &'a str,
    operator: &'a str,
    may_change: bool,
    /// Milliseconds since 1970, by the clock of the server.
    at: u64,
    sources: Vec<OfSource<'a>>,
    /// How many there are in each state, among those that match the search.
    states: Vec<Count>,
    /// How many match.
    matching: usize,
    offset: usize,
    entries: Vec<Entry>,
    #[cfg(feature = "fleet")]
    fleets: Vec<OfFleet<'a>>,
    #[cfg(feature = "steps")]
    steps: Vec<super::source::JobsHead<'a>>,
}

#[derive(Debug, Serialize)]
struct OfSource<'a> {
    name: &'a str,
    #[serde(flatten)]
    head: Head,
    /// Whether a recorder was given to it.
    is_recorded: bool,
}

#[derive(Debug, Serialize)]
struct Count {
    state: State,
    count: usize,
}

/// A breaker, and what is known of how it got into its state.
#[derive(Debug, Serialize)]
pub(super) struct Entry {
    #[serde(flatten)]
    subject: Subject,
    #[serde(flatten)]
    snapshot: Snapshot,
    has_own_rules: bool,
    last_failure: Option<Failure>,
    /// Its last transition, if that one led to its present state.
    since: Option<Since>,
}

#[derive(Debug, Serialize)]
struct Failure {
    text: Box<str>,
    at: u64,
}

#[derive(Debug, Serialize)]
pub(super) struct Since {
    at: u64,
    #[serde(flatten)]
    made: Made,
    by: Option<Arc<str>>,
}

impl fmt::Display for Since {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.made.transition)?;
        match &self.by {
            Some(by) => write!(f, ", by {by}"),
            None => Ok(()),
        }
    }
}

/// A breaker that was looked at.
struct Row {
    source: usize,
    subject: Subject,
    seen: Seen,
}

/// Looks at everything, and returns what is requested.
pub(super) fn read<'a>(shown: &'a Shown, query: &Query, operator: &'a Operator) -> Status<'a> {
    let (mut rows, states) = rows(shown, query);
    rows.sort_unstable_by(|a, b| {
        let by_state = match query.order {
            Order::State => rank(a.seen.snapshot.state()).cmp(&rank(b.seen.snapshot.state())),
            Order::Key => Ordering::Equal,
        };
        let by_key = || a.subject.key.cmp(&b.subject.key);
        by_state.then(a.source.cmp(&b.source)).then_with(by_key)
    });
    let matching = rows.len();
    let page = rows.into_iter().skip(query.offset).take(query.limit);
    let recorded = shown.timeline.names();
    let sources = shown.sources.iter().map(|source| OfSource {
        name: &source.name,
        head: source.it.head(),
        is_recorded: recorded.contains(&source.name),
    });
    Status {
        title: &shown.title,
        operator: operator.name(),
        may_change: operator.may_change(),
        at: unix_ms(SystemTime::now()),
        sources: sources.collect(),
        states,
        matching,
        offset: query.offset,
        entries: page.map(|row| Entry::new(&shown.timeline, row)).collect(),
        #[cfg(feature = "fleet")]
        fleets: shown.fleets.iter().map(OfFleet::new).collect(),
        #[cfg(feature = "steps")]
        steps: shown
            .steps
            .iter()
            .map(super::source::JobsHead::new)
            .collect(),
    }
}

fn rows(shown: &Shown, query: &Query) -> (Vec<Row>, Vec<Count>) {
    let search = query.search.to_lowercase();
    let mut rows = Vec::new();
    let mut counts = [0; STATES.len() + 1];
    for (index, source) in shown.sources.iter().enumerate() {
        if query.of.as_deref().is_some_and(|of| *of != *source.name) {
            continue;
        }
        let is_named_so = contains(&source.name, &search);
        source.it.visit(&mut |key, seen| {
            if !is_named_so && !contains(key.unwrap_or_default(), &search) {
                return;
            }
            let state = seen.snapshot.state();
            counts[rank(state)] += 1;
            if query.state.is_none_or(|wanted| wanted == state) {
                rows.push(Row {
                    source: index,
                    subject: Subject::new(&source.name, key),
                    seen,
                });
            }
        });
    }
    let states = STATES.into_iter().zip(counts);
    let states = states.map(|(state, count)| Count { state, count });
    (rows, states.collect())
}

/// Whether a text contains another one, given in lower case.
pub(super) fn contains(text: &str, search: &str) -> bool {
    search.is_empty() || text.contains(search) || text.to_lowercase().contains(search)
}

impl Entry {
    fn new(timeline: &Timeline, Row { subject, seen, .. }: Row) -> Self {
        Self {
            since: since(timeline, &subject, &seen.snapshot),
            subject,
            snapshot: seen.snapshot,
            has_own_rules: seen.has_own_rules,
            last_failure: seen.last_failure.map(|failure| Failure {
                text: failure.text.clone(),
                at: unix_ms(failure.at),
            }),
        }
    }
}

/// The transition that began its present epoch. No other tells since when it has been in its state.
pub(super) fn since(timeline: &Timeline, subject: &Subject, now: &Snapshot) -> Option<Since> {
    let event = timeline.last_of(subject)?;
    let made = event.transition()?;
    let Transition { epoch, to, .. } = made.transition;
    (epoch == now.epoch() && to == now.state()).then(|| Since {
        at: event.at,
        made: *made,
        by: event.by.clone(),
    })
}

/// One breaker, after it was changed.
pub(super) fn entry(shown: &Shown, source: usize, wanted: Option<&str>) -> Option<Entry> {
    let Named { name, it } = &shown.sources[source];
    let mut found = None;
    it.visit(&mut |key, seen| {
        if key == wanted {
            let subject = Subject::new(name, key);
            found = Some(Row {
                source,
                subject,
                seen,
            });
        }
    });
    Some(Entry::new(&shown.timeline, found?))
}

/// The breaker or registry whose rules are requested.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RulesOf {
    of: String,
    key: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct Rules {
    rules: Config,
}

impl RulesOf {
    pub(super) fn read(&self, shown: &Shown) -> Result<Rules, Problem> {
        let source = &shown.sources[shown.source(&self.of)?];
        let rules = source.it.rules(self.key.as_deref())?;
        Ok(Rules { rules })
    }
}
