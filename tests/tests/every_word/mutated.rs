// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each arrow of the drawing, mutated in each way: some property must be violated.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use atomic_breaker::{Cause, State};

use crate::arrows::Arrow;
use crate::fault::{Fault, Mutation};
use crate::form::Form;
use crate::operations::{Bench, Taken};

thread_local! {
    static IS_EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// Panics that are expected print nothing.
fn panics(body: impl FnOnce()) -> bool {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_EXPECTED.get() {
                usual(info);
            }
        }));
    });
    IS_EXPECTED.set(true);
    let result = panic::catch_unwind(AssertUnwindSafe(body));
    IS_EXPECTED.set(false);
    result.is_err()
}

/// Mutations that nobody can tell from the right breaker.
fn is_without_effect((_, to, cause): Arrow, mutation: Mutation) -> bool {
    match (cause, mutation) {
        // A corrupt word that was not replaced is, when the operation looks again.
        (Cause::CorruptWord, Mutation::NotTaken) => true,
        // While no probe is in flight the time says nothing.
        (Cause::Manual | Cause::Restored, Mutation::OneTickLater | Mutation::OneTickEarlier) => {
            to == State::HalfOpen
        }
        _ => false,
    }
}

/// Mutates each arrow, on words from which it was taken.
pub(crate) fn each_is_found<F: Form>(taken: &Taken) {
    let mut missed = Vec::new();
    let mut found = 0;
    for (&arrow, words) in taken {
        for mutation in Mutation::ALL {
            let fault = Fault { arrow, mutation };
            let mut bench = Bench::<F>::with_fault(Some(fault));
            let is_found = panics(|| words.iter().for_each(|&word| bench.word(word, true)));
            found += u32::from(is_found);
            // Trips that are none already cannot become none.
            if !is_found && bench.is_faulty() && !is_without_effect(arrow, mutation) {
                missed.push((arrow, mutation));
            }
        }
    }
    println!("{found} mutated arrows, each found");
    assert!(missed.is_empty(), "not found: {missed:#?}");
}
