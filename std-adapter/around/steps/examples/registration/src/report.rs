// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table, and whether everything went well.

use std::error::Error;
use std::path::Path;

use atomic_breaker_steps::{Counts, Status};

use super::events::Event;
use super::lives::{Doing, Lives};
use super::scene::{REGISTRATIONS, SERVICES};
use super::service;

pub(crate) struct Report {
    pub(crate) text: String,
    /// Conditions that must not occur.
    pub(crate) is_wrong: bool,
}

/// From all that was written down.
///
/// The ends of jobs are read from the store: a worker that is killed after it has saved does not note that.
pub(crate) fn of(
    folder: &Path,
    events: &[Event],
    lives: &Lives,
    counts: &Counts,
) -> Result<Report, Box<dyn Error>> {
    let (mut effects, mut repeated, mut twice) = (0, 0, 0);
    for (name, _) in SERVICES {
        let mut seen = std::collections::HashSet::new();
        for effect in service::read(&folder.join(format!("{name}.effects")))? {
            if effect.is_repeated {
                repeated += 1;
            } else {
                effects += 1;
                twice += u64::from(!seen.insert(effect.what));
            }
        }
    }
    let answered = |with: &str| {
        let answers = events.iter().filter_map(|event| event.is("answered"));
        answers
            .filter(|words| words.get(1).is_some_and(|word| word.starts_with(with)))
            .count()
    };
    let times = |what: &str| {
        events
            .iter()
            .filter(|event| event.is(what).is_some())
            .count()
    };
    let seconds = |doing: Doing| {
        let spans = lives.by_job.values().flat_map(|life| &life.spans);
        let of = spans.filter(|(.., each)| *each == doing);
        let us: u64 = of.map(|(from, until, _)| until.saturating_sub(*from)).sum();
        format!("{:.1} s", us as f64 / 1e6)
    };
    let welcome = answered("welcome") as u64;
    let (done, dead) = (counts.of(Status::Done), counts.of(Status::Dead));
    let rows = [
        ("registrations", REGISTRATIONS.to_string()),
        ("  done in the request", welcome.to_string()),
        (
            "  accepted, and done later",
            done.saturating_sub(welcome).to_string(),
        ),
        ("  rejected for good, by a service", dead.to_string()),
        ("people told", times("told").to_string()),
        ("workers killed", times("killed").to_string()),
        ("tries of steps", lives.tries.to_string()),
        ("  failed", lives.failed.to_string()),
        (
            "  cut off: their worker was killed",
            lives.cut_off.to_string(),
        ),
        (
            "rejections by breakers, none of which cost a try",
            times("rejected").to_string(),
        ),
        ("all jobs together", String::new()),
        ("  paused until their next try", seconds(Doing::Pauses)),
        ("  waited for a lane", seconds(Doing::Waits)),
        (
            "  waited because their worker was killed",
            seconds(Doing::Lost),
        ),
        ("effects at the services", effects.to_string()),
        ("  repeated requests for them", repeated.to_string()),
        ("  effects done twice", twice.to_string()),
        ("steps saved", lives.saved.to_string()),
        ("  steps saved twice", lives.saved_twice.to_string()),
    ];
    let mut text = String::new();
    for (name, value) in rows {
        text += format!("{name:<52}{value:>10}").trim_end();
        text += "\n";
    }
    Ok(Report {
        text,
        is_wrong: twice > 0 || lives.saved_twice > 0 || done + dead != REGISTRATIONS,
    })
}
