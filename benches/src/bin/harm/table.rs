// SPDX-License-Identifier: MIT OR Apache-2.0
//! All runs, by contestant, client, scenario and rate.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use atomic_breaker_http::{ClientConfig, Config};
use harm::client::Client;
use harm::figures::Figures;
use harm::guard::NoBreaker;
use harm::ours::{Core, Preset};
use harm::run::run;
use harm::scenario::{Plan, Scenario};
use tokio::runtime::Runtime;

use crate::peers;

/// The contestant between the client and the resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Contestant {
    None,
    Preset,
    Core,
    TowerResilience,
    Failsafe,
    Recloser,
    Seatbelt,
    TunedTowerResilience,
    TunedFailsafe,
    TunedRecloser,
    TunedSeatbelt,
}

impl Contestant {
    pub(crate) const ALL: [Self; 11] = [
        Self::None,
        Self::Preset,
        Self::Core,
        Self::TowerResilience,
        Self::Failsafe,
        Self::Recloser,
        Self::Seatbelt,
        Self::TunedTowerResilience,
        Self::TunedFailsafe,
        Self::TunedRecloser,
        Self::TunedSeatbelt,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::None => "no breaker",
            Self::Preset => "preset",
            Self::Core => "`Config::new()`",
            Self::TowerResilience => "tower-resilience",
            Self::Failsafe => "failsafe",
            Self::Recloser => "recloser",
            Self::Seatbelt => "seatbelt",
            Self::TunedTowerResilience => "tower-resilience, tuned",
            Self::TunedFailsafe => "failsafe, tuned",
            Self::TunedRecloser => "recloser, tuned",
            Self::TunedSeatbelt => "seatbelt, tuned",
        }
    }

    fn play(
        self,
        plan: &Plan,
        scenario: &Scenario,
        client: Client,
        number: u64,
        runtime: &Runtime,
    ) -> Figures {
        match self {
            Self::None => run(plan, client, number, || NoBreaker),
            Self::Preset => run(plan, client, number, || {
                Preset::new(ClientConfig::new(), scenario.is_grpc)
            }),
            Self::Core => run(plan, client, number, || Core::new(Config::new())),
            Self::TowerResilience => run(plan, client, number, peers::tower_resilience),
            Self::Failsafe => run(plan, client, number, peers::failsafe),
            Self::Recloser => run(plan, client, number, peers::recloser),
            Self::Seatbelt => run(plan, client, number, || peers::seatbelt(runtime)),
            Self::TunedTowerResilience => run(plan, client, number, peers::tuned::tower_resilience),
            Self::TunedFailsafe => run(plan, client, number, peers::tuned::failsafe),
            Self::TunedRecloser => run(plan, client, number, peers::tuned::recloser),
            Self::TunedSeatbelt => run(plan, client, number, || peers::tuned::seatbelt(runtime)),
        }
    }
}

/// The key of a cell: which client and contestant, the number of the scenario, and the rate.
pub(crate) type Cell = (Client, Contestant, usize, u32);

/// The figures of each cell.
pub(crate) type Cells = BTreeMap<Cell, Figures>;

/// Plays everything, on all cores.
pub(crate) fn play(scenarios: &[Scenario]) -> Cells {
    let mut jobs: Vec<Cell> = Vec::new();
    for client in Client::ALL {
        for contestant in Contestant::ALL {
            for (number, scenario) in scenarios.iter().enumerate() {
                jobs.extend(
                    scenario
                        .rates
                        .iter()
                        .map(|&rate| (client, contestant, number, rate)),
                );
            }
        }
    }
    let runtime = Runtime::new().expect("tokio starts");
    on_all_cores(&jobs, |&(client, contestant, number, rate)| {
        let scenario = &scenarios[number];
        let (plan, runs) = scenario.plan(rate);
        let mut figures = Figures::default();
        for number in 0..runs {
            figures.add(&contestant.play(&plan, scenario, client, number, &runtime));
        }
        figures
    })
}

/// The result of each job.
pub(crate) fn on_all_cores<J: Copy + Ord + Send + Sync>(
    jobs: &[J],
    play: impl Fn(&J) -> Figures + Sync,
) -> BTreeMap<J, Figures> {
    let next = AtomicUsize::new(0);
    let played = Mutex::new(BTreeMap::new());
    let work = || {
        while let Some(job) = jobs.get(next.fetch_add(1, Relaxed)) {
            let figures = play(job);
            let mut played = played.lock().expect("no thread panicked");
            played.insert(*job, figures);
        }
    };
    thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    played.into_inner().expect("no thread panicked")
}
