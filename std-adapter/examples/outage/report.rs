//! The table and the text.

use std::fmt::Write;
use std::time::{Duration, Instant};

use atomic_breaker_std::{State, Transition};

use super::load::{Call, Outcome, Run};
use super::scenario::{END, RECOVERY, SLOW, mode_at};

type History = [(Instant, Transition)];

/// What counts, of one run.
struct Figures {
    tried: usize,
    answered: usize,
    in_time: usize,
    wasted: usize,
    waited: Duration,
    refused: usize,
    all: (Duration, Duration),
    outage: (Duration, Duration),
    recovered: Option<Duration>,
}

impl Figures {
    fn of(run: &Run) -> Self {
        let calls = &run.calls;
        let count = |is: &dyn Fn(&Call) -> bool| calls.iter().filter(|call| is(call)).count();
        let failed = |call: &Call| call.outcome == Outcome::Failed;
        let latencies = |is: &dyn Fn(&Call) -> bool| {
            let mut took: Vec<_> = calls
                .iter()
                .filter(|c| is(c))
                .map(|call| call.took)
                .collect();
            took.sort_unstable();
            (percentile(&took, 50), percentile(&took, 99))
        };
        Self {
            tried: calls.len(),
            answered: count(&|call| call.outcome == Outcome::Answered),
            in_time: count(&is_good),
            wasted: count(&failed),
            waited: calls
                .iter()
                .filter(|call| failed(call))
                .map(|call| call.took)
                .sum(),
            refused: count(&|call| call.outcome == Outcome::Refused),
            all: latencies(&|_| true),
            outage: latencies(&|call| mode_at(call.began).is_dead()),
            recovered: recovered(calls),
        }
    }
}

/// Answered before a slow server would have.
fn is_good(call: &Call) -> bool {
    call.outcome == Outcome::Answered && call.took < SLOW
}

fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let index = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(index).copied().unwrap_or_default()
}

/// From the recovery of the server to the first tenth of a second in which nearly all calls are good.
fn recovered(calls: &[Call]) -> Option<Duration> {
    let tenth = Duration::from_millis(100);
    let starts = (0_u32..).map(|n| RECOVERY + tenth * n / 4);
    starts
        .take_while(|start| *start + tenth <= END)
        .find_map(|start| {
            let within = calls
                .iter()
                .filter(|c| (start..start + tenth).contains(&c.began));
            let (all, good) = within.fold((0, 0), |(all, good), call| {
                (all + 1, good + u32::from(is_good(call)))
            });
            (all >= 10 && good * 100 >= all * 95).then(|| start.saturating_sub(RECOVERY))
        })
}

/// Every half-open begins with one probe, and one success closes it.
fn probes(history: &History) -> usize {
    history
        .iter()
        .filter(|(_, told)| told.to == State::HalfOpen)
        .count()
}

/// A latency, in the unit that suits it.
fn latency(time: Duration) -> String {
    match time.as_micros() {
        0 => "below 1 µs".into(),
        us @ 1..1_000 => format!("{us} µs"),
        _ => format!("{:.1} ms", time.as_secs_f64() * 1e3),
    }
}

fn or_never(time: Option<Duration>) -> String {
    time.map_or_else(
        || "not within the run".into(),
        |time| format!("{} ms", time.as_millis()),
    )
}

/// The two runs side by side.
pub(crate) fn table(without: &Run, with: &Run, history: &History) -> String {
    let (a, b) = (Figures::of(without), Figures::of(with));
    let row = |name: &str, a: String, b: String| format!("{name:<46}{a:>20}{b:>20}\n");
    let number = |name: &str, a: usize, b: usize| row(name, a.to_string(), b.to_string());
    let seconds = |time: Duration| format!("{:.1} s", time.as_secs_f64());
    let mut table = row("", "without a breaker".into(), "with a breaker".into());
    table += &"─".repeat(86);
    table += "\n";
    table += &number("calls tried", a.tried, b.tried);
    table += &number("answered", a.answered, b.answered);
    table += &number("  in good time", a.in_time, b.in_time);
    table += &number("wasted on a dead server", a.wasted, b.wasted);
    table += &row(
        "  time that callers waited for nothing",
        seconds(a.waited),
        seconds(b.waited),
    );
    table += &number("refused at once by the breaker", a.refused, b.refused);
    table += &row(
        "latency of all calls, half of them below",
        latency(a.all.0),
        latency(b.all.0),
    );
    table += &row("  99 of 100 below", latency(a.all.1), latency(b.all.1));
    table += &row(
        "latency while dead, half of them below",
        latency(a.outage.0),
        latency(b.outage.0),
    );
    table += &row(
        "  99 of 100 below",
        latency(a.outage.1),
        latency(b.outage.1),
    );
    table += &row(
        "from recovery to normal service",
        or_never(a.recovered),
        or_never(b.recovered),
    );
    table += &row("probes used", "–".into(), probes(history).to_string());
    table += "\nWhat the breaker did:\n";
    for (at, told) in history {
        let (from, to) = (told.from.name(), told.to.name());
        let _ = write!(
            table,
            "  {:4.2} s  {from:>9} → {to:<9}  {:?}",
            (*at - with.begin).as_secs_f64(),
            told.cause,
        );
        let _ = match told.open_for() {
            Some(time) => writeln!(table, ", for {time:?}"),
            None => writeln!(table),
        };
    }
    table
}

/// What a newcomer should see in the table, said with its numbers.
pub(crate) fn text(without: &Run, with: &Run, history: &History) -> String {
    let (a, b) = (Figures::of(without), Figures::of(with));
    let mut text = format!(
        "Without a breaker, {} calls were sent to a server that could not answer, and their callers\n\
         waited {:.1} s in all to learn that. With it, {} were; {} others were refused at once, so\n\
         that their callers could do something else.\n",
        a.wasted,
        a.waited.as_secs_f64(),
        b.wasted,
        b.refused,
    );
    let _ = writeln!(
        text,
        "While the server was dead, one call in a hundred took {} or more without the breaker, and\n\
         {} with it. To find out when the server was back, the breaker let {} probes through, one\n\
         at a time, less and less often.",
        latency(a.outage.1),
        latency(b.outage.1),
        probes(history),
    );
    let answered_slowly = |figures: &Figures| figures.answered - figures.in_time;
    let _ = writeln!(
        text,
        "Slow answers count as failures here (the limit is 100 ms): {} callers waited for one with\n\
         the breaker, {} without.",
        answered_slowly(&b),
        answered_slowly(&a),
    );
    let _ = writeln!(
        text,
        "The price: a breaker learns of the recovery by its next probe. Normal service was back\n\
         after {} with it, {} without; `open_for` and the maximum of its growth bound that time.",
        or_never(b.recovered),
        or_never(a.recovered),
    );
    text
}
