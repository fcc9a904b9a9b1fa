//! Changes to what is shown.

mod request;

pub(super) use request::Request;

use std::iter;
use std::sync::Arc;
use std::time::Duration;

use atomic_breaker::{Config, Control, Snapshot, State, Transition};
use atomic_breaker_std::words::printable;
use axum::http::StatusCode;
use serde::Serialize;

use super::Operator;
use super::answer::Problem;
use super::builder::Shown;
use super::source::{Refused, Source};
use super::status::{self, Entry};
use super::timeline::{Acting, Change, Made, Subject, What};
use request::Command;

/// The result.
#[derive(Debug, Serialize)]
pub(super) struct Answer {
    /// Whether anything is different now.
    changed: bool,
    /// In a few words.
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    transition: Option<Made>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rules: Option<Rules>,
    /// The breaker afterwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<Entry>,
}

/// The rules before and after.
#[derive(Debug, Serialize)]
struct Rules {
    old: Config,
    new: Config,
}

/// Does what was requested. Runs on a thread that may block.
pub(super) fn obey(
    shown: &Shown,
    operator: &Operator,
    request: &Request,
) -> Result<Answer, Problem> {
    let known = shown
        .sources
        .iter()
        .position(|source| *source.name == *request.of);
    let Some(index) = known else {
        return Err(Problem::new(
            StatusCode::NOT_FOUND,
            format!(
                "nothing is shown under the name {:?}: the status lists what is",
                request.of
            ),
        ));
    };
    let changes = Changes {
        shown,
        source: shown.sources[index].it.as_ref(),
        subject: Subject {
            of: Arc::clone(&shown.sources[index].name),
            key: request.key.as_deref().map(Into::into),
        },
        operator,
        is_dry: request.dry_run,
    };
    let mut answer = match &request.command {
        Command::SetRules(rules) => changes.set_rules(*rules),
        Command::ClearRules => changes.clear_rules(),
        Command::Enforce(percent) => changes.enforce(*percent),
        command => changes.command(command, request.epoch),
    }?;
    log(operator, request, &answer.text);
    if request.is_of_one(shown.sources[index].it.head().has_keys()) {
        answer.entry = status::entry(shown, index, request.key.as_deref());
    }
    Ok(answer)
}

struct Changes<'a> {
    shown: &'a Shown,
    source: &'a dyn Source,
    subject: Subject,
    operator: &'a Operator,
    is_dry: bool,
}

