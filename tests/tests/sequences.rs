//! Random long histories with long times, against the reference; random words; random clocks.
//!
//! What the exploration leaves out: large counts and times, all rules combined, hundreds of
//! transitions. A failure shrinks, prints its seed and is kept in `sequences.proptest-regressions`.

use std::time::Duration;

use atomic_breaker::word::{AtomicU32, AtomicU64, Bits, Word};
use atomic_breaker::{
    Breaker, Cause, Config, EventLog, Failure, ManualClock, Outcome, Permit, Rejected, State, Token,
};
use proptest::prelude::*;
use tests::reference::{Grain, Order, Pass, Reference, Report, Rules, Trip};

/// What can happen in a history. Callers are numbers modulo those there are.
#[derive(Clone, Debug)]
enum Event {
    Ask,
    Tell(usize, Report),
    Operator(Order),
    /// Milliseconds.
    Advance(u64),
    /// To just before, at or after what a caller would be told to wait.
    AdvanceToDeadline(i64),
}

fn reports() -> impl Strategy<Value = Report> {
    prop_oneof![
        6 => Just(Report::Success),
        6 => (0_u32..5).prop_map(Report::Failure),
        1 => Just(Report::TripAtOnce),
        1 => times().prop_map(Report::RetryAfter),
        2 => Just(Report::Nothing),
    ]
}

/// Times of all sizes, milliseconds to weeks.
fn times() -> impl Strategy<Value = u64> {
    (0_u32..31).prop_flat_map(|bits| 0..=1_u64 << bits)
}

fn orders() -> impl Strategy<Value = Order> {
    prop_oneof![
        3 => Just(Order::Trip),
        1 => Just(Order::ForceOpen),
        2 => Just(Order::Release),
        1 => Just(Order::Reset),
        1 => Just(Order::Disable),
        2 => Just(Order::Enable),
    ]
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        12 => Just(Event::Ask),
        12 => (any::<usize>(), reports()).prop_map(|(caller, report)| Event::Tell(caller, report)),
        1 => orders().prop_map(Event::Operator),
        3 => (0_u64..2_000).prop_map(Event::Advance),
        1 => times().prop_map(Event::Advance),
        4 => (-1_i64..3).prop_map(Event::AdvanceToDeadline),
    ];
    prop::collection::vec(event, 1..300)
}

/// Rules that fit the word.
fn rules(grain: Grain) -> impl Strategy<Value = Rules> {
    let (failures, probes) = match grain.significant {
        5 => (255_u32, 15_u32),
        _ => (65_535, 255),
    };
    let longest = grain.longest * grain.tick;
    let time = move |least: u64| times().prop_map(move |time| time.clamp(least, longest));
    let failures = prop_oneof![3 => 1..10_u32, 1 => 1..=failures];
    let trip = prop_oneof![
        failures.clone().prop_map(Trip::InARow),
        (failures, time(1)).prop_map(|(failures, window)| Trip::Within(failures, window)),
    ];
    let growth = prop::option::of((2_u64..10, 1_u64..=1 << 20));
    let probes = prop_oneof![3 => 1..4_u32, 1 => 1..=probes];
    (
        (trip, time(0), growth),
        (probes, 0_u32..4, time(1)),
        (prop::option::of(time(1)), prop::option::of(1_u64..10_000)),
    )
        .prop_map(move |(trip_and_open, probing, (max_retry_after, slow))| {
            let (trip, open_for, growth) = trip_and_open;
            let (probes, extra, lease) = probing;
            let most = if grain.significant == 5 { 15 } else { 255 };
            // A maximum within reach, or no growth.
            let growth = growth.and_then(|(factor, max)| {
                let steps = grain.most_trips - 1;
                let reach = open_for.saturating_mul(factor.saturating_pow(steps));
                let max = (open_for + max).min(reach).min(longest);
                (max >= open_for && open_for > 0).then_some((factor, max))
            });
            Rules {
                trip,
                open_for,
                growth,
                max_retry_after,
                probes: probes as usize,
                close_after: (probes + extra).min(most),
                lease,
                slow,
                grain,
            }
        })
}

