// SPDX-License-Identifier: MIT OR Apache-2.0
//! Other rules for the preset, and what they would cost.

use std::time::Duration;

use atomic_breaker_http::{ClientConfig, Config, Ratio};
use benches::table::Table;
use harm::client::Client;
use harm::figures::Figures;
use harm::ours::Preset;
use harm::promises::{SERVED_PERCENT, Shortfall, shortfalls};
use harm::run::run;
use harm::scenario::Scenario;

use crate::table::{Cells, Contestant, on_all_cores};

/// The outage whose waste is shown.
const LONG: (&str, u32) = ("down for 10 min: refuses", 10);

/// Rules that differ from those of the preset.
#[derive(Clone, Copy)]
struct Variant {
    name: &'static str,
    row: u32,
    lasting_ms: u64,
    percent: u32,
    open_ms: u64,
    grows_percent: u32,
    most_ms: u64,
    slow_fails: bool,
}

const TEN: Variant = Variant {
    name: "ten that last, 90 %, 200 ms, 11 % more each time to 4 s: the preset",
    row: 10,
    lasting_ms: 100,
    percent: 90,
    open_ms: 200,
    grows_percent: 111,
    most_ms: 4_000,
    slow_fails: false,
};

const FIVE: Variant = Variant {
    name: "five that last 100 ms, half of 20 in 10 s, 1 s, doubled to 30 s",
    row: 5,
    percent: 50,
    open_ms: 1_000,
    grows_percent: 200,
    most_ms: 30_000,
    ..TEN
};

const VARIANTS: [Variant; 13] = [
    Variant {
        name: "five in a row, half of 20 in 10 s, 1 s, doubled to 30 s",
        lasting_ms: 0,
        ..FIVE
    },
    FIVE,
    Variant {
        name: "five that last, 90 %, 1 s, doubled to 30 s",
        percent: 90,
        ..FIVE
    },
    Variant {
        name: "five that last, 90 %, 1 s, a tenth more each time to 15 s",
        row: 5,
        open_ms: 1_000,
        grows_percent: 110,
        most_ms: 15_000,
        ..TEN
    },
    Variant {
        name: "five that last, 90 %, 200 ms, 11 % more each time to 4 s",
        row: 5,
        ..TEN
    },
    Variant {
        name: "eight that last, otherwise the same",
        row: 8,
        ..TEN
    },
    TEN,
    Variant {
        name: "ten that last, but half of 20 in 10 s",
        percent: 50,
        ..TEN
    },
    Variant {
        name: "ten that last, but 75 % of 20 in 10 s",
        percent: 75,
        ..TEN
    },
    Variant {
        name: "ten that last 200 ms",
        lasting_ms: 200,
        ..TEN
    },
    Variant {
        name: "ten that last, 200 ms, a tenth more each time to 3 s",
        grows_percent: 110,
        most_ms: 3_000,
        ..TEN
    },
    Variant {
        name: "ten that last, 200 ms, 15 % more each time to 12 s",
        grows_percent: 115,
        most_ms: 12_000,
        ..TEN
    },
    Variant {
        name: "ten that last, but a slow try is a failure",
        slow_fails: true,
        ..TEN
    },
];

impl Variant {
    fn config(self) -> ClientConfig {
        let ratio = Ratio::percent(self.percent)
            .within(Duration::from_secs(10))
            .min_calls(20);
        let breaker = Config::new()
            .consecutive_failures(self.row)
            .lasting(Duration::from_millis(self.lasting_ms))
            .failure_ratio(ratio)
            .open_for(Duration::from_millis(self.open_ms))
            .exponential_percent(self.grows_percent, Duration::from_millis(self.most_ms))
            .max_retry_after(Duration::from_mins(1))
            .jitter_percent(20);
        // Rules that say when a call is slow have no share of slow calls unless they say so, too.
        let slow = ClientConfig::new().effective_breaker_config().slow_call_ms;
        let breaker = match slow.filter(|_| self.slow_fails) {
            Some(ms) => breaker.slow_call(Duration::from_millis(ms.into())),
            None => breaker,
        };
        ClientConfig::new().breaker(breaker)
    }
}

/// Panics unless one of the variants is the preset.
pub(crate) fn check() {
    assert_eq!(
        TEN.config(),
        ClientConfig::new(),
        "the preset has other rules"
    );
}

/// The shortcomings of each variant, with the retries of the preset.
pub(crate) fn table(scenarios: &[Scenario], cells: &Cells) -> Table {
    let jobs: Vec<_> = (0..VARIANTS.len())
        .flat_map(|variant| {
            let scenarios = scenarios.iter().enumerate();
            scenarios.flat_map(move |(number, it)| {
                it.rates.iter().map(move |&rate| (variant, number, rate))
            })
        })
        .collect();
    let played = on_all_cores(&jobs, |&(variant, number, rate)| {
        let scenario = &scenarios[number];
        let (plan, runs) = scenario.plan(rate);
        let mut figures = Figures::default();
        for number in 0..runs {
            figures.add(&run(&plan, Client::Retries, number, || {
                Preset::new(VARIANTS[variant].config(), scenario.is_grpc)
            }));
        }
        figures
    });
    let mut table = Table::new([
        "rules",
        "served less than 98 %",
        "on average",
        "wasted too many",
        "back too late",
        "wasted in 10 min at 10/s",
    ]);
    for (place, variant) in VARIANTS.iter().enumerate() {
        let rules = variant.config().effective_breaker_config();
        let (mut served, mut lines, mut sum) = (0, 0, 0.0);
        let (mut wasted, mut late, mut long) = (0, 0, 0.0);
        for (&(of, number, rate), figures) in &played {
            if of != place {
                continue;
            }
            let scenario = &scenarios[number];
            let none = &cells[&(Client::Retries, Contestant::None, number, rate)];
            if scenario.is_partial {
                let share = figures.against(none).min(100.0);
                lines += 1;
                sum += share;
                served += u32::from(share < SERVED_PERCENT);
            }
            if (scenario.name, rate) == LONG {
                long = figures.wasted_percent();
            }
            for one in shortfalls(scenario, figures, none, &rules) {
                wasted += u32::from(matches!(one, Shortfall::Wasted(..)));
                late += u32::from(matches!(one, Shortfall::Back(..)));
            }
        }
        table.row([
            variant.name.to_owned(),
            served.to_string(),
            format!("{:.1} %", sum / f64::from(lines)),
            wasted.to_string(),
            late.to_string(),
            format!("{long:.1} %"),
        ]);
    }
    table
}
