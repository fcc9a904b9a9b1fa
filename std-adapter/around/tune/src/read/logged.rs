// SPDX-License-Identifier: MIT OR Apache-2.0
//! A call from the fields of a line.

use std::borrow::Cow;
use std::time::Duration;

use crate::simulate::engine::Completion;
use atomic_breaker::{Failure, Outcome};

use super::columns::{Column, TimeUnit};
use super::error::{ReadError, UnitDoubt, WordCounts};
use super::request::Requests;
use super::time::{duration, moment, shown};
use crate::log::LoggedCall;
use crate::record::RecordedOutcome;

/// The greatest distance of times from the first one.
const CENTURY_NS: i128 = 100 * 366 * 86_400 * 1_000_000_000;

/// The text of a line in a column.
#[derive(Clone, Debug)]
pub(super) struct FieldText<'l> {
    pub(super) text: Cow<'l, str>,
    /// The unit of a time. `None` if it is not said anywhere.
    pub(super) unit: Option<TimeUnit>,
}

/// The fields of a line, by column.
pub(super) type LineFields<'l> = [Option<FieldText<'l>>; Column::COUNT];

/// A call as a line describes it.
pub(super) struct Logged<'l> {
    /// Nanoseconds since any moment.
    pub(super) began: i128,
    pub(super) took: Duration,
    pub(super) outcome: RecordedOutcome,
    pub(super) key: Cow<'l, str>,
    pub(super) is_retry: bool,
    /// The name that the tries of a request share.
    pub(super) request: Option<Cow<'l, str>>,
    pub(super) retry_after: Option<Duration>,
}

impl<'l> Logged<'l> {
    /// A first try of a request without a name.
    pub(super) fn new(
        began: i128,
        took: Duration,
        outcome: RecordedOutcome,
        key: impl Into<Cow<'l, str>>,
    ) -> Self {
        Self {
            began,
            took,
            outcome,
            key: key.into(),
            is_retry: false,
            request: None,
            retry_after: None,
        }
    }

    /// The call that the fields of a line describe, or what is wrong with them.
    /// With `is_end`, the start is when the call ended.
    pub(super) fn of(
        row: &'l LineFields<'_>,
        is_end: bool,
        failures: &mut WordCounts,
    ) -> Result<Self, String> {
        let field = |column: Column| {
            let field = row[column as usize].as_ref();
            field.filter(|field| !field.text.is_empty())
        };
        let text = |column: Column| field(column).map(|field| field.text.as_ref());
        let needed = |column: Column| field(column).ok_or_else(|| format!("has no {column}"));

        let start = needed(Column::Start)?;
        let began = moment(&start.text, start.unit.unwrap_or_default())?;
        let word = &needed(Column::Outcome)?.text;
        let outcome = outcome(word)?;
        if outcome == RecordedOutcome::Failed {
            failures.add(word);
        }
        let time = |column: Column| {
            let time = field(column).map(|it| duration(&it.text, it.unit.unwrap_or_default()));
            time.transpose()
        };
        let took = match time(Column::Duration)? {
            Some(took) => took,
            // It was not made.
            None if outcome == RecordedOutcome::Rejected => Duration::ZERO,
            None => return Err(format!("has no {}", Column::Duration)),
        };
        let began = if is_end {
            began.saturating_sub(i128::from(took.as_nanos() as u64))
        } else {
            began
        };
        let retry_after = time(Column::RetryAfter)?;
        let attempt = |text: &str| {
            let attempt = text.parse::<u32>();
            attempt.map_err(|_| format!("the number of the try is {:?}", shown(text)))
        };
        let attempt = text(Column::Attempt).map(attempt).transpose()?;
        Ok(Self {
            is_retry: attempt.is_some_and(|attempt| attempt > 1),
            request: text(Column::Request).map(Cow::Borrowed),
            retry_after,
            ..Self::new(began, took, outcome, text(Column::Key).unwrap_or_default())
        })
    }

