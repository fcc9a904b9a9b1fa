// SPDX-License-Identifier: MIT OR Apache-2.0
//! A short history on flash that is ill, in which the power may fail.

use flash_journal::{JournalConfig, WhenCorrupt};

use super::faults::step;
use super::ill::{Ill, PAGE};
use super::ledger::{Ledger, Open};
use super::plan::{Fault, Operation, Plan};

pub(crate) const STEPS: u64 = 15;

/// The events of a history.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) pages: usize,
    pub(crate) config: JournalConfig,
    pub(crate) seed: u64,
    /// Moments until the power fails, each counted from when it came back.
    pub(crate) cuts: Vec<u64>,
    pub(crate) plan: Plan,
    /// `true` if the application opens the journal again after an error.
    reopens: bool,
}

/// The result of a history, when the flash is well again.
pub(crate) struct End<const W: usize> {
    pub(crate) ledger: Ledger<W>,
    pub(crate) journal: Option<Open<W>>,
    pub(crate) moments: u64,
    pub(crate) operations: Vec<Operation>,
}

/// Says which case it was, if that fails.
struct Failing<'a>(&'a Case);

impl Drop for Failing<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{:?}", self.0);
        }
    }
}

impl Case {
    pub(crate) fn new(pages: usize, config: JournalConfig, seed: u64) -> Self {
        Self {
            pages,
            config,
            seed,
            cuts: Vec::new(),
            plan: Plan::default(),
            reopens: true,
        }
    }

    pub(crate) fn formats(&self) -> bool {
        self.config == self.config.when_corrupt(WhenCorrupt::Format)
    }

    /// Formatting while it is open is seen by an application that opens it again.
    pub(crate) fn reopens(&mut self, is_wanted: bool) {
        self.reopens = self.formats() || is_wanted;
    }

    fn history<const W: usize>(&self) -> End<W> {
        let erased = vec![0xFF; self.pages * PAGE];
        let mut ledger = Ledger::<W>::new(Ill::holding(erased, self.seed), self.config);
        ledger.flash.set(self.plan.clone());
        let mut cuts = self.cuts.iter();
        let mut power_up = |ledger: &Ledger<W>| {
            let mut power = ledger.flash.power.borrow_mut();
            power.up();
            if let Some(moments) = cuts.next() {
                power.cut_after(*moments);
            }
        };
        power_up(&ledger);
        let mut journal = None;
        for number in 0..STEPS {
            let told = ledger.told.len();
            let open = journal.take().or_else(|| ledger.start(1));
            journal = open.and_then(|open| step(&mut ledger, open, number, self.reopens));
            if ledger.flash.power.borrow().is_off {
                // A device without power is told nothing.
                ledger.told.truncate(told);
                journal = None;
                power_up(&ledger);
            }
        }
        let moments = ledger.flash.power.borrow().spent;
        let operations = ledger.flash.operations.borrow().clone();
        ledger.flash.heal();
        End {
            journal: journal.or_else(|| ledger.start(1)),
            ledger,
            moments,
            operations,
        }
    }

    /// Plays it, and checks what came of it.
    pub(crate) fn run<const W: usize, V>(&self, check: impl FnOnce(End<W>) -> V) -> V {
        let _failing = Failing(self);
        check(self.history())
    }

    /// With each thing that can go wrong in that operation, once or three times in a row; returns how many there are.
    pub(crate) fn with_faults<const W: usize>(
        &mut self,
        at: u64,
        operation: Operation,
        check: impl Fn(End<W>),
    ) -> u64 {
        let mut runs = 0;
        for fault in Fault::all().filter(|it| it.operation() == operation) {
            let is_wrong_read = Fault::READ_WRONG.contains(&fault);
            let times = if is_wrong_read { 1 } else { 1 + 2 * (at % 2) };
            self.plan = Plan {
                operations: at..at + times,
                times,
                faults: vec![fault],
                ..Plan::default()
            };
            self.run(&check);
            runs += 1;
        }
        self.plan = Plan::default();
        runs
    }
}