fn outcome(report: Report) -> Outcome {
    match report {
        Report::Success => Outcome::Success,
        Report::Failure(weight) => Failure::weighing(weight as u16).into(),
        Report::TripAtOnce => Failure::tripping().into(),
        Report::RetryAfter(time) => Failure::retry_after(Duration::from_millis(time)).into(),
        Report::Nothing => Outcome::Ignored,
    }
}

/// The real breaker and the reference, and the permits that both granted.
struct Pair<'a, W: Word> {
    real: Breaker<&'a ManualClock, W, (), &'a EventLog<4>>,
    reference: Reference,
    held: Vec<(Token<W::Bits>, Pass)>,
    /// Nothing stored is older than this.
    oldest: u64,
    /// The time wraps after so many milliseconds, less the guard band.
    reach: u64,
    /// Permits alias after so many transitions.
    epochs: u64,
}

impl<W: Word> Pair<'_, W> {
    fn step(&mut self, event: &Event) -> Result<(), TestCaseError> {
        match *event {
            Event::Ask => match (self.real.acquire(), self.reference.ask()) {
                (Ok(permit), Ok(pass)) => {
                    prop_assert_eq!(permit.is_probe(), pass.is_probe);
                    self.held.push((permit.into_token(), pass));
                }
                (Err(rejected), Err(wait)) => {
                    prop_assert_eq!(rejected.retry_in_ms().map(u64::from), wait);
                }
                (real, wait) => prop_assert!(false, "{:?}, reference {:?}", real, wait),
            },
            Event::Tell(_, _) if self.held.is_empty() => {}
            Event::Tell(caller, report) => {
                let (token, pass) = self.held.swap_remove(caller % self.held.len());
                self.real.resume(token).report(outcome(report));
                self.reference.hear(pass, report);
            }
            Event::Operator(order) => self.obey(order),
            Event::Advance(ms) => self.advance(ms),
            Event::AdvanceToDeadline(more) => {
                let wait = self.reference.wait().unwrap_or(0);
                self.advance(wait.saturating_add_signed(more));
            }
        }
        self.compare()?;
        self.reference.told = None;
        let generation = self.reference.generation;
        self.held
            .retain(|(_, pass)| generation - pass.generation < self.epochs);
        Ok(())
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Trip => self.real.trip(),
            Order::ForceOpen => self.real.force_open(),
            Order::Release => self.real.release(),
            Order::Reset => self.real.reset(),
            Order::Disable => self.real.disable(),
            Order::Enable => self.real.enable(),
        }
        self.reference.obey(order);
    }

    /// Moves both clocks. Before a stored time gets so old that it wraps, everything is reset: what
    /// happens then is another property below.
    fn advance(&mut self, ms: u64) {
        if self.reference.now + ms - self.oldest >= self.reach {
            self.obey(Order::Reset);
            let _ = self.real.observer().pop();
            self.reference.told = None;
            self.held.clear();
            self.oldest = self.reference.now + ms;
        }
        self.reference.now += ms;
        self.real.clock().advance(Duration::from_millis(ms));
    }

    fn compare(&self) -> Result<(), TestCaseError> {
        let told = self.real.observer().pop();
        prop_assert_eq!(self.real.observer().pop(), None, "told twice");
        let expected = self.reference.told;
        prop_assert_eq!(
            told.map(|told| (told.from, told.to)),
            expected.map(|it| (it.from, it.to))
        );
        prop_assert_eq!(told.map(|told| told.cause), expected.map(|it| it.cause));
        let opened = told.map(|told| u64::from(told.open_for_ms));
        prop_assert_eq!(opened, expected.map(|it| it.open_for));

        let snapshot = self.real.snapshot();
        prop_assert_eq!(snapshot.state(), self.reference.state());
        prop_assert_eq!(u32::from(snapshot.trips()), self.reference.trips);
        let wait = snapshot.retry_in().map(|time| time.as_millis() as u64);
        prop_assert_eq!(wait, self.reference.wait());
        prop_assert_eq!(
            u64::from(snapshot.epoch()),
            self.reference.generation % self.epochs
        );
        prop_assert_eq!(self.real.check(), Ok(()));
        Ok(())
    }
}

