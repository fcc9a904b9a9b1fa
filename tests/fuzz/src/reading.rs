// SPDX-License-Identifier: MIT OR Apache-2.0
//! Another reading of settings in a table: by the builder, whose methods have the names of the settings. `None` for what
//! must be refused: other names and types, numbers that do not fit, settings that exclude each other.

use std::time::Duration;

use atomic_breaker::{Config, Ratio};
use toml::{Table, Value};

pub(crate) fn number<T: TryFrom<i64>>(value: &Value) -> Option<T> {
    T::try_from(value.as_integer()?).ok()
}

/// Up to 49.7 days, as all times of a breaker.
fn ms(value: &Value) -> Option<Duration> {
    number::<u32>(value).map(|ms| Duration::from_millis(ms.into()))
}

/// Both numbers of a table that has nothing else.
fn two<'v>(value: &'v Value, names: [&str; 2]) -> Option<[&'v Value; 2]> {
    let table = value.as_table().filter(|table| table.len() == 2)?;
    let [one, other] = names.map(|name| table.get(name));
    Some([one?, other?])
}

/// The number of these that are set; switches count if they are on.
pub(crate) fn set(table: &Table, names: &[&str]) -> usize {
    let is_set = |name: &&&str| {
        table
            .get(**name)
            .is_some_and(|it| it.as_bool() != Some(false))
    };
    names.iter().filter(is_set).count()
}

/// The rules; those that are left out are as in `preset`, whose failure ratio needs so many calls, if it says how many.
pub(crate) fn rules(table: &Table, preset: Config, min_calls: Option<u32>) -> Option<Config> {
    let trips = ["consecutive_failures", "failures_within", "tally_only"];
    let growths = ["exponential", "exponential_percent", "linear"];
    if set(table, &trips) > 1 || set(table, &growths) > 1 {
        return None;
    }
    table.iter().try_fold(preset, |config, (name, value)| {
        Some(match name.as_str() {
            "failure_ratio" => {
                config.failure_ratio(ratio(value.as_table()?, preset.failure_ratio, min_calls)?)
            }
            name => rule(config, name, value)?,
        })
    })
}

fn rule(config: Config, name: &str, value: &Value) -> Option<Config> {
    Some(match name {
        "consecutive_failures" => config.consecutive_failures(number(value)?),
        "failures_within" => {
            let [failures, window] = two(value, ["failures", "window_ms"])?;
            config.failures_within(number(failures)?, ms(window)?)
        }
        "tally_only" if value.as_bool()? => config.tally_only(),
        "tally_only" => config,
        "slow_call_ms" => config.slow_call(ms(value)?),
        "open_for_ms" => config.open_for(ms(value)?),
        "exponential" => {
            let [factor, longest] = two(value, ["factor", "max_ms"])?;
            config.exponential(number(factor)?, ms(longest)?)
        }
        "exponential_percent" => {
            let [percent, longest] = two(value, ["percent", "max_ms"])?;
            config.exponential_percent(number(percent)?, ms(longest)?)
        }
        "linear" => {
            let [step, longest] = two(value, ["step_ms", "max_ms"])?;
            config.linear(ms(step)?, ms(longest)?)
        }
        "jitter_percent" => config.jitter_percent(number::<u8>(value)?.into()),
        "seed" => config.seed(number(value)?),
        "max_retry_after_ms" => config.max_retry_after(ms(value)?),
        "probes" => config.probes(number::<u16>(value)?.into()),
        "close_after" => config.close_after(number::<u16>(value)?.into()),
        "probe_lease_ms" => config.probe_lease(ms(value)?),
        "cancel_limit_ms" => config.cancel_limit(ms(value)?),
        "gradual_return" => {
            let [first, over] = two(value, ["first_percent", "over_ms"])?;
            config.gradual_return(number::<u8>(first)?.into(), ms(over)?)
        }
        _ => return None,
    })
}

fn ratio(table: &Table, preset: Option<Ratio>, min_calls: Option<u32>) -> Option<Ratio> {
    let names = [
        "percent",
        "basis_points",
        "of_last",
        "within_ms",
        "min_calls",
        "slow_percent",
    ];
    if table.keys().any(|name| !names.contains(&name.as_str()))
        || set(table, &names[..2]) > 1
        || set(table, &names[2..4]) > 1
    {
        return None;
    }
    let number = |name: &str| table.get(name).map(number::<u32>);
    let share = match (number("percent"), number("basis_points")) {
        (Some(percent), _) => Ratio::percent(percent?),
        (_, Some(points)) => Ratio::basis_points(points?),
        _ => Ratio::basis_points(preset?.trips_at_basis_points()),
    };
    let time = |ms: u32| Duration::from_millis(ms.into());
    let (ratio, is_as_before) = match (number("of_last"), number("within_ms")) {
        (Some(calls), _) => (share.of_last(calls?), false),
        (_, Some(ms)) => {
            let was_time = preset.is_some_and(|preset| preset.within_ms().is_some());
            (share.within(time(ms?)), was_time)
        }
        _ => match preset?.within_ms() {
            Some(ms) => (share.within(time(ms)), true),
            None => (share.of_last(preset?.calls()?), true),
        },
    };
    let slow = match number("slow_percent") {
        Some(percent) => Some(percent?),
        None => preset
            .filter(|_| is_as_before)
            .and_then(Ratio::trips_at_slow_percent),
    };
    let ratio = slow.map_or(ratio, |percent| ratio.slow_percent(percent));
    match number("min_calls") {
        Some(calls) => Some(ratio.min_calls(calls?)),
        None => match min_calls.filter(|_| is_as_before) {
            Some(calls) => Some(ratio.min_calls(calls)),
            None => Some(ratio),
        },
    }
}
