// SPDX-License-Identifier: MIT OR Apache-2.0
//! A half-open word is taken over by rules with any other numbers of probes and successes.

use atomic_breaker::{Breaker, Config, ManualClock, Permit, State, Token, Transition, Wait};

use super::support::{AnyWord, Tested, ms, on_both_words, rules};

const LEASE: u64 = 100;

/// All numbers of probes, and of successes that close, up to four.
fn numbers() -> impl Iterator<Item = (u32, u32)> {
    (1..=4).flat_map(|close_after| (1..=close_after).map(move |probes| (probes, close_after)))
}

fn config((probes, close_after): (u32, u32)) -> Config {
    rules()
        .open_for(ms(0))
        .probe_lease(ms(LEASE))
        .cancel_limit(ms(10_000))
        .probes(probes)
        .close_after(close_after)
}

/// A half-open word with this many successes, and the probes in flight.
fn live<'a, W: AnyWord>(
    word: &'a W,
    numbers: (u32, u32),
    clock: &'a ManualClock,
    (successes, in_flight): (u32, u32),
    apart: u64,
) -> Vec<Token<W::Bits>> {
    let old = Breaker::over(word, config(numbers), clock);
    old.trip();
    old.probe_now();
    for _ in 0..successes {
        old.acquire().unwrap().success();
    }
    let probes = (0..in_flight).map(|_| {
        clock.advance(ms(apart));
        old.acquire().unwrap().into_token()
    });
    let probes = probes.collect();
    let snapshot = old.snapshot();
    assert_eq!(snapshot.state(), State::HalfOpen);
    assert_eq!(u32::from(snapshot.probes_in_flight()), in_flight);
    assert_eq!(u32::from(snapshot.successes()), successes);
    probes
}

/// The numbers before and after, and whether the probe that was admitted last reports first.
#[derive(Clone, Copy)]
struct Case {
    old: (u32, u32),
    new: (u32, u32),
    is_backwards: bool,
}

/// Checks every half-open word that one set of numbers can leave to another, with the probes in flight.
fn every_pair<W: AnyWord>(apart: u64, check: impl Fn(&Tested<'_, &W>, Vec<Token<W::Bits>>, Case)) {
    let mut words = 0;
    for old in numbers() {
        for new in numbers() {
            for successes in 0..old.1 {
                for in_flight in 0..=old.0.min(old.1 - successes) {
                    for is_backwards in [false, true] {
                        let (word, clock) = (W::fresh(), ManualClock::starting_at(1_000));
                        let counted = (successes, in_flight);
                        let mut probes = live(&word, old, &clock, counted, apart);
                        if is_backwards {
                            probes.reverse();
                        }
                        let breaker = Breaker::over(&word, config(new), &clock);
                        let case = Case {
                            old,
                            new,
                            is_backwards,
                        };
                        check(&breaker, probes, case);
                        words += 1;
                    }
                }
            }
        }
    }
    assert!(words > 1_000, "{words}");
}

/// No probe is in flight any more, so no call must be rejected.
fn passes<W: AnyWord>(breaker: &Tested<'_, &W>) {
    let permit = breaker.acquire();
    assert!(permit.is_ok(), "{permit:?} {breaker:?}");
    assert_eq!(breaker.check(), Ok(()));
}

fn no_call_is_rejected_with_no_probe_in_flight<W: AnyWord>() {
    type End<W> = for<'a, 'b> fn(Permit<&'a Tested<'b, &'b W>>) -> Option<Transition>;
    let ends: [End<W>; 2] = [|it| it.success(), |it| it.cancel()];
    for end in ends {
        // All admitted in one tick.
        every_pair::<W>(0, |breaker, probes, _| {
            for probe in probes {
                end(breaker.resume(probe));
            }
            passes(breaker);
        });
        // One after the other; all but the case below.
        every_pair::<W>(3, |breaker, probes, case| {
            if is_out_of_order(case) {
                return;
            }
            for probe in probes {
                end(breaker.resume(probe));
            }
            passes(breaker);
        });
    }
}

/// Several probes are in flight by the old rules. The new rules allow one, and the last probe to report is not
/// the last one admitted, so it is presumed lost.
fn is_out_of_order(case: Case) -> bool {
    case.old.0 > 1 && case.new.0 == 1 && case.is_backwards
}

/// The slot is freed when the lease ends, as documented.
fn from_several_probes_to_one_costs_a_lease_at_most<W: AnyWord>() {
    every_pair::<W>(3, |breaker, probes, case| {
        if !is_out_of_order(case) {
            return;
        }
        for probe in probes {
            breaker.resume(probe).cancel();
        }
        if let Err(rejected) = breaker.acquire() {
            let Wait::AtMost(wait) = rejected.wait() else {
                panic!("{rejected:?}")
            };
            assert!(wait <= ms(LEASE), "{wait:?}");
            breaker.clock().advance(wait);
        } else {
            breaker.reset();
        }
        passes(breaker);
    });
}

/// The permits report to the breaker that granted them, under the rules that admitted them.
fn reports_to_the_breaker_of_the_old_rules_count<W: AnyWord>() {
    every_pair::<W>(3, |breaker, probes, case| {
        let before = Breaker::over(breaker.word(), config(case.old), breaker.clock());
        for probe in probes {
            before.resume(probe).cancel();
        }
        assert_eq!(breaker.snapshot().probes_in_flight(), 0);
        passes(breaker);
    });
}

/// Every pair closes by successes, without a wait, and by no more of them than it needs.
fn every_word_that_is_taken_over_closes_by_successes<W: AnyWord>() {
    every_pair::<W>(0, |breaker, probes, case| {
        for probe in probes {
            breaker.resume(probe).success();
        }
        let mut more = 0;
        while breaker.state() == State::HalfOpen {
            breaker.acquire().unwrap().success();
            more += 1;
            assert!(more <= case.new.1, "{more} successes");
        }
        assert_eq!(breaker.state(), State::Closed);
    });
}

/// With more successes than the new rules need, one more is needed.
fn a_smaller_close_after_waits_for_one_success<W: AnyWord>() {
    let (word, clock) = (W::fresh(), ManualClock::new());
    let probes = live(&word, (1, 4), &clock, (3, 0), 0);
    assert!(probes.is_empty());
    let breaker = Breaker::over(&word, config((1, 2)), &clock);
    assert_eq!(breaker.snapshot().wait(), None);
    let probe = breaker.acquire().unwrap();
    assert!(breaker.acquire().is_err(), "one at a time");
    probe.success();
    assert_eq!(breaker.state(), State::Closed);
}

on_both_words!(
    no_call_is_rejected_with_no_probe_in_flight,
    from_several_probes_to_one_costs_a_lease_at_most,
    reports_to_the_breaker_of_the_old_rules_count,
    every_word_that_is_taken_over_closes_by_successes,
    a_smaller_close_after_waits_for_one_success,
);
