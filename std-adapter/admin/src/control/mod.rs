//! Changes to what is shown.

mod request;

pub(super) use request::Request;

use std::sync::Arc;
use std::time::Duration;

use atomic_breaker::{Control, Snapshot, State, Transition};
use atomic_breaker_registry::words::printable;
use serde::Serialize;

use super::Operator;
use super::response::Problem;
use super::shown::Shown;
use super::source::Source;
use super::status::{self, Entry};
use super::timeline::{Acting, Change, Made, Rules, Subject, What};
use request::Verb;

/// The result.
#[derive(Debug, Default, Serialize)]
pub(super) struct Done {
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

/// Does what was requested. Runs on a thread that may block.
pub(super) fn obey(shown: &Shown, operator: &Operator, request: &Request) -> Result<Done, Problem> {
    request.check()?;
    let index = shown.source(&request.of)?;
    let source = &shown.sources[index];
    let changes = Changes {
        shown,
        source: source.it.as_ref(),
        subject: Subject::new(&source.name, request.key.as_deref()),
        operator,
        request,
    };
    let mut done = match request.r#do {
        Verb::SetRules => changes.set_rules(),
        Verb::ClearRules => changes.clear_rules(),
        Verb::Enforce => changes.enforce(),
        verb => changes.command(verb),
    }?;
    log(operator, request, &done.text);
    if request.key.is_some() || !source.it.head().has_keys() {
        done.entry = status::entry(shown, index, request.key.as_deref());
    }
    Ok(done)
}

struct Changes<'a> {
    shown: &'a Shown,
    source: &'a dyn Source,
    subject: Subject,
    operator: &'a Operator,
    request: &'a Request,
}

impl Changes<'_> {
    fn command(&self, verb: Verb) -> Result<Done, Problem> {
        let mut done = Ok((None, State::Closed));
        let acting = self.acting();
        let commanded = self.source.command(self.key(), &mut |breaker| {
            done = self.give(verb, breaker);
        });
        let is_recorded = acting.end();
        commanded?;
        let (made, before) = done?;
        if let Some(made) = made.filter(|_| !is_recorded) {
            let (made, failure) = (made.into(), None);
            self.record(What::Transition { made, failure });
        }
        let (name, is_dry) = (verb.name(), self.request.dry_run);
        let text = match made {
            Some(made) => made.to_string(),
            None if is_dry => format!("{name} would be tried: it is {before} now"),
            None if verb == Verb::Trip && before == State::Open => {
                "it is already open for longer".to_owned()
            }
            None => format!("{name} changes nothing while it is {before}"),
        };
        Ok(Done {
            changed: made.is_some(),
            text,
            transition: made.map(Made::from),
            ..Done::default()
        })
    }

    /// The transition, and the state before it.
    fn give(
        &self,
        verb: Verb,
        breaker: &dyn Control,
    ) -> Result<(Option<Transition>, State), Problem> {
        let before = breaker.snapshot();
        if let Some(seen) = self.request.epoch.filter(|seen| *seen != before.epoch()) {
            return Err(self.changed(seen, &before));
        }
        if self.request.dry_run {
            return Ok((None, before.state()));
        }
        let made = match verb {
            Verb::Trip => match self.request.for_ms {
                Some(ms) => breaker.trip_for(Duration::from_millis(ms.into())),
                None => breaker.trip(),
            },
            Verb::ForceOpen => breaker.force_open(),
            Verb::Release => breaker.release(),
            Verb::Reset => breaker.reset(),
            Verb::Disable => breaker.disable(),
            Verb::Enable => breaker.enable(),
            Verb::ProbeNow => breaker.probe_now(),
            Verb::SetRules | Verb::ClearRules | Verb::Enforce => None,
        };
        Ok((made, before.state()))
    }

    /// The error that shows its state now, and who changed it.
    fn changed(&self, seen: u16, now: &Snapshot) -> Problem {
        let since = status::since(&self.shown.timeline, &self.subject, now);
        let since = since.map_or_else(String::new, |since| format!(", {since}"));
        let (state, epoch) = (now.state(), now.epoch());
        Problem::conflict(format!(
            "it has changed since you looked, and nothing was done: it is {state} now, at epoch {epoch} instead of \
             {seen}{since}; look again"
        ))
    }

    fn set_rules(&self) -> Result<Done, Problem> {
        let missing = || Problem::unprocessable("set-rules needs rules");
        let new = self.request.rules.ok_or_else(missing)?;
        let old = self
            .source
            .set_rules(self.key(), new, self.request.dry_run)?;
        let rules = Rules { old, new };
        if !self.request.dry_run {
            self.record(What::Change(Change::Rules(rules)));
        }
        let whose = match self.key() {
            Some(_) => "the key",
            None if self.source.head().has_keys() => {
                "all keys without rules of their own or of their class"
            }
            None => "the breaker",
        };
        Ok(self.of_rules(rules, &format!("the rules of {whose}")))
    }

    fn clear_rules(&self) -> Result<Done, Problem> {
        let old = self.source.rules(self.key())?;
        let (new, is_cleared) = self.source.clear_rules(self.key(), self.request.dry_run)?;
        let rules = Rules { old, new };
        if is_cleared {
            self.record(What::Change(Change::OwnRulesCleared(rules)));
        }
        Ok(self.of_rules(rules, "the rules of the key, which has none of its own"))
    }

    fn of_rules(&self, rules: Rules, what: &str) -> Done {
        Done {
            changed: !self.request.dry_run && rules.old != rules.new,
            text: format!("{what} {} as shown", self.are()),
            rules: Some(rules),
            ..Done::default()
        }
    }

    fn enforce(&self) -> Result<Done, Problem> {
        let missing =
            || Problem::unprocessable("enforce needs percent, from 0 (shadow mode) to 100");
        let new = self.request.percent.ok_or_else(missing)?;
        if self.key().is_some() {
            let error = "enforcement is that of a whole registry: leave the key out";
            return Err(Problem::bad_request(error));
        }
        let Some(enforcement) = self.source.enforcement() else {
            let error = "a breaker alone has no shadow mode: build a Resource around it";
            return Err(Problem::conflict(error));
        };
        let old = enforcement.percent();
        let changed = !self.request.dry_run && old != new;
        if changed {
            let set = enforcement.set_percent(new);
            set.map_err(|error| Problem::bad_request(error.to_string()))?;
            self.record(What::Change(Change::Enforcement {
                old_percent: old,
                new_percent: new,
            }));
        }
        let are = self.are();
        Ok(Done {
            changed,
            text: format!("{new} % of the rejections {are} enforced; before: {old} %"),
            ..Done::default()
        })
    }

    fn key(&self) -> Option<&str> {
        self.request.key.as_deref()
    }

    const fn are(&self) -> &'static str {
        if self.request.dry_run {
            "would be"
        } else {
            "are"
        }
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

fn log(operator: &Operator, request: &Request, text: &str) {
    let key = request.key.as_deref().map(printable);
    tracing::event!(
        target: "atomic_breaker::admin",
        tracing::Level::INFO,
        circuit_breaker.name = printable(&request.of),
        circuit_breaker.key = key,
        circuit_breaker.command = request.r#do.name(),
        circuit_breaker.operator = printable(operator.name()),
        circuit_breaker.dry_run = request.dry_run,
        "{text}"
    );
}
