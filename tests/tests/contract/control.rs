//! B10: manual control.

use atomic_breaker::{Cause, ManualClock, State};

use super::support::{AnyWord, Diary, Tested, breaker, fail, ms, on_both_words, rules};

const STATES: [State; 5] = [
    State::Closed,
    State::Open,
    State::HalfOpen,
    State::ForcedOpen,
    State::Disabled,
];

type Command<W> = fn(&Tested<'_, W>);
type Row<W> = (&'static str, Command<W>, [Option<State>; 5]);

/// A breaker in the given state, with something counted where the state counts.
fn in_state<W: AnyWord>(state: State, clock: &ManualClock) -> Tested<'_, W> {
    let breaker = breaker::<W>(rules().open_for(ms(10)), clock);
    match state {
        State::Closed => fail(&breaker, 2),
        State::Open => breaker.trip(),
        State::HalfOpen => {
            breaker.trip();
            clock.advance(ms(10));
            let _probe = breaker.acquire().unwrap().into_token();
        }
        State::ForcedOpen => breaker.force_open(),
        State::Disabled => breaker.disable(),
    }
    assert_eq!(breaker.state(), state);
    breaker
}

/// Each command, and where it leads from each of the states; `None` where it does nothing.
fn table<W: AnyWord>() -> [Row<W>; 7] {
    use State::{Closed, Disabled, ForcedOpen, HalfOpen, Open};
    [
        (
            "trip",
            |it| it.trip(),
            [Some(Open), Some(Open), Some(Open), None, None],
        ),
        (
            "force_open",
            |it| it.force_open(),
            [
                Some(ForcedOpen),
                Some(ForcedOpen),
                Some(ForcedOpen),
                None,
                Some(ForcedOpen),
            ],
        ),
        (
            "release",
            |it| it.release(),
            [None, None, None, Some(HalfOpen), None],
        ),
        ("reset", |it| it.reset(), [Some(Closed); 5]),
        (
            "disable",
            |it| it.disable(),
            [
                Some(Disabled),
                Some(Disabled),
                Some(Disabled),
                Some(Disabled),
                None,
            ],
        ),
        (
            "enable",
            |it| it.enable(),
            [None, None, None, None, Some(Closed)],
        ),
        (
            "probe_now",
            |it| it.probe_now(),
            [None, Some(HalfOpen), None, None, None],
        ),
    ]
}

fn each_command_leads_where_it_should_in_one_epoch_or_does_nothing<W: AnyWord>() {
    for (name, command, targets) in table::<W>() {
        for (from, to) in STATES.into_iter().zip(targets) {
            let clock = ManualClock::new();
            let breaker = in_state::<W>(from, &clock);
            let (bits, epoch) = (breaker.to_bits(), breaker.snapshot().epoch());
            command(&breaker);
            if let Some(to) = to {
                assert_eq!(breaker.state(), to, "{name} from {from}");
                assert_eq!(breaker.snapshot().epoch(), epoch + 1, "{name} from {from}");
            } else {
                assert_eq!(breaker.to_bits(), bits, "{name} from {from}");
            }
        }
    }
}

fn each_command_is_told_once_or_not_at_all<W: AnyWord>() {
    for (name, _, targets) in table::<W>() {
        for (from, to) in STATES.into_iter().zip(targets) {
            let clock = ManualClock::starting_at(77);
            let word = W::from(in_state::<W>(from, &clock).to_bits());
            let diary = Diary::default();
            let breaker = atomic_breaker::Breaker::over(word, rules().tick_log2_ms(0), &clock)
                .with_observer(&diary);
            match name {
                "trip" => breaker.trip(),
                "force_open" => breaker.force_open(),
                "release" => breaker.release(),
                "reset" => breaker.reset(),
                "disable" => breaker.disable(),
                "probe_now" => breaker.probe_now(),
                _ => breaker.enable(),
            }
            let told = diary.transitions.borrow();
            assert_eq!(told.len(), usize::from(to.is_some()), "{name} from {from}");
            for transition in &*told {
                assert_eq!((transition.from, Some(transition.to)), (from, to));
                assert_eq!(transition.cause, Cause::Manual);
                assert_eq!(transition.at_ms, clock_reading(&clock));
            }
        }
    }
}

fn clock_reading(clock: &ManualClock) -> u32 {
    atomic_breaker::Clock::now_ms(clock)
}

fn a_trip_by_hand_grows_with_trips_but_not_when_open_already<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().open_for(ms(10)).exponential(2, ms(40)), &clock);
    breaker.trip();
    clock.advance(ms(4));
    breaker.trip();
    assert_eq!(breaker.snapshot().trips(), 1);
    assert_eq!(
        breaker.acquire().unwrap_err().retry_in(),
        Some(ms(10)),
        "anew"
    );
    clock.advance(ms(10));
    let _probe = breaker.acquire().unwrap();
    breaker.trip();
    assert_eq!(breaker.snapshot().trips(), 2);
    assert_eq!(breaker.snapshot().open_for(), Some(ms(20)));
}

fn a_probe_now_goes_on_counting_trips<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().open_for(ms(10)).exponential(2, ms(40)), &clock);
    breaker.trip();
    breaker.probe_now();
    assert_eq!(breaker.snapshot().trips(), 1);
    breaker.acquire().unwrap().failure();
    assert_eq!(breaker.snapshot().open_for(), Some(ms(20)));
    breaker.probe_now();
    breaker.acquire().unwrap().success();
    assert_eq!(breaker.state(), State::Closed);
}

fn forced_open_refuses_for_ever_and_says_so<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules(), &clock);
    breaker.force_open();
    for _ in 0..20 {
        clock.advance(ms(10_000));
        let rejected = breaker.acquire().unwrap_err();
        assert_eq!(
            (rejected.state(), rejected.retry_in()),
            (State::ForcedOpen, None)
        );
    }
}

fn a_released_breaker_finds_out_by_a_probe<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules(), &clock);
    breaker.force_open();
    breaker.release();
    let probe = breaker.acquire().unwrap();
    assert!(probe.is_probe());
    assert!(breaker.acquire().is_err());
    probe.success();
    assert_eq!(breaker.state(), State::Closed);
}

fn a_disabled_breaker_passes_everything_and_learns_nothing<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().consecutive_failures(1), &clock);
    breaker.disable();
    fail(&breaker, 100);
    assert_eq!(breaker.state(), State::Disabled);
    breaker.enable();
    assert_eq!(breaker.state(), State::Closed);
    assert_eq!(breaker.snapshot().failures(), 0);
}

fn a_reset_clears_the_count_and_the_growth<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().open_for(ms(10)).exponential(2, ms(40)), &clock);
    fail(&breaker, 3);
    breaker.reset();
    assert_eq!(breaker.snapshot().failures(), 0);
    breaker.trip();
    clock.advance(ms(10));
    breaker.acquire().unwrap().failure();
    breaker.reset();
    breaker.trip();
    assert_eq!(breaker.snapshot().open_for(), Some(ms(10)));
}

on_both_words!(
    each_command_leads_where_it_should_in_one_epoch_or_does_nothing,
    each_command_is_told_once_or_not_at_all,
    a_probe_now_goes_on_counting_trips,
    a_trip_by_hand_grows_with_trips_but_not_when_open_already,
    forced_open_refuses_for_ever_and_says_so,
    a_released_breaker_finds_out_by_a_probe,
    a_disabled_breaker_passes_everything_and_learns_nothing,
    a_reset_clears_the_count_and_the_growth,
);
