// SPDX-License-Identifier: MIT OR Apache-2.0
//! The meaning of the figures: the savings by the settings, and the advice where there are none.

use std::io::Write;
use std::time::Duration;

use anyhow::Result;
use atomic_breaker_tune::{CallLog, Incident, LoggedCall, OutageCost, Outcome, Recommendation};

use crate::words::{number, real, time};

/// In outages of which the settings save less than this share, a breaker hardly helps.
const HARDLY: f64 = 0.1;
/// Outages that make less than this share of the cost that remains are not mentioned.
const MINOR: f64 = 0.1;

/// Says how much the settings save, and of what.
pub(crate) fn saved(out: &mut impl Write, found: &Recommendation) -> Result<()> {
    if !found.is_better_than_none() {
        writeln!(
            out,
            "\nNone of the settings is better than no breaker: the best of them {}.",
            if found.pick.trips == 0 {
                "never opens".to_owned()
            } else {
                format!("saves {:.1} % of the cost", found.saves().max(0.0) * 100.0)
            }
        )?;
        return Ok(());
    }
    let (without, pick) = (&found.without, &found.pick.all);
    let calls = without.wasted.saturating_sub(pick.wasted);
    let waited = without.wasted_time().saturating_sub(pick.wasted_time());
    writeln!(
        out,
        "\nThe recommended settings save {:.0} % of the cost: {} of {} wasted calls,\n\
         and {} of {} in wasted calls, for {} healthy calls rejected.",
        found.saves() * 100.0,
        count(calls),
        number(without.wasted),
        if waited < Duration::from_millis(1) {
            "nothing".to_owned()
        } else {
            time(waited)
        },
        time(without.wasted_time()),
        count(pick.useful_rejected())
    )?;
    if found
        .today
        .as_ref()
        .is_some_and(|it| it.cost <= found.pick.cost)
    {
        writeln!(out, "Today's rules cost no more: keep them.")?;
    }
    Ok(())
}

fn count(calls: u64) -> String {
    if calls == 0 {
        "none".to_owned()
    } else {
        number(calls)
    }
}

/// The ends of an incident's calls.
struct Ended {
    /// The average duration of a failed call.
    failed: Duration,
    /// The share of answers that took longer than useful ones usually do.
    late: f64,
}

/// Names outages in which a breaker hardly helps, and what may help.
pub(crate) fn others_help(
    out: &mut impl Write,
    log: &CallLog,
    found: &Recommendation,
    has_limit: bool,
) -> Result<()> {
    const MOST: usize = 3;
    let hardly_helps = |it: &&OutageCost| {
        it.cost >= MINOR * found.pick.cost && it.cost > (1.0 - HARDLY) * it.cost_without
    };
    let mut outages: Vec<&OutageCost> = found.outages.iter().filter(hardly_helps).collect();
    outages.sort_by(|a, b| b.cost.total_cmp(&a.cost));
    let (answers, _) = log.answer_times(&found.incidents);
    let limit = answers.map(|it| it.time_limit());
    for outage in outages.into_iter().take(MOST) {
        let incidents = &found.incidents[outage.incidents.clone()];
        let Some(incident) = incidents.iter().max_by_key(|it| it.failed) else {
            continue;
        };
        let what = if outage.cost > (1.0 + HARDLY) * outage.cost_without {
            "do harm"
        } else {
            "hardly help"
        };
        writeln!(
            out,
            "\nThey {what} in the outage after {}, which makes {:.0} % of the cost that remains.\n{}",
            time(Duration::from_micros(incident.from_us)),
            outage.cost / found.pick.cost * 100.0,
            why(incident)
        )?;
        let limit = limit.unwrap_or(Duration::MAX);
        let ended = ended(log, incident, limit);
        if ended.failed > limit {
            writeln!(
                out,
                "A time limit of {} helps there: failed calls took {} on average.",
                time(limit),
                time(ended.failed)
            )?;
        } else {
            writeln!(
                out,
                "Retries with a budget help there, or fewer calls at the same time."
            )?;
        }
        if !has_limit && ended.late >= 0.05 {
            writeln!(
                out,
                "{:.0} % of its answers took more than {}: if they are useless to your callers, say so with\n\
                 --useful-within {}ms, and settings that open there may be worth it.",
                ended.late * 100.0,
                time(limit),
                limit.as_millis()
            )?;
        }
    }
    Ok(())
}

fn why(incident: &Incident) -> String {
    let share = share(incident.failed, incident.calls);
    if share < 0.9 {
        format!(
            "Of 100 calls {:.0} failed, and the others were answered: a breaker that opens rejects these, too.",
            share * 100.0
        )
    } else {
        "It is over before a breaker that opens spares much.".to_owned()
    }
}

fn share(part: u64, of: u64) -> f64 {
    real(part) / real(of.max(1))
}

fn ended(log: &CallLog, incident: &Incident, limit: Duration) -> Ended {
    let calls = log.calls();
    let from = calls.partition_point(|call| call.start_us < incident.from_us);
    let until = calls.partition_point(|call| call.start_us <= incident.until_us);
    let calls = calls[from..until]
        .iter()
        .filter(|it| it.key == incident.key);
    let (mut failed, mut waited, mut answered, mut late) = (0, 0, 0, 0);
    for completion in calls.map(LoggedCall::completion) {
        let took = Duration::from_micros(completion.duration_us.into());
        match completion.outcome {
            Outcome::Success => {
                answered += 1;
                late += u64::from(took > limit);
            }
            Outcome::Ignored if !completion.has_hung() => {}
            Outcome::Failure(_) | Outcome::Ignored => {
                failed += 1;
                waited += u64::from(completion.duration_us);
            }
        }
    }
    Ended {
        failed: Duration::from_micros(waited / failed.max(1)),
        late: share(late, answered),
    }
}
