// SPDX-License-Identifier: MIT OR Apache-2.0
//! The two promises hold for the preset, but for what `falls_short.txt` names with its reason.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use atomic_breaker_http::ClientConfig;
use harm::client::Client;
use harm::figures::Figures;
use harm::guard::NoBreaker;
use harm::ours::Preset;
use harm::promises::{Shortfall, probes, shortfalls};
use harm::run::run;
use harm::scenario::{Down, Scenario, all};

/// Of a scenario: the promise, the client and the rate.
type Line = (&'static str, &'static str, u32);

/// The shortfalls of each scenario, with the figures.
type Short = BTreeMap<&'static str, BTreeMap<Line, Shortfall>>;

const fn promise(shortfall: &Shortfall) -> &'static str {
    match shortfall {
        Shortfall::Served(_) => "served",
        Shortfall::Wasted(..) => "wasted",
        Shortfall::Back(..) => "back",
    }
}

const fn name(client: Client) -> &'static str {
    match client {
        Client::Retries => "retries",
        Client::Once => "once",
    }
}

/// The figures without a breaker and with the preset.
fn play(scenario: &Scenario, client: Client, rate: u32) -> [Figures; 2] {
    let (plan, runs) = scenario.plan(rate);
    let mut both = [Figures::default(), Figures::default()];
    for number in 0..runs {
        both[0].add(&run(&plan, client, number, || NoBreaker));
        both[1].add(&run(&plan, client, number, || {
            Preset::new(ClientConfig::new(), scenario.is_grpc)
        }));
    }
    both
}

fn played() -> Short {
    let scenarios = all();
    let of = |client| {
        let scenarios = scenarios.iter();
        scenarios.flat_map(move |it| it.rates.iter().map(move |&rate| (it, client, rate)))
    };
    let jobs: Vec<_> = Client::ALL.into_iter().flat_map(of).collect();
    let (next, short) = (AtomicUsize::new(0), Mutex::new(Short::new()));
    let work = || {
        while let Some(&(scenario, client, rate)) = jobs.get(next.fetch_add(1, Relaxed)) {
            let [none, preset] = play(scenario, client, rate);
            let rules = ClientConfig::new().effective_breaker_config();
            for shortfall in shortfalls(scenario, &preset, &none, &rules) {
                let line = (promise(&shortfall), name(client), rate);
                let mut short = short.lock().unwrap();
                let of_scenario = short.entry(scenario.name).or_default();
                of_scenario.insert(line, shortfall);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    short.into_inner().unwrap()
}

/// A line of the list: `scenario | promise | client | rates`.
fn lines(of: &BTreeMap<Line, Shortfall>) -> BTreeSet<String> {
    let mut rates = BTreeMap::<_, Vec<_>>::new();
    for (promise, client, rate) in of.keys() {
        let rates = rates.entry((promise, client)).or_default();
        rates.push(rate.to_string());
    }
    let line = |((promise, client), rates): ((_, _), Vec<_>)| {
        format!("{promise} | {client} | {}", rates.join(" "))
    };
    rates.into_iter().map(line).collect()
}

#[test]
fn what_falls_short_is_what_is_named() {
    let short = played();
    for (scenario, of) in &short {
        for ((_, client, rate), shortfall) in of {
            println!("{scenario}, {client}, {rate}/s: {shortfall}");
        }
    }
    let found = short.iter().flat_map(|(scenario, of)| {
        lines(of)
            .into_iter()
            .map(move |it| format!("{scenario} | {it}"))
    });
    let found: BTreeSet<_> = found.collect();
    let list = include_str!("falls_short.txt").lines();
    let listed = list.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let listed: BTreeSet<_> = listed.map(str::to_owned).collect();
    let more: Vec<_> = found.difference(&listed).collect();
    let less: Vec<_> = listed.difference(&found).collect();
    assert!(
        more.is_empty() && less.is_empty(),
        "falls short, and is not listed: {more:#?}\nis listed, and does not fall short: {less:#?}"
    );
}

#[test]
fn the_page_says_each_reason() {
    let page = include_str!("../../../docs/harm.md");
    let page: Vec<_> = page.split_whitespace().collect();
    let page = page.join(" ");
    for reason in include_str!("falls_short.txt").lines() {
        if let Some(reason) = reason.strip_prefix("# ") {
            assert!(page.contains(reason), "docs/harm.md does not say: {reason}");
        }
    }
}

#[test]
fn the_page_says_how_many_probes_an_outage_needs() {
    let rules = ClientConfig::new().effective_breaker_config();
    let [ten, minute] = [10, 60].map(|seconds| probes(&Down::for_seconds(seconds), &rules));
    let said = format!("{ten} in ten seconds, {minute} in a minute");
    let page = include_str!("../../../docs/harm.md");
    assert!(page.contains(&said), "docs/harm.md does not say: {said}");
}

#[test]
fn the_same_seed_gives_the_same_figures() {
    let scenario = all()[6];
    assert_eq!(
        play(&scenario, Client::Retries, 100),
        play(&scenario, Client::Retries, 100)
    );
}
