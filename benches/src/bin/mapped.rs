// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cost of a call whose breaker lies in memory that processes share, beside that of one in the memory of a
//! single process; in one run, with one thread and with two.
//!
//! ```console
//! cargo run --release -p benches --bin mapped
//! ```
//!
//! Prints Markdown and needs two cores; takes a minute where other programs run, as disturbed laps are run again.
//! Threads stand for processes, which share the memory as well.

use std::hint::black_box;
use std::time::Duration;

use atomic_breaker_http::{Breaker, Config, Guard, Outcome, Registry};
use atomic_breaker_mapped::{MappedSlab, for_forks};
use atomic_breaker_server::{AnyPermit, Observer, word::Word};
use atomic_breaker_std::BootClock;
use benches::head;
use benches::hosts::{HOSTS, take_slots};
use benches::paired::Paired;
use benches::rounds::{Case, measure_paired};
use benches::table::Table;

const ROUNDS: usize = 101;

/// A limit of failures in a row that two threads do not reach in a lap.
const MANY: u32 = 60_000;
const LAP: u64 = MANY as u64 / 3;

const RULES: Config = Config::new()
    .consecutive_failures(MANY)
    .open_for(Duration::from_hours(1));

fn cases() -> Vec<Case> {
    let own = || Breaker::new(RULES, BootClock);
    let mapped = || for_forks(RULES).expect("room");
    vec![
        Case::new("closed, of this process", move || closed(own())),
        Case::new("closed, mapped", move || closed(mapped())),
        Case::new("failing, of this process", move || failing(own())).at_most(LAP),
        Case::new("failing, mapped", move || failing(mapped())).at_most(LAP),
        Case::new("rejected, of this process", move || rejected(own())),
        Case::new("rejected, mapped", move || rejected(mapped())),
        Case::new("closed, by key, `Registry`, keys with a slot", by_registry),
        Case::new("closed, by key, `MappedSlab`", by_slab),
    ]
}

fn closed<W: Word, O: Observer>(breaker: Breaker<BootClock, W, (), O>) -> impl Fn(u64) {
    move |calls| {
        for _ in 0..calls {
            black_box(&breaker).acquire().expect("closed").success();
        }
    }
}

fn failing<W: Word, O: Observer>(breaker: Breaker<BootClock, W, (), O>) -> impl Fn(u64) {
    move |calls| {
        for _ in 0..calls {
            black_box(&breaker).acquire().expect("closed").failure();
        }
    }
}

fn rejected<W: Word, O: Observer>(breaker: Breaker<BootClock, W, (), O>) -> impl Fn(u64) {
    breaker.trip();
    move |calls| {
        for _ in 0..calls {
            assert!(black_box(&breaker).acquire().is_err());
        }
    }
}

fn by_registry() -> impl Fn(u64) {
    let hosts = Registry::<&'static str>::builder(RULES).capacity(128);
    let hosts = hosts.build().expect("constant rules");
    take_slots(&hosts);
    move |calls| {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..calls {
            let host = HOSTS[random.usize(..HOSTS.len())];
            let permit = black_box(&hosts).of(host).acquire().expect("closed");
            permit.report(Outcome::Success);
        }
    }
}

fn by_slab() -> impl Fn(u64) {
    let hosts = MappedSlab::builder(RULES).capacity(128);
    let hosts = hosts.for_forks().expect("room");
    move |calls| {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..calls {
            let host = HOSTS[random.usize(..HOSTS.len())];
            let breaker = black_box(&hosts).breaker(host).expect("a slot");
            breaker.acquire().expect("closed").success();
        }
    }
}

fn main() {
    let count = cases().len();
    let by = |threads| cases().into_iter().map(move |case| case.by(threads));
    let all: Vec<_> = by(1).chain(by(2)).collect();
    let paired = measure_paired(&all, ROUNDS);

    let Paired {
        laps, disturbed, ..
    } = paired;
    head::print("Breakers that processes share", "mapped");
    println!(
        "Nanoseconds per call as each thread sees it: median of {ROUNDS} interleaved rounds (quartiles). {disturbed} of \
         {laps} laps were disturbed by other programs, each time that they were run.\n"
    );
    let mut table = Table::new(["", "1 thread", "each of 2 threads"]);
    for (index, case) in all[..count].iter().enumerate() {
        table.row([
            case.name.clone(),
            paired.figure(index).to_string(),
            paired.figure(index + count).to_string(),
        ]);
    }
    println!("{table}");
}
