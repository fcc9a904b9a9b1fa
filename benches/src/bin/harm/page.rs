// SPDX-License-Identifier: MIT OR Apache-2.0
//! The page: what each contestant serves and wastes, scenario by scenario.

use std::fmt::Write;

use atomic_breaker_http::ClientConfig;
use benches::table::Table;
use harm::client::Client;
use harm::figures::{Figures, percent};
use harm::promises::{SERVED_PERCENT, Shortfall, shortfalls};
use harm::scenario::Scenario;

use crate::picture::Row;
use crate::table::{Cells, Contestant};

/// The data to print.
pub(crate) struct Page<'a> {
    pub(crate) scenarios: &'a [Scenario],
    pub(crate) cells: &'a Cells,
}

impl Page<'_> {
    fn of(&self, client: Client, contestant: Contestant, number: usize, rate: u32) -> &Figures {
        &self.cells[&(client, contestant, number, rate)]
    }

    /// A cell with one figure for each rate.
    fn rates(&self, number: usize, text: impl Fn(u32) -> String) -> String {
        let rates = self.scenarios[number].rates;
        let all: Vec<_> = rates.iter().map(|&rate| text(rate)).collect();
        all.join(" / ")
    }

    /// Lines that fall short of a promise, by contestant: of partial trouble, waste, and time until served again.
    pub(crate) fn summary(&self) -> Table {
        let mut table = Table::new([
            "contestant",
            "served less than 98 %",
            "the worst",
            "on average",
            "wasted too many",
            "back too late",
        ]);
        for client in Client::ALL {
            for contestant in Contestant::ALL {
                let (mut lines, mut short, mut worst, mut sum) = (0, 0, 100.0_f64, 0.0);
                let (mut outages, mut wasted, mut ends, mut late) = (0, 0, 0, 0);
                for (number, scenario) in self.scenarios.iter().enumerate() {
                    for &rate in scenario.rates {
                        let figures = self.of(client, contestant, number, rate);
                        let none = self.of(client, Contestant::None, number, rate);
                        if scenario.is_partial {
                            let served = figures.against(none).min(100.0);
                            lines += 1;
                            short += usize::from(served < SERVED_PERCENT);
                            worst = worst.min(served);
                            sum += served;
                        }
                        if let Some(down) = &scenario.down {
                            let rules = ClientConfig::new().effective_breaker_config();
                            let all = shortfalls(scenario, figures, none, &rules);
                            outages += 1;
                            ends += usize::from(down.ends_well);
                            for one in all {
                                match one {
                                    Shortfall::Served(_) => {}
                                    Shortfall::Wasted(..) => wasted += 1,
                                    Shortfall::Back(..) => late += 1,
                                }
                            }
                        }
                    }
                }
                table.row([
                    format!("{}{}", contestant.name(), with(client)),
                    format!("{short} of {lines}"),
                    format!("{worst:.1} %"),
                    format!("{:.1} %", sum / f64::from(lines)),
                    format!("{wasted} of {outages}"),
                    format!("{late} of {ends}"),
                ]);
            }
        }
        table
    }

    /// The lines of each contestant with retries, in classes: how much is served, and which promises are kept.
    pub(crate) fn rows(&self, of: &[Contestant]) -> Vec<Row> {
        let client = Client::Retries;
        let rules = ClientConfig::new().effective_breaker_config();
        let mut rows = Vec::new();
        for &contestant in of {
            let mut bars = [[0; 4]; 2];
            for (number, scenario) in self.scenarios.iter().enumerate() {
                for &rate in scenario.rates {
                    let figures = self.of(client, contestant, number, rate);
                    let none = self.of(client, Contestant::None, number, rate);
                    if scenario.is_partial {
                        let class = match figures.against(none) {
                            SERVED_PERCENT.. => 0,
                            90.0.. => 1,
                            50.0.. => 2,
                            _ => 3,
                        };
                        bars[0][class] += 1;
                    }
                    if scenario.down.is_some() {
                        let short = shortfalls(scenario, figures, none, &rules);
                        let is_late = short.iter().any(|it| matches!(it, Shortfall::Back(..)));
                        let is_waste = short.iter().any(|it| matches!(it, Shortfall::Wasted(..)));
                        let class = match (is_late, is_waste) {
                            (false, false) => 0,
                            (true, false) => 1,
                            (false, true) => 2,
                            (true, true) => 3,
                        };
                        bars[1][class] += 1;
                    }
                }
            }
            let name = contestant.name().replace('`', "");
            rows.push(Row { name, bars });
        }
        rows
    }

    /// Served in partial trouble, in percent of what is served without a breaker.
    pub(crate) fn served(&self, client: Client, of: &[Contestant]) -> Table {
        let mut header = vec![
            "partial trouble".to_owned(),
            "no breaker serves, %".to_owned(),
        ];
        header.extend(of.iter().map(|it| it.name().to_owned()));
        let mut table = Table::new(header);
        for (number, scenario) in self.scenarios.iter().enumerate() {
            if !scenario.is_partial {
                continue;
            }
            let none = |rate| self.of(client, Contestant::None, number, rate);
            let mut row = vec![
                scenario.name.to_owned(),
                self.rates(number, |rate| short(none(rate).served_percent())),
            ];
            row.extend(of.iter().map(|&contestant| {
                self.rates(number, |rate| {
                    let figures = self.of(client, contestant, number, rate);
                    short(figures.against(none(rate)))
                })
            }));
            table.row(row);
        }
        table
    }

    /// Wasted in total outages, in percent of the calls, and the seconds until everything is served again.
    pub(crate) fn outages(&self, client: Client, of: &[Contestant], is_waste: bool) -> Table {
        let mut header = vec!["outage".to_owned()];
        header.extend(of.iter().map(|it| it.name().to_owned()));
        let mut table = Table::new(header);
        for (number, scenario) in self.scenarios.iter().enumerate() {
            let Some(down) = &scenario.down else { continue };
            if !is_waste && !down.ends_well {
                continue;
            }
            let mut row = vec![scenario.name.to_owned()];
            row.extend(of.iter().map(|&contestant| {
                self.rates(number, |rate| {
                    let figures = self.of(client, contestant, number, rate);
                    if is_waste {
                        short(figures.wasted_percent())
                    } else {
                        short(figures.back_seconds())
                    }
                })
            }));
            table.row(row);
        }
        table
    }

    /// Ours beside none in more detail.
    pub(crate) fn detail(&self, client: Client) -> Table {
        let mut table = Table::new([
            "scenario",
            "served, %: none",
            "preset",
            "rejected, %",
            "of it in vain, %",
            "p99, ms: none",
            "preset",
        ]);
        for (number, scenario) in self.scenarios.iter().enumerate() {
            let of = |contestant, rate| self.of(client, contestant, number, rate);
            let (none, preset) = (Contestant::None, Contestant::Preset);
            let p99 = |contestant, rate| match of(contestant, rate).p99_ms() {
                Some(ms) => format!("{ms:.0}"),
                None => "-".to_owned(),
            };
            let share = |part: u64, whole: u64| short(percent(part, whole));
            table.row([
                scenario.name.to_owned(),
                self.rates(number, |rate| short(of(none, rate).served_percent())),
                self.rates(number, |rate| short(of(preset, rate).served_percent())),
                self.rates(number, |rate| {
                    let figures = of(preset, rate);
                    share(figures.rejected, figures.calls)
                }),
                self.rates(number, |rate| {
                    let figures = of(preset, rate);
                    share(figures.rejected_in_vain, figures.calls)
                }),
                self.rates(number, |rate| p99(none, rate)),
                self.rates(number, |rate| p99(preset, rate)),
            ]);
        }
        table
    }

    /// Each line of ours that falls short.
    pub(crate) fn short(&self) -> String {
        let mut text = String::new();
        let rules = ClientConfig::new().effective_breaker_config();
        for client in Client::ALL {
            for (number, scenario) in self.scenarios.iter().enumerate() {
                for &rate in scenario.rates {
                    let figures = self.of(client, Contestant::Preset, number, rate);
                    let none = self.of(client, Contestant::None, number, rate);
                    for one in shortfalls(scenario, figures, none, &rules) {
                        let _ =
                            writeln!(text, "- {}{}, {rate}/s: {one}", scenario.name, with(client));
                    }
                }
            }
        }
        text
    }
}

fn with(client: Client) -> &'static str {
    match client {
        Client::Retries => "",
        Client::Once => ", without retries",
    }
}

/// With one digit below ten, unless it is whole.
fn short(figure: f64) -> String {
    let tenths = (figure * 10.0).round() / 10.0;
    if tenths >= 99.95 || tenths.fract() == 0.0 {
        format!("{tenths:.0}")
    } else if (10.0..97.0).contains(&tenths) {
        format!("{figure:.0}")
    } else {
        format!("{tenths:.1}")
    }
}