fn play<W: Word>(
    word: W,
    rules: &Rules,
    start: u64,
    wrap_ticks: u64,
    epochs: u64,
    events: &[Event],
) -> Result<(), TestCaseError> {
    let clock = ManualClock::starting_at(start as u32);
    let log = EventLog::new();
    let real = Breaker::try_from_parts(word, rules.config(), &clock, (), &log)
        .map_err(|error| TestCaseError::fail(error.to_string()))?;
    let guard = if epochs == 16 { 64 } else { 1 << 16 };
    let mut pair = Pair {
        real,
        reference: Reference::new(rules.clone(), start),
        held: Vec::new(),
        oldest: start,
        // Slow calls are measured by the clock itself, up to half its range.
        reach: ((wrap_ticks - guard - 2) * rules.grain.tick).min(1 << 31),
        epochs,
    };
    for event in events {
        pair.step(event)?;
    }
    Ok(())
}

fn ticks() -> impl Strategy<Value = u32> {
    prop_oneof![Just(6), 0_u32..=16]
}

/// Any word, valid ones as likely as not.
fn any_bits() -> impl Strategy<Value = u64> {
    let fields = (
        0_u64..4,
        0_u64..1 << 16,
        0_u64..1 << 9,
        0_u64..32,
        any::<u32>(),
    );
    prop_oneof![
        any::<u64>(),
        fields.prop_map(|(state, load, epoch, trips, time)| {
            state | load << 2 | epoch << 18 | trips << 27 | u64::from(time) << 32
        }),
    ]
}

/// Any word in use: it never panics, never wedges, and is healed once if it is no state.
fn survives<W: Word + From<W::Bits>>(
    bits: W::Bits,
    rules: &Rules,
    now: u32,
    events: &[Event],
) -> Result<(), TestCaseError> {
    let clock = ManualClock::starting_at(now);
    let log = EventLog::<512>::new();
    let real = Breaker::from_parts(W::from(bits), rules.config(), &clock, (), &log);
    let is_corrupt = bits.check().is_err();
    prop_assert_eq!(real.check().is_err(), is_corrupt);
    let mut held = Vec::new();
    for event in events {
        match *event {
            Event::Ask => held.extend(real.acquire().map(Permit::into_token)),
            Event::Tell(_, _) if held.is_empty() => {}
            Event::Tell(caller, report) => {
                let token = held.swap_remove(caller % held.len());
                real.resume(token).report(outcome(report));
            }
            Event::Operator(Order::Trip) => real.trip(),
            Event::Operator(_) | Event::AdvanceToDeadline(_) => {}
            Event::Advance(ms) => clock.advance(Duration::from_millis(ms)),
        }
    }
    // All permits are lost. Whoever waits as told gets through, in two turns at most: an open
    // breaker, then probes that are lost.
    let forced = |state| state == State::ForcedOpen;
    for _ in 0..2 {
        let Err(rejected) = real.acquire() else { break };
        let wait = rejected.retry_in();
        prop_assert_eq!(wait.is_none(), forced(rejected.state()));
        clock.advance(wait.unwrap_or_default());
    }
    prop_assert!(real.acquire().is_ok() || forced(real.state()));
    real.reset();
    prop_assert!(real.check().is_ok());
    let healed = std::iter::from_fn(|| log.pop())
        .filter(|told| told.cause == Cause::CorruptWord)
        .count();
    prop_assert_eq!(healed, usize::from(is_corrupt));
    Ok(())
}

