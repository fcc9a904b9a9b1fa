// SPDX-License-Identifier: MIT OR Apache-2.0
//! All cases of the run, by contestant and column.

use benches::cases;
use benches::contestant::{
    AsyncCaller, AtomicBreaker, Bare, BreakerCrate, CircuitBreakerCrate, CircuitbreakerRs, Coarse,
    Contestant, Failsafe, Nobreak, Recloser, RecloserFutures, TowerResilience,
};
use benches::rounds::{Case, Figure, cores, measure};
use benches::table::Table;
use benches::yardstick;

/// A measurement of each contestant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    Closed,
    ClosedByTwo,
    Failing,
    FailingByTwo,
    HalfFail,
    HalfFailByTwo,
    Rejected,
    RejectedByTwo,
    Future,
}

const COLUMNS: usize = Column::ALL.len();

impl Column {
    pub(crate) const ALL: [Self; 9] = [
        Self::Closed,
        Self::ClosedByTwo,
        Self::Failing,
        Self::FailingByTwo,
        Self::HalfFail,
        Self::HalfFailByTwo,
        Self::Rejected,
        Self::RejectedByTwo,
        Self::Future,
    ];

    const fn title(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::ClosedByTwo => "closed, two threads",
            Self::Failing => "failing, not tripping",
            Self::FailingByTwo => "failing, two threads",
            Self::HalfFail => "failure, success, failure, …",
            Self::HalfFailByTwo => "the same, two threads",
            Self::Rejected => "rejected",
            Self::RejectedByTwo => "rejected, two threads",
            Self::Future => "future, closed",
        }
    }

    /// One contestant in this column, unless that takes futures.
    fn case<C: Contestant>(self) -> Option<Case> {
        let two = 2.min(cores());
        let case = match self {
            Self::Closed => cases::closed::<C>(),
            Self::ClosedByTwo => cases::closed::<C>().by(two),
            Self::Failing => cases::failing::<C>(),
            Self::FailingByTwo => cases::failing::<C>().by(two),
            Self::HalfFail => cases::mixed::<C, 2>(),
            Self::HalfFailByTwo => cases::mixed::<C, 2>().by(two),
            Self::Rejected => cases::rejected::<C>(),
            Self::RejectedByTwo => cases::rejected::<C>().by(two),
            Self::Future => return None,
        };
        Some(case)
    }
}

/// A contestant and its figures; `None` where it cannot do it.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) figures: [Option<Figure>; COLUMNS],
}

impl Row {
    pub(crate) fn get(&self, column: Column) -> Option<Figure> {
        self.figures[column as usize]
    }

    pub(crate) fn median(&self, column: Column) -> Option<f64> {
        self.get(column).map(|figure| figure.median)
    }
}

/// A yardstick, by one thread and by two.
pub(crate) struct Yardstick {
    pub(crate) name: String,
    pub(crate) figures: [Figure; 2],
}

/// All figures of one run.
pub(crate) struct Measured {
    pub(crate) bare: Row,
    pub(crate) ours: Row,
    pub(crate) coarse: Row,
    pub(crate) peers: Vec<Row>,
    pub(crate) yardsticks: Vec<Yardstick>,
}

/// The cases of the run; a row remembers which are its own.
#[derive(Default)]
struct Cases(Vec<Case>);

struct Place {
    name: &'static str,
    cases: [Option<usize>; COLUMNS],
}

impl Cases {
    fn add(&mut self, case: Case) -> usize {
        self.0.push(case);
        self.0.len() - 1
    }

    /// A contestant for closures.
    fn closures<C: Contestant>(&mut self) -> Place {
        self.place::<C>(|_| true)
    }

    fn place<C: Contestant>(&mut self, can: impl Fn(Column) -> bool) -> Place {
        let cases = Column::ALL.map(|column| {
            let case = can(column).then(|| column.case::<C>()).flatten()?;
            Some(self.add(case))
        });
        Place {
            name: C::NAME,
            cases,
        }
    }

