// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings of a client as text, read once more by the builder.

use std::time::Duration;

use atomic_breaker_http::{Backoff, BodyLimits, BudgetConfig, ClientConfig};
use toml::{Table, Value};

use crate::reading::{number, rules, set};
use crate::text;

/// Settings that are accepted are those of the text, and fit together; any others are refused.
pub(crate) fn settings(bytes: &[u8]) {
    let Some(text) = text(bytes) else {
        return;
    };
    let table = text.parse::<Table>().ok();
    let said = table
        .as_ref()
        .and_then(read)
        .filter(|it| it.check().is_ok());
    match toml::from_str::<ClientConfig>(text) {
        Ok(config) => {
            assert_eq!(Some(config), said);
            assert!(!config.to_string().is_empty());
            fits(&table.expect("a table"));
        }
        Err(error) => {
            assert!(!error.message().is_empty());
            assert_eq!(said, None, "{error}");
        }
    }
}

fn ms(value: &Value) -> Option<Duration> {
    number::<u64>(value).map(Duration::from_millis)
}

/// The tries and the pauses between them end before the deadline does.
fn fits(table: &Table) {
    let value = |name: &str, preset| of(table, name, preset);
    let (deadline, limit) = (value("deadline_ms", 10_000), value("try_limit_ms", 3_000));
    let tries = value("tries", 3);
    assert!(
        limit > 0 && limit < deadline && tries > 0 && tries * limit <= deadline,
        "{tries} of {limit} ms within {deadline} ms"
    );
    let pauses = tries * limit + most_paused(table, tries - 1);
    assert!(
        pauses <= deadline,
        "{pauses} ms with pauses within {deadline} ms"
    );
    assert!(value("in_flight_limit", 1) > 0 && value("capacity", 1) > 0);
}

fn of(table: &Table, name: &str, preset: u128) -> u128 {
    let value = table.get(name).and_then(number::<u64>);
    value.map_or(preset, u128::from)
}

/// The longest pauses of so many retries: each is that before times the factor, up to the longest.
fn most_paused(table: &Table, mut retries: u128) -> u128 {
    let empty = Table::new();
    let backoff = table.get("backoff").and_then(Value::as_table);
    let value = |name: &str, preset| of(backoff.unwrap_or(&empty), name, preset);
    let (longest, factor) = (value("longest_ms", 2_000), value("factor", 2));
    let (mut pause, mut sum) = (value("first_ms", 100).min(longest), 0);
    while retries > 0 && pause < longest && factor > 1 {
        (sum, retries) = (sum + pause, retries - 1);
        pause = (pause * factor).min(longest);
    }
    sum + retries * pause
}

fn read(table: &Table) -> Option<ClientConfig> {
    if set(table, &["budget", "shared_budget"]) > 1 {
        return None;
    }
    let preset = ClientConfig::new();
    let config = table
        .iter()
        .try_fold(preset, |config, (name, value)| setting(config, name, value))?;
    let limits = match table.get("body_limits") {
        Some(limits) => config.body_limits(body_limits(limits.as_table()?)?),
        None => config,
    };
    Some(if set(table, &["probes_at_end"]) == 1 {
        limits.probes_at_end()
    } else {
        limits
    })
}

fn setting(config: ClientConfig, name: &str, value: &Value) -> Option<ClientConfig> {
    Some(match name {
        "deadline_ms" => config.deadline(ms(value)?),
        "try_limit_ms" => config.try_limit(ms(value)?),
        "tries" => config.tries(number(value)?),
        "backoff" => config.backoff(value.as_table()?.iter().try_fold(
            Backoff::new(),
            |backoff, (name, value)| {
                Some(match name.as_str() {
                    "first_ms" => backoff.first(ms(value)?),
                    "longest_ms" => backoff.longest(ms(value)?),
                    "factor" => backoff.factor(number(value)?),
                    _ => return None,
                })
            },
        )?),
        "rejection_waits" => config.rejection_waits(number(value)?),
        "budget" => config.budget(budget(value.as_table()?)?),
        "shared_budget" => config.shared_budget(budget(value.as_table()?)?),
        "without_slow_limit" if value.as_bool()? => config.without_slow_limit(),
        "breaker" => {
            let preset = config.breaker_config();
            config.breaker(rules(value.as_table()?, preset, Some(20))?)
        }
        "capacity" => config.capacity(number(value)?),
        "outliving" => config.outliving(number(value)?),
        "in_flight_limit" => config.in_flight_limit(number(value)?),
        "trip_in_flight" => config.trip_in_flight(value.as_bool()?),
        "trip_on_429" => config.trip_on_429(value.as_bool()?),
        "at_end_of_body" if value.as_bool()? => config.at_end_of_body(),
        // The limits of bodies come later, and after them whether probes wait for the end.
        "without_slow_limit" | "at_end_of_body" | "body_limits" => config,
        "probes_at_end" => value.as_bool().map(|_| config)?,
        _ => return None,
    })
}

fn budget(table: &Table) -> Option<BudgetConfig> {
    table
        .iter()
        .try_fold(BudgetConfig::new(), |budget, (name, value)| {
            Some(match name.as_str() {
                "max_tokens" => budget.max_tokens(number(value)?),
                "deposit_percent" => budget.deposit_percent(number(value)?),
                "tokens_per_second" => budget.tokens_per_second(number(value)?),
                _ => return None,
            })
        })
}

fn body_limits(table: &Table) -> Option<BodyLimits> {
    table
        .iter()
        .try_fold(BodyLimits::new(), |limits, (name, value)| {
            Some(match name.as_str() {
                "first_byte_ms" => limits.first_byte(ms(value)?),
                "idle_ms" => limits.idle(ms(value)?),
                "whole_ms" => limits.whole(ms(value)?),
                _ => return None,
            })
        })
}
