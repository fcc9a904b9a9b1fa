// SPDX-License-Identifier: MIT OR Apache-2.0
//! Changes to what is shown.

mod request;

pub(super) use request::ControlRequest;

use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_server::{Control, Enforcement, Snapshot, State, Transition, redact::printable};
use serde::Serialize;

use super::response::Problem;
use super::source::{ShownSource, Source};
use super::status::{self, StatusEntry};
use super::timeline::{Acting, By, Change, LastKnown, MadeTransition, Rules, Subject, What};
use super::{Admin, Operator, text};
use request::Verb;

/// The result.
#[derive(Debug, Default, Serialize)]
pub(super) struct Effect {
    /// `true` if anything is different now.
    changed: bool,
    /// In a few words.
    text: String,
    transition: Option<MadeTransition>,
    rules: Option<Rules>,
    /// The breaker afterwards.
    entry: Option<StatusEntry>,
}

/// Does what was requested. Runs on a thread that may block.
pub(super) fn obey(
    admin: &Admin,
    operator: &Operator,
    request: &ControlRequest,
) -> Result<Effect, Problem> {
    request.check()?;
    check_instance(admin, request)?;
    let ShownSource { name, source } = admin.source_of(&request.of)?;
    let changes = Changes {
        admin,
        source: source.as_ref(),
        subject: Subject::new(name, request.key.as_deref()),
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
    if request.key.is_some() || !source.has_keys() {
        done.entry = status::entry(admin, &changes.subject, source.as_ref());
    }
    Ok(done)
}

/// Behind a proxy, what one process showed may be commanded to another, whose breaker of that name is in the same epoch.
fn check_instance(admin: &Admin, request: &ControlRequest) -> Result<(), Problem> {
    match &request.instance {
        Some(wanted) if *wanted != admin.instance => Err(Problem::conflict(format!(
            "this is {:?}, and the command is for {wanted:?}: nothing was done. Requests to this address reach more than one \
             process: give each an address of its own",
            admin.instance
        ))),
        _ => Ok(()),
    }
}

struct Changes<'a> {
    admin: &'a Admin,
    source: &'a dyn Source,
    subject: Subject,
    operator: &'a Operator,
    request: &'a ControlRequest,
}

impl Changes<'_> {
    fn command(&self, verb: Verb) -> Result<Effect, Problem> {
        let mut done = Ok((None, State::Closed));
        let acting = self.acting();
        let commanded = self.source.command(self.key(), &mut |breaker| {
            done = self.give(verb, breaker);
        });
        let is_recorded = acting.end();
        commanded?;
        let (transition, before) = done?;
        let made = transition.map(MadeTransition::from);
        if let Some(made) = made.filter(|_| !is_recorded) {
            let failure = None;
            self.record(What::Transition { made, failure });
        }
        let name = text::of_command(verb);
        let text = match transition {
            Some(transition) => transition.to_string(),
            None if self.request.dry_run => {
                format!("{name} would be attempted: it is {before} now")
            }
            None if verb == Verb::Trip && before == State::Open => {
                "it is already open for longer".to_owned()
            }
            None => format!("{name} changes nothing while it is {before}"),
        };
        Ok(Effect {
            changed: made.is_some(),
            text,
            transition: made,
            ..Effect::default()
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
        let (state, epoch) = (now.state(), now.epoch());
        let mut error = format!(
            "it has changed since you looked, and nothing was done: it is {state} now, at epoch {epoch} instead of {seen}"
        );
        if let Some(LastKnown { event, .. }) = status::last(self.admin, &self.subject, now) {
            let transition = event.transition().map(Transition::to_string);
            let by = event.by.as_ref().map(|by| format!("by {by}"));
            let reason = event.reason.as_ref().map(|it| format!("because {it:?}"));
            for part in [transition, by, reason].into_iter().flatten() {
                error = format!("{error}, {part}");
            }
        }
        Problem::conflict(error + "; look again")
    }

    fn set_rules(&self) -> Result<Effect, Problem> {
        let missing = || Problem::unprocessable("set-rules needs rules");
        let new = self.request.rules.ok_or_else(missing)?;
        let dry = self.request.dry_run;
        let (old, is_change) = self.source.set_rules(self.key(), new, dry)?;
        let rules = Rules { old, new };
        let changed = is_change && !dry;
        if changed {
            self.record(What::Change(Change::Rules(rules)));
        }
        let whose = match self.key() {
            Some(_) => "the key",
            None if self.source.has_keys() => {
                "all keys without rules of their own or of their class"
            }
            None => "the breaker",
        };
        Ok(self.of_rules(rules, changed, &format!("the rules of {whose}")))
    }

    fn clear_rules(&self) -> Result<Effect, Problem> {
        let old = self.source.rules(self.key())?;
        let (new, is_cleared) = self.source.clear_rules(self.key(), self.request.dry_run)?;
        let rules = Rules { old, new };
        if is_cleared {
            self.record(What::Change(Change::OwnRulesCleared(rules)));
        }
        let what = "the rules of the key, which has none of its own,";
        Ok(self.of_rules(rules, is_cleared, what))
    }

    fn of_rules(&self, rules: Rules, changed: bool, what: &str) -> Effect {
        Effect {
            changed,
            text: format!("{what} {} as shown", self.are()),
            rules: Some(rules),
            ..Effect::default()
        }
    }

    fn enforce(&self) -> Result<Effect, Problem> {
        let missing =
            || Problem::unprocessable("enforce needs percent, from 0 (shadow mode) to 100");
        let new = self.request.percent.ok_or_else(missing)?;
        if self.key().is_some() {
            let error = "enforcement is for a whole registry: leave the key out";
            return Err(Problem::bad_request(error));
        }
        let Some(enforcement) = self.source.enforcement() else {
            let error = "a breaker alone has no shadow mode: build a Resource around it";
            return Err(Problem::conflict(error));
        };
        let old = enforcement.percent();
        // A dry run checks the number all the same.
        let none = Enforcement::new();
        let set = if self.request.dry_run {
            none.set_percent(new)
        } else {
            enforcement.set_percent(new)
        };
        set.map_err(|error| Problem::bad_request(error.to_string()))?;
        let changed = !self.request.dry_run && old != new;
        if changed {
            self.record(What::Change(Change::Enforcement {
                old_percent: old,
                new_percent: new,
            }));
        }
        let are = self.are();
        Ok(Effect {
            changed,
            text: format!("{new} % of the rejections {are} enforced; before: {old} %"),
            ..Effect::default()
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
        let by = By {
            operator: Arc::clone(&self.operator.name),
            reason: self.request.reason().map(Into::into),
        };
        Acting::begin(by, self.subject.clone())
    }

    /// Recorded here, where no recorder did it.
    fn record(&self, what: What) {
        let _acting = self.acting();
        let timeline = &self.admin.timeline;
        timeline.record(self.subject.clone(), what, None, None);
    }
}

fn log(operator: &Operator, request: &ControlRequest, done: &str) {
    let key = request.key.as_deref().map(printable);
    tracing::event!(
        target: "atomic_breaker::admin",
        tracing::Level::INFO,
        circuit_breaker.name = printable(&request.of),
        circuit_breaker.key = key,
        circuit_breaker.command = text::of_command(request.r#do),
        circuit_breaker.operator = printable(operator.name()),
        circuit_breaker.reason = request.reason().map(printable),
        circuit_breaker.dry_run = request.dry_run,
        "{done}"
    );
}
