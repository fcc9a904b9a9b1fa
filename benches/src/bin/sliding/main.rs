//! The share of failures within a sliding time, by one and two threads: acquire and success through a whole
//! breaker, by the coarse clock.
//!
//! ```console
//! cargo run --release -p benches --bin sliding
//! ```
//!
//! Prints Markdown, takes about 5 seconds, and exits with 1 if a success costs more than it may, or if two
//! threads are in each other's way.

use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Duration;

use atomic_breaker_std::tally::Call;
use atomic_breaker_std::{
    Breaker, Clock, CoarseClock, Config, Ratio, SlidingRatio, StdClock, Tally, Verdict,
};
use benches::rounds::{Case, Figure, measure};
use benches::table::Table;

const ROUNDS: usize = 101;
/// What a success may cost one thread, in nanoseconds.
const MOST_NS: f64 = 8.0;
/// What each of two threads must get done of what one alone does.
const LEAST_SHARE: f64 = 0.7;

fn main() -> ExitCode {
    let cases: Vec<_> = [1, 2]
        .into_iter()
        .flat_map(|threads| contestants().map(|case| case.by(threads)))
        .collect();
    let figures = measure(&cases, ROUNDS);
    let (one, two) = figures.split_at(cases.len() / 2);
    println!(
        "Nanoseconds per call as each thread sees it: median of {ROUNDS} interleaved rounds (quartiles).\n"
    );
    println!("{}", table(&cases, one, two));
    let share = one[0].median / two[0].median;
    println!("each of two threads gets {share:.2} of one alone done");
    if one[0].median <= MOST_NS && share >= LEAST_SHARE {
        ExitCode::SUCCESS
    } else {
        println!("claimed: at most {MOST_NS} ns, and at least {LEAST_SHARE}");
        ExitCode::FAILURE
    }
}

fn contestants() -> [Case; 5] {
    [
        case("16 shards", CoarseClock, || {
            SlidingRatio::<_, 16>::by(CoarseClock)
        }),
        case("1 shard", CoarseClock, || {
            SlidingRatio::<_, 1>::by(CoarseClock)
        }),
        case("16 shards, `StdClock`", StdClock, || {
            SlidingRatio::<_, 16>::by(StdClock)
        }),
        case("a mutex", CoarseClock, || Locked::by(CoarseClock)),
        case("no tally", CoarseClock, || ()),
    ]
}

fn case<C, T>(name: &str, clock: C, tally: impl Fn() -> T + Send + Sync + 'static) -> Case
where
    C: Clock + Copy + Send + Sync + 'static,
    T: Tally + Send + Sync + 'static,
{
    let has_tally = tally().max_within_ms() > 0;
    Case::new(name, move || {
        let ratio = Ratio::percent(50).within(Duration::from_secs(10));
        let config = Config::new().consecutive_failures(5);
        let config = if has_tally {
            config.failure_ratio(ratio)
        } else {
            config
        };
        let breaker = Breaker::builder(config, clock).tally(tally()).build();
        move |calls| {
            for _ in 0..calls {
                if let Ok(permit) = breaker.acquire() {
                    permit.success();
                }
            }
        }
    })
}

fn table(cases: &[Case], one: &[Figure], two: &[Figure]) -> Table {
    let mut table = Table::new(["", "1 thread", "2 threads"].map(String::from));
    for ((case, one), two) in cases.iter().zip(one).zip(two) {
        table.row([case.name.clone(), one.to_string(), two.to_string()]);
    }
    table
}

/// The same eighths behind a mutex.
struct Locked<C> {
    slices: Mutex<(u32, [(u32, u32); 8])>,
    clock: C,
}

impl<C> Locked<C> {
    fn by(clock: C) -> Self {
        let slices = Mutex::new((0, [(0, 0); 8]));
        Self { slices, clock }
    }
}

impl<C: Clock> Tally for Locked<C> {
    fn max_calls(&self) -> u32 {
        0
    }

    fn max_within_ms(&self) -> u32 {
        u32::MAX
    }

    fn record(&self, call: Call, ratio: Option<Ratio>) -> Verdict {
        let slice_ms = ratio.and_then(Ratio::within_ms).unwrap_or(8) / 8;
        let number = self.clock.now_ms() / slice_ms;
        let mut locked = self.slices.lock().expect("nobody panicked");
        let (last, slices) = &mut *locked;
        for passed in 1..=number.wrapping_sub(*last).min(8) {
            slices[(last.wrapping_add(passed) % 8) as usize] = (0, 0);
        }
        *last = number;
        let slice = &mut slices[(number % 8) as usize];
        slice.0 += 1;
        slice.1 += u32::from(call.failure.is_some());
        Verdict::Keep
    }

    fn clear(&self) {
        self.slices.lock().expect("nobody panicked").1 = [(0, 0); 8];
    }
}