    /// A contestant for closures and, in the form `F`, for futures.
    fn futures<C, F>(&mut self) -> Place
    where
        C: Contestant,
        F: Contestant,
        for<'a> F::Caller<'a>: AsyncCaller,
    {
        let mut place = self.closures::<C>();
        place.cases[Column::Future as usize] = Some(self.add(cases::closed_async::<F>()));
        place
    }

    /// A contestant that cannot reject.
    fn bare(&mut self) -> Place {
        let is_rejection = |column| matches!(column, Column::Rejected | Column::RejectedByTwo);
        let mut place = self.place::<Bare>(|column| !is_rejection(column));
        place.cases[Column::Future as usize] = Some(self.add(cases::closed_async::<Bare>()));
        place
    }
}

impl Measured {
    pub(crate) fn now(rounds: usize) -> Self {
        let mut cases = Cases::default();
        let bare = cases.bare();
        let ours = cases.futures::<AtomicBreaker, AtomicBreaker>();
        let coarse = cases.futures::<Coarse, Coarse>();
        let peers = [
            cases.futures::<Failsafe, Failsafe>(),
            cases.futures::<Recloser, RecloserFutures>(),
            cases.futures::<TowerResilience, TowerResilience>(),
            cases.futures::<CircuitbreakerRs, CircuitbreakerRs>(),
            cases.closures::<CircuitBreakerCrate>(),
            cases.futures::<BreakerCrate, BreakerCrate>(),
            cases.futures::<Nobreak, Nobreak>(),
        ];
        let makes = yardstick::SHARED.iter().chain(yardstick::CLOCKS);
        let yardsticks: Vec<_> = makes
            .map(|make| {
                let places = [1, 2.min(cores())].map(|threads| cases.add(make().by(threads)));
                (make().name, places)
            })
            .collect();

        let figures = measure(&cases.0, rounds);
        let row = |place: Place| Row {
            name: place.name,
            figures: place.cases.map(|case| case.map(|case| figures[case])),
        };
        Self {
            bare: row(bare),
            ours: row(ours),
            coarse: row(coarse),
            peers: peers.into_iter().map(row).collect(),
            yardsticks: yardsticks
                .into_iter()
                .map(|(name, places)| Yardstick {
                    name,
                    figures: places.map(|place| figures[place]),
                })
                .collect(),
        }
    }

    /// The fastest peer.
    pub(crate) fn best_peer(&self, column: Column) -> f64 {
        let peers = self.peers.iter().filter_map(|peer| peer.median(column));
        peers.fold(f64::INFINITY, f64::min)
    }

    /// By one thread and by two.
    pub(crate) fn yardstick(&self, name: &str) -> [f64; 2] {
        let found = self
            .yardsticks
            .iter()
            .find(|yardstick| yardstick.name == name);
        let figures = found.expect("it was measured").figures;
        figures.map(|figure| figure.median)
    }

    pub(crate) fn table(&self) -> Table {
        let titles = Column::ALL.map(Column::title);
        let mut table = Table::new(["crate"].into_iter().chain(titles));
        for row in [&self.bare, &self.ours, &self.coarse]
            .into_iter()
            .chain(&self.peers)
        {
            let figures = row
                .figures
                .map(|figure| figure.map_or("–".into(), |f| f.to_string()));
            table.row([row.name.to_string()].into_iter().chain(figures));
        }
        for ours in [&self.ours, &self.coarse] {
            let ratios = Column::ALL.map(|column| match ours.median(column) {
                Some(median) => format!("**{:.1} ×**", self.best_peer(column) / median),
                None => "–".into(),
            });
            let name = format!("best peer ÷ {}", ours.name);
            table.row([name].into_iter().chain(ratios));
        }
        table
    }

    pub(crate) fn yardsticks(&self) -> Table {
        let mut table = Table::new(["", "one thread", "two threads"]);
        for Yardstick { name, figures } in &self.yardsticks {
            table.row([name.clone(), figures[0].to_string(), figures[1].to_string()]);
        }
        table
    }
}
