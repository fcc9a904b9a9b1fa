// SPDX-License-Identifier: MIT OR Apache-2.0
//! One run of all cases, with one thread and with two.

use benches::paired::Paired;
use benches::rounds::{Case, Figure, measure_paired};
use benches::table::Table;

/// The measured values.
pub(crate) struct Run {
    names: Vec<String>,
    /// All cases by one thread, then by two.
    paired: Paired,
    /// Allocations of a thousand calls by one thread.
    allocations: Vec<u32>,
}

impl Run {
    pub(crate) fn of(cases: impl Fn() -> Vec<Case>, rounds: usize) -> Self {
        let names = cases().into_iter().map(|case| case.name).collect();
        let allocations = cases().iter().map(allocations).collect();
        let alone = cases().into_iter();
        let together = cases().into_iter().map(|case| case.by(2));
        let timed: Vec<_> = alone.chain(together).map(without_counting).collect();
        Self {
            names,
            paired: measure_paired(&timed, rounds),
            allocations,
        }
    }

    /// The time of a call, by one thread.
    pub(crate) fn alone(&self, name: &str) -> Figure {
        self.paired.figure(self.index(name))
    }

    /// The time by which a call takes longer than one of another case in the same round, by one
    /// thread.
    pub(crate) fn longer(&self, name: &str, than: &str) -> Figure {
        self.paired.longer(self.index(name), self.index(than))
    }

    /// The ratio of the time of another case to that of this one in the same round, by one thread.
    pub(crate) fn ahead(&self, name: &str, of: &str) -> Figure {
        self.paired.share(self.index(name), self.index(of))
    }

    /// The share of the work of one thread alone, in the same round, that each of two threads gets done.
    pub(crate) fn share(&self, name: &str) -> Figure {
        let index = self.index(name);
        self.paired.share(index + self.names.len(), index)
    }

    /// Of a thousand calls.
    pub(crate) fn allocations(&self, name: &str) -> f64 {
        f64::from(self.allocations[self.index(name)])
    }

    /// The table of these cases; with the differences from one of them, if it is named.
    pub(crate) fn table(&self, cases: &[Case], than: Option<&str>) -> Table {
        let longer = than.map(|than| format!("more than {than}"));
        let columns = [
            "1 thread",
            "each of 2 threads",
            "its share of 1 alone",
            "allocations",
        ];
        let mut header = vec![String::new()];
        header.extend(columns.map(String::from));
        header.extend(longer);
        let mut table = Table::new(header);
        for Case { name, .. } in cases {
            let together = self.paired.figure(self.index(name) + self.names.len());
            let mut row = vec![
                name.clone(),
                self.alone(name).to_string(),
                together.to_string(),
                format!("{:.2}", self.share(name).median),
                (self.allocations(name) / 1_000.0).to_string(),
            ];
            row.extend(than.map(|than| format!("{:.1}", self.longer(name, than).median)));
            table.row(row);
        }
        table
    }

    /// Describes the disturbances of the machine.
    pub(crate) fn disturbances(&self) -> String {
        let Paired {
            laps, disturbed, ..
        } = self.paired;
        format!(
            "{disturbed} of {laps} laps were disturbed by other programs, each time that they were run"
        )
    }

    fn index(&self, name: &str) -> usize {
        let found = self.names.iter().position(|known| known == name);
        found.unwrap_or_else(|| panic!("no case is called {name}"))
    }
}

/// After some calls, as caches are filled by the first ones.
fn allocations(case: &Case) -> u32 {
    let subject = case.subject();
    subject.lap(1_000);
    let counted = allocation_counter::measure(|| subject.lap(1_000));
    counted.count_total.try_into().expect("some per call")
}

/// Allocations are not counted while calls are timed.
fn without_counting(case: Case) -> Case {
    case.around(|subject, calls| allocation_counter::opt_out(|| subject.lap(calls)))
}