/// Trips, then asks at times of a clock that goes on and steps back: never early, never long late.
fn keeps_time(
    word: impl Word,
    config: Config,
    start: u32,
    tick: u64,
    guard_ticks: u64,
    steps: &[(u64, u64)],
) -> Result<(), TestCaseError> {
    let clock = ManualClock::starting_at(start);
    let breaker = Breaker::over(word, config, &clock);
    breaker.trip();
    let stored = breaker.snapshot().open_for().unwrap().as_millis() as u64;
    let wanted = breaker.snapshot();
    prop_assert_eq!(wanted.state(), State::Open);
    let guard = guard_ticks * tick;
    // Time since the trip, as the clock shows it; the clock starts this far behind zero, so that it
    // never steps back behind the trip by as much as the guard band, less the tick that is rounded.
    let below = guard - tick;
    let mut now = below;
    for &(forward, back) in steps {
        let back = back.min(now + forward);
        now = now + forward - back;
        clock.advance(Duration::from_millis(forward));
        clock.step_back(Duration::from_millis(back));
        match breaker.acquire() {
            Ok(_) => {
                prop_assert!(
                    now >= below + stored,
                    "early: {} of {}",
                    now,
                    below + stored
                );
                return Ok(());
            }
            Err(rejected) => {
                let wait = rejected.retry_in().unwrap();
                let most = Duration::from_millis(stored + guard + tick);
                prop_assert!(wait <= most, "{:?} of {:?}", wait, most);
            }
        }
    }
    let wait = breaker.acquire().err().and_then(Rejected::retry_in);
    clock.advance(wait.unwrap_or_default());
    prop_assert!(breaker.acquire().is_ok(), "as told");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 4_000,
        failure_persistence: Some(Box::new(
            proptest::test_runner::FileFailurePersistence::WithSource("proptest-regressions"),
        )),
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_history_on_the_64_bit_word_is_the_references(
        rules in rules(Grain::WIDE),
        start in 1_u64..1 << 32,
        events in events(),
    ) {
        play(AtomicU64::new(0), &rules, start, 1 << 32, 512, &events)?;
    }

    #[test]
    fn a_history_on_the_32_bit_word_is_the_references(
        (rules, events) in ticks().prop_flat_map(|n| (rules(Grain::narrow(1 << n)), events())),
        start in 1_u64..1 << 32,
    ) {
        play(AtomicU32::new(0), &rules, start, 1 << 15, 16, &events)?;
    }

    #[test]
    fn any_64_bits_are_a_state_or_are_healed_and_never_wedge(
        bits in any_bits(),
        rules in rules(Grain::WIDE),
        now in any::<u32>(),
        events in events(),
    ) {
        survives::<AtomicU64>(bits, &rules, now, &events)?;
    }

    #[test]
    fn any_32_bits_are_a_state_or_are_healed_and_never_wedge(
        bits in any::<u32>(),
        (rules, now) in (ticks().prop_flat_map(|n| rules(Grain::narrow(1 << n))), any::<u32>()),
        events in events(),
    ) {
        survives::<AtomicU32>(bits, &rules, now, &events)?;
    }

    #[test]
    fn the_gate_never_opens_early_and_never_long_late_whatever_the_clock_does(
        open_for in times(),
        start in any::<u32>(),
        tick in ticks(),
        steps in prop::collection::vec((times(), times()), 1..20),
    ) {
        let wide = Config::new().open_for(Duration::from_millis(open_for));
        keeps_time(AtomicU64::new(0), wide, start, 1, 1 << 16, &steps)?;
        let open_for = open_for.min(1 << (14 + tick));
        let narrow = Config::new()
            .open_for(Duration::from_millis(open_for))
            .probe_lease(Duration::from_millis(1))
            .tick_log2_ms(tick);
        keeps_time(AtomicU32::new(0), narrow, start, 1 << tick, 64, &steps)?;
    }

    #[test]
    fn jitter_lengthens_by_at_most_its_share(
        open_for in times(),
        percent in 0_u32..=100,
        seed in any::<u32>(),
        now in any::<u32>(),
    ) {
        let longest = u64::from(percent) * open_for / 100 + open_for + 1;
        prop_assume!(longest < 1 << 31);
        let clock = ManualClock::starting_at(now);
        let config = Config::new()
            .open_for(Duration::from_millis(open_for))
            .jitter_percent(percent)
            .seed(seed);
        let breaker = Breaker::over(AtomicU64::new(0), config, &clock);
        breaker.trip();
        let stored = breaker.snapshot().open_for().unwrap().as_millis() as u64;
        prop_assert!(stored >= open_for);
        prop_assert!(stored <= longest + longest / 2_048 + 1, "{} of {}", stored, longest);
    }
}
