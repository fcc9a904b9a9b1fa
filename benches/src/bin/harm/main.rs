// SPDX-License-Identifier: MIT OR Apache-2.0
//! Does a breaker help? Scenario by scenario, in virtual time.
//!
//! ```console
//! cargo run --release -p benches --bin harm > benches/results/harm.md
//! ```
//!
//! Prints Markdown and draws `docs/harm.svg`; takes less than a minute on two cores. The same in each run.

mod interposed;
mod page;
mod peers;
mod picture;
mod rules;
mod table;

use std::error::Error;
use std::path::Path;

use harm::client::Client;
use harm::scenario::all;

use page::Page;
use picture::Half;
use table::Contestant;

const DEFAULTS: [Contestant; 6] = [
    Contestant::Preset,
    Contestant::Core,
    Contestant::TowerResilience,
    Contestant::Failsafe,
    Contestant::Recloser,
    Contestant::Seatbelt,
];

const TUNED: [Contestant; 5] = [
    Contestant::Preset,
    Contestant::TunedTowerResilience,
    Contestant::TunedFailsafe,
    Contestant::TunedRecloser,
    Contestant::TunedSeatbelt,
];

const IN_PICTURE: [Contestant; 10] = [
    Contestant::Preset,
    Contestant::Core,
    Contestant::TowerResilience,
    Contestant::Failsafe,
    Contestant::Recloser,
    Contestant::Seatbelt,
    Contestant::TunedTowerResilience,
    Contestant::TunedFailsafe,
    Contestant::TunedRecloser,
    Contestant::TunedSeatbelt,
];

fn main() -> Result<(), Box<dyn Error>> {
    interposed::check();
    rules::check();
    let scenarios = all();
    let cells = table::play(&scenarios);
    let page = Page {
        scenarios: &scenarios,
        cells: &cells,
    };
    println!("# Does a breaker help?\n");
    println!("```console\ncargo run --release -p benches --bin harm\n```\n");
    println!("{}", page.summary());
    println!("## Other rules for the preset, with its retries\n");
    println!("{}", rules::table(&scenarios, &cells));
    for client in Client::ALL {
        let title = match client {
            Client::Retries => "With the retries of the preset",
            Client::Once => "Without retries",
        };
        println!(
            "## {title}\n\n### Partial trouble: served, in percent of what is served without a breaker\n"
        );
        println!("{}", page.served(client, &DEFAULTS));
        println!("The same with settings:\n\n{}", page.served(client, &TUNED));
        println!(
            "### Outages: wasted, in percent of the calls\n\n{}",
            page.outages(client, &DEFAULTS, true)
        );
        println!(
            "The same with settings:\n\n{}",
            page.outages(client, &TUNED, true)
        );
        println!(
            "### Outages: seconds until everything is served again\n\n{}",
            page.outages(client, &DEFAULTS, false)
        );
        println!(
            "The same with settings:\n\n{}",
            page.outages(client, &TUNED, false)
        );
        println!("### The preset in detail\n\n{}", page.detail(client));
    }
    println!("## What falls short of the promises\n\n{}", page.short());
    let lines = |is_partial: bool| -> usize {
        let of = scenarios.iter().filter(|it| {
            if is_partial {
                it.is_partial
            } else {
                it.down.is_some()
            }
        });
        of.map(|it| it.rates.len()).sum()
    };
    let halves = [
        Half {
            title: format!(
                "Partial trouble, {} lines: served, of what none serves",
                lines(true)
            ),
            legend: [
                "at least 98 %",
                "90 to 98 %",
                "50 to 90 %",
                "less than half",
            ],
        },
        Half {
            title: format!("Total outages, {} lines", lines(false)),
            legend: [
                "little wasted, soon back",
                "back late",
                "wasted too many",
                "both",
            ],
        },
    ];
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/harm.svg");
    picture::draw(&path, &halves, &page.rows(&IN_PICTURE))
}
