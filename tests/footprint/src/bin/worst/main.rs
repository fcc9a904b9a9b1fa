// SPDX-License-Identifier: MIT OR Apache-2.0
//! The worst case of each operation on an emulated board: the most instructions over all kinds of words, ages, rules and
//! permits, and the most that one lost exchange adds.
//!
//! The rules are not known to the compiler, so no branch is folded away. The loop of an exchange carries nothing from one
//! turn to the next but the word that was found, so n lost exchanges add no more than n times the most of one.
#![no_std]
#![no_main]

mod cases;
#[path = "../../counter.rs"]
mod counter;
mod operations;
mod raced;
mod rules;

use cases::Case;
use counter::Counter;
use operations::{Operation, WORD};
use semihosting::{println, process};

/// The findings about an operation, in instructions.
#[derive(Default)]
struct Worst {
    most: u64,
    case: Case,
    lost: u64,
}

/// A counter, and what it counts for a function that does nothing.
struct Meter {
    counter: Counter,
    nothing: u64,
}

impl Meter {
    fn new() -> Self {
        let mut meter = Self {
            counter: Counter::start(),
            nothing: 0,
        };
        // The very first count catches the timer starting.
        meter.ticks(operations::nothing, Case::default(), 0);
        meter.nothing = meter.ticks(operations::nothing, Case::default(), 0);
        meter
    }

    /// The instructions of an operation on a word that another caller has changed to `found` since it was read.
    fn count(&mut self, operation: fn(), case: Case, found: u32) -> u64 {
        let ticks = self
            .ticks(operation, case, found)
            .saturating_sub(self.nothing);
        counter::instructions(ticks)
    }

    fn ticks(&mut self, operation: fn(), case: Case, found: u32) -> u64 {
        case.prepare(found);
        self.counter.ticks(operation)
    }
}

impl Worst {
    /// Tries one case, and if it writes the word, how much more it takes when another caller was faster.
    fn look_at(&mut self, meter: &mut Meter, operation: fn(), case: Case) {
        // Again if it is more: once in thousands of counts the emulator counts an instruction twice.
        let mut count = |case: Case, found, than| {
            let once = meter.count(operation, case, found);
            if once > than {
                once.min(meter.count(operation, case, found))
            } else {
                once
            }
        };
        let most = count(case, case.word, self.most);
        if most > self.most {
            (self.most, self.case) = (most, case);
        }
        if WORD.get() == case.word {
            return;
        }
        for found in case.others() {
            let alone = count(case.over(found), found, 0);
            // Changed by the second turn, so the first one was lost.
            if found == case.word || WORD.get() == found {
                continue;
            }
            let both = count(case, found, alone + self.lost);
            self.lost = self.lost.max(both.saturating_sub(alone));
            break;
        }
    }
}

fn main() -> ! {
    let mut meter = Meter::new();
    for Operation {
        name,
        needs_permit,
        run,
    } in operations::ALL
    {
        let mut worst = Worst::default();
        cases::each(needs_permit, |case| worst.look_at(&mut meter, run, case));
        let Worst { most, case, lost } = worst;
        println!("{most:6} {lost:5}  {name}: {case}");
    }
    process::exit(0)
}

#[cfg(target_arch = "arm")]
#[cortex_m_rt::entry]
fn entry() -> ! {
    main()
}

#[cfg(target_arch = "riscv32")]
#[riscv_rt::entry]
fn entry() -> ! {
    main()
}
