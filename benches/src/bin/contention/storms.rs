// SPDX-License-Identifier: MIT OR Apache-2.0
//! All threads call at the deadline: how many are let through, and how long the decision takes.

use benches::contestant::{
    AtomicBreaker, BreakerCrate, CircuitBreakerCrate, CircuitbreakerRs, Contestant, Failsafe,
    Nobreak, Recloser, TowerResilience,
};
use benches::storm::storm;
use benches::table::Table;

const ROUNDS: usize = 60;

pub(crate) fn table(threads: usize) -> Table {
    let mut table = Table::new(["", "let through", "ns until let through or rejected"]);
    row::<AtomicBreaker>(&mut table, threads);
    row::<Failsafe>(&mut table, threads);
    row::<Recloser>(&mut table, threads);
    row::<TowerResilience>(&mut table, threads);
    row::<CircuitbreakerRs>(&mut table, threads);
    row::<CircuitBreakerCrate>(&mut table, threads);
    row::<BreakerCrate>(&mut table, threads);
    row::<Nobreak>(&mut table, threads);
    table
}

fn row<C: Contestant>(table: &mut Table, threads: usize) {
    let storm = storm::<C>(threads, ROUNDS);
    let through = format!("{} of {threads}", storm.admitted());
    table.row([C::NAME.into(), through, storm.decided.to_string()]);
}