    /// The call itself. Its start is relative to that of the first call.
    pub(super) fn call(self, requests: &mut Requests) -> Result<LoggedCall, String> {
        if self.took > Completion::LONGEST {
            return Err("took longer than 71 minutes: is its unit another one?".into());
        }
        let since = self
            .began
            .saturating_sub(*requests.origin.get_or_insert(self.began));
        // Calls may be logged after others that began later: the first line is in the middle of what can be told.
        let start_us = u64::try_from(since.saturating_add(CENTURY_NS).div_euclid(1_000));
        let Some(start_us) = start_us.ok().filter(|_| since <= CENTURY_NS) else {
            return Err("began more than a century before or after the first call".into());
        };
        let outcome = match (self.outcome, self.retry_after) {
            (RecordedOutcome::Ok, _) => Outcome::Success,
            (RecordedOutcome::Failed, None) => Failure::new().into(),
            (RecordedOutcome::Failed, Some(time)) => Failure::retry_after(time).into(),
            _ => Outcome::Ignored,
        };
        let completion = if self.outcome == RecordedOutcome::Cancelled {
            Completion::cancelled(self.took)
        } else {
            Completion::new(outcome, self.took)
        };
        let key = requests.key(&self.key)?;
        let is_known = self
            .request
            .is_some_and(|request| requests.is_known(&request));
        let mut call = LoggedCall::new(start_us, completion).key(key);
        if self.is_retry || is_known {
            call = call.retry();
        }
        if self.outcome == RecordedOutcome::Rejected {
            call = call.rejected();
        }
        Ok(call)
    }
}

/// Refuses a log whose start is Unix time of this century in another unit than that of its first call.
pub(super) fn mixed(row: &LineFields<'_>, first: Option<TimeUnit>) -> Option<ReadError> {
    let start = row[Column::Start as usize].as_ref()?;
    let (first, seems) = (first?, TimeUnit::of_now(&start.text)?);
    (first != seems).then(|| ReadError::Mixed {
        start: shown(&start.text),
        seems,
        first,
    })
}

/// Returns whether the start may be Unix time in another unit than milliseconds, and whether its column rules that out.
pub(super) fn doubt(row: &LineFields<'_>) -> Option<(UnitDoubt, bool)> {
    let start = row[Column::Start as usize].as_ref()?;
    // A count of microseconds or nanoseconds may well begin where the computer did.
    if start.unit.unwrap_or_default() != TimeUnit::Millis {
        return None;
    }
    let doubt = UnitDoubt {
        start: shown(&start.text),
        seems: TimeUnit::Millis.mistaken_for(&start.text)?,
    };
    Some((doubt, start.unit.is_some()))
}

/// The outcome that a word or a status of HTTP means.
pub(super) fn outcome(text: &str) -> Result<RecordedOutcome, String> {
    if let Ok(status) = text.parse::<i32>() {
        return match status {
            // Of proxies and clients: there was no answer.
            -1 | 0 => Ok(RecordedOutcome::Failed),
            // The caller's quota; a network that wants a login first.
            429 | 511 => Ok(RecordedOutcome::Ignored),
            // Of nginx: its client has left.
            499 => Ok(RecordedOutcome::Cancelled),
            // Those of 500 and above answer one request.
            100..=407 | 409..=498 | 501 | 505 | 507 => Ok(RecordedOutcome::Ok),
            408 | 500..=599 => Ok(RecordedOutcome::Failed),
            _ => Err(format!("{status} is not a status of HTTP")),
        };
    }
    let word = text.to_ascii_lowercase();
    match word.as_str() {
        "ok" | "success" | "true" => Ok(RecordedOutcome::Ok),
        "ignored" => Ok(RecordedOutcome::Ignored),
        "cancelled" | "canceled" => Ok(RecordedOutcome::Cancelled),
        "rejected" => Ok(RecordedOutcome::Rejected),
        _ if text.starts_with(char::is_alphabetic) => Ok(RecordedOutcome::Failed),
        // A number that is not a status, or nothing that has a name.
        _ => Err(format!(
            "its outcome is {:?}: write ok, failure, ignored, rejected or a status of HTTP",
            shown(text)
        )),
    }
}