impl Changes<'_> {
    fn command(&self, command: &Command, epoch: Option<u16>) -> Result<Answer, Problem> {
        let mut done = Ok((None, State::Closed));
        let acting = self.acting();
        let commanded = self
            .source
            .command(self.subject.key.as_deref(), &mut |breaker| {
                done = self.give(command, epoch, breaker);
            });
        let is_recorded = acting.end();
        commanded.map_err(problem)?;
        let (made, before) = done?;
        if let Some(made) = made.filter(|_| !is_recorded) {
            let failure = None;
            self.record(What::Transition {
                made: Made(made),
                failure,
            });
        }
        let text = match made {
            Some(made) => made.to_string(),
            None if matches!((command, before), (Command::Trip(_), State::Open))
                && !self.is_dry =>
            {
                "it is open for longer already".to_owned()
            }
            None if self.is_dry => format!("{} would be tried: it is {before} now", command.name()),
            None => format!("{} changes nothing while it is {before}", command.name()),
        };
        Ok(Answer {
            changed: made.is_some(),
            text,
            transition: made.map(Made),
            rules: None,
            entry: None,
        })
    }

    /// The transition, and the state before it.
    fn give(
        &self,
        command: &Command,
        epoch: Option<u16>,
        breaker: &dyn Control,
    ) -> Result<(Option<Transition>, State), Problem> {
        let before = breaker.snapshot();
        if let Some(seen) = epoch.filter(|seen| *seen != before.epoch()) {
            return Err(self.changed(seen, &before));
        }
        if self.is_dry {
            return Ok((None, before.state()));
        }
        let made = match command {
            Command::Trip(None) => breaker.trip(),
            Command::Trip(Some(ms)) => breaker.trip_for(Duration::from_millis((*ms).into())),
            Command::ForceOpen => breaker.force_open(),
            Command::Release => breaker.release(),
            Command::Reset => breaker.reset(),
            Command::Disable => breaker.disable(),
            Command::Enable => breaker.enable(),
            Command::ProbeNow => breaker.probe_now(),
            Command::SetRules(_) | Command::ClearRules | Command::Enforce(_) => None,
        };
        Ok((made, before.state()))
    }

    /// The error that shows its state now, and by whose action.
    fn changed(&self, seen: u16, now: &Snapshot) -> Problem {
        let timeline = &self.shown.timeline;
        let last = timeline.last_of(iter::once(&self.subject)).pop().flatten();
        let since = last.and_then(|event| status::since(&event, now));
        let since = since.map_or_else(String::new, |since| format!(", {since}"));
        let (state, epoch) = (now.state(), now.epoch());
        let error = format!(
            "it has changed since you looked, and nothing was done: it is {state} now, at epoch {epoch} instead of \
             {seen}{since}; look again"
        );
        Problem::new(StatusCode::CONFLICT, error)
    }

    fn set_rules(&self, new: Config) -> Result<Answer, Problem> {
        let key = self.subject.key.as_deref();
        self.source.check_rules(new).map_err(problem)?;
        let old = self.source.rules(key).map_err(problem)?;
        if !self.is_dry {
            self.source.set_rules(key, new).map_err(problem)?;
            self.record(What::Change(Change::Rules { old, new }));
        }
        let whose = match key {
            Some(_) => "the key",
            None if self.source.head().has_keys() => {
                "all keys without rules of their own or of their class"
            }
            None => "the breaker",
        };
        Ok(self.of_rules(old, new, &format!("the rules of {whose}")))
    }

    fn clear_rules(&self) -> Result<Answer, Problem> {
        let Some(key) = self.subject.key.as_deref() else {
            return Err(problem(Refused::KeyWanted(true)));
        };
        let old = self.source.rules(Some(key)).map_err(problem)?;
        let new = self.source.rules_without_own(key).map_err(problem)?;
        if !self.is_dry && self.source.clear_rules(key).map_err(problem)? {
            self.record(What::Change(Change::OwnRulesCleared { old, new }));
        }
        Ok(self.of_rules(old, new, "the rules of the key, which has none of its own"))
    }

    fn of_rules(&self, old: Config, new: Config, what: &str) -> Answer {
        let verb = if self.is_dry { "would be" } else { "are" };
        Answer {
            changed: !self.is_dry && old != new,
            text: format!("{what} {verb} as shown"),
            transition: None,
            rules: Some(Rules { old, new }),
            entry: None,
        }
    }

    fn enforce(&self, new: u8) -> Result<Answer, Problem> {
        if self.subject.key.is_some() {
            let error = "enforcement is that of a whole registry: leave the key out";
            return Err(Problem::new(StatusCode::BAD_REQUEST, error));
        }
        let Some(enforcement) = self.source.enforcement() else {
            return Err(Problem::new(
                StatusCode::CONFLICT,
                "a breaker alone has no shadow mode: build a Resource around it",
            ));
        };
        let old = enforcement.percent();
        if !self.is_dry && old != new {
            let set = enforcement.set_percent(new);
            set.map_err(|error| Problem::new(StatusCode::BAD_REQUEST, error.to_string()))?;
            self.record(What::Change(Change::Enforcement {
                old_percent: old,
                new_percent: new,
            }));
        }
        let verb = if self.is_dry { "would be" } else { "are" };
        Ok(Answer {
            changed: !self.is_dry && old != new,
            text: format!("{new} % of the rejections {verb} enforced; before: {old} %"),
            transition: None,
            rules: None,
            entry: None,
        })
    }

    fn acting(&self) -> Acting {
        Acting::begin(self.operator.shared_name(), Arc::clone(&self.subject.of))
    }

    /// Recorded here, where no recorder did it.
    fn record(&self, what: What) {
        let _acting = self.acting();
        self.shown.timeline.record(self.subject.clone(), what, None);
    }
}

pub(super) fn problem(refused: Refused) -> Problem {
    match refused {
        Refused::Absent => Problem::new(
            StatusCode::NOT_FOUND,
            "no such key has a slot: one that has never failed has none, and there is nothing to change",
        ),
        Refused::Ambiguous => Problem::new(
            StatusCode::CONFLICT,
            "several keys read the same, so none was changed: give keys other texts with Admin::registry_by",
        ),
        Refused::KeyWanted(true) => Problem::new(
            StatusCode::BAD_REQUEST,
            "a key is missing: name one of the registry's",
        ),
        Refused::KeyWanted(false) => Problem::new(
            StatusCode::BAD_REQUEST,
            "this is one breaker: leave the key out",
        ),
        Refused::FixedRules => Problem::new(
            StatusCode::CONFLICT,
            "the rules of this breaker are fixed: build it with build_adjustable to replace them while it is in use",
        ),
        Refused::Rules(error) => Problem::new(StatusCode::UNPROCESSABLE_ENTITY, error),
    }
}

fn log(operator: &Operator, request: &Request, text: &str) {
    let key = request.key.as_deref().map(printable);
    tracing::event!(
        target: "atomic_breaker::admin",
        tracing::Level::INFO,
        circuit_breaker.name = printable(&request.of),
        circuit_breaker.key = key,
        circuit_breaker.command = request.command.name(),
        circuit_breaker.operator = printable(operator.name()),
        circuit_breaker.dry_run = request.dry_run,
        "{text}"
    );
}
