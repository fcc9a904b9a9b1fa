// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory that a breaker and a call take from the heap.

use std::mem::size_of;
use std::pin::pin;

use allocation_counter::{AllocationInfo, measure};
use benches::contestant::{
    Answer, AsyncCaller, AtomicBreaker, BreakerCrate, Caller, CircuitBreakerCrate,
    CircuitbreakerRs, Contestant, Down, Failsafe, Nobreak, Recloser, RecloserFutures, Rules,
    TowerResilience, finish,
};
use benches::table::Table;

pub(crate) fn table() -> Table {
    let mut table = Table::new([
        "crate",
        "bytes of the value",
        "and on the heap",
        "allocations to make it",
        "per success",
        "per failure",
        "per rejection",
        "per future",
    ]);
    table.row(futures::<AtomicBreaker, AtomicBreaker>());
    table.row(futures::<Failsafe, Failsafe>());
    table.row(futures::<Recloser, RecloserFutures>());
    table.row(futures::<TowerResilience, TowerResilience>());
    table.row(futures::<CircuitbreakerRs, CircuitbreakerRs>());
    table.row(closures::<CircuitBreakerCrate>());
    table.row(futures::<BreakerCrate, BreakerCrate>());
    table.row(futures::<Nobreak, Nobreak>());
    table
}

const CALLS: u64 = 100;

const MANY: Rules = Rules {
    failures: 1_000,
    ..Rules::LASTING
};

fn futures<C, F>() -> Vec<String>
where
    C: Contestant,
    F: Contestant,
    for<'a> F::Caller<'a>: AsyncCaller,
{
    let mut cells = closures::<C>();
    let breaker = F::new(MANY);
    let mut caller = breaker.caller();
    let per_call = per_call(|| {
        let answer = finish(pin!(caller.call_async(|| async { Ok(1) })));
        assert_eq!(answer, Answer::Done);
    });
    *cells.last_mut().expect("a row has cells") = per_call;
    cells
}

fn closures<C: Contestant>() -> Vec<String> {
    let mut made = None;
    // The very first call may fill caches.
    drop(C::new(MANY));
    let making = measure(|| made = Some(C::new(MANY)));
    let breaker = made.expect("just made");
    let mut caller = breaker.caller();
    let success = per_call(|| assert_eq!(caller.call(|| Ok(1)), Answer::Done));
    let failure = per_call(|| assert_eq!(caller.call(|| Err(Down)), Answer::Failed));
    breaker.trip();
    let rejection = per_call(|| assert_eq!(caller.call(|| Ok(1)), Answer::Rejected));
    vec![
        C::NAME.into(),
        size_of::<C>().to_string(),
        making.bytes_current.to_string(),
        making.count_total.to_string(),
        success,
        failure,
        rejection,
        "–".into(),
    ]
}

fn per_call(mut call: impl FnMut()) -> String {
    call();
    let AllocationInfo { count_total, .. } = measure(|| (0..CALLS).for_each(|_| call()));
    if count_total.is_multiple_of(CALLS) {
        (count_total / CALLS).to_string()
    } else {
        format!("{count_total} in {CALLS}")
    }
}
