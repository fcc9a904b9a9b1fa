//! What every engine does alike: one function per promise, for whatever engine. Times are short, so that real
//! engines can be asked, too.

mod messages;
mod probing;
mod same;
mod voting;

pub(crate) use messages::*;
pub(crate) use probing::*;
pub(crate) use same::*;
pub(crate) use voting::*;

use atomic_breaker_fleet::{
    Answer, Ask, Fleet, InstanceId, Message, Messages, Name, Notice, Period, PeriodId, Verdict,
};
use std::time::Duration;

/// A test for each promise. `$run` gives an engine that is fresh to what it is given, in a runtime.
#[macro_export]
macro_rules! contract {
    ($run:ident) => {
        $crate::contract! {
            $run:
            a_quorum_of_instances_opens_and_fewer_do_not
            one_instance_that_votes_again_and_again_counts_once
            an_old_vote_does_not_count
            a_vote_counts_from_its_trip_on_whenever_it_comes
            a_thousand_votes_at_once_open_exactly_once
            it_is_open_for_as_long_as_a_quorum_says_at_least
            a_vote_within_a_period_learns_of_it
            an_epoch_is_later_than_any_that_a_voter_knows
            epochs_rise_with_each_change
            an_epoch_that_leads_by_more_than_a_year_is_passed_over
            names_of_any_bytes_are_apart
            one_of_many_wins_the_right_to_probe
            whoever_has_the_right_keeps_it_by_asking_again
            a_right_that_lapsed_goes_to_the_next
            a_success_closes
            a_failed_probe_puts_off_the_next_one_only
            a_failure_that_another_confirms_opens_for_as_long_as_both_say
            who_has_failed_confirms_nothing
            a_verdict_counts_once_and_in_its_period_only
            a_failure_of_one_who_was_given_up_does_not_count
            a_success_counts_whoever_has_the_right_by_then
            a_late_verdict_counts_if_nobody_was_faster
            of_an_unknown_breaker_nothing_is_known
            every_change_is_published_to_all_in_order
            reading_tells_what_is_open_and_what_has_closed
            whoever_reads_lives_for_three_polls
            every_engine_answers_as_the_ledger_does
        }
    };
    ($run:ident: $($promise:ident)*) => {$(
        #[test]
        fn $promise() {
            $run(async |engine| $crate::contract::$promise(&engine).await);
        }
    )*};
}

pub(crate) const OPEN_MS: u32 = 5_000;

pub(crate) fn name() -> Name {
    Name::new("payments").unwrap()
}

pub(crate) const fn instance(id: u128) -> InstanceId {
    InstanceId::new(id)
}

pub(crate) const fn vote(quorum: u32) -> Ask {
    Ask::Vote {
        quorum,
        window_ms: 60_000,
        age_ms: 0,
        open_ms: OPEN_MS,
        known: 0,
    }
}

/// A probe found it open for so long, and another instance should wait for 500 ms.
pub(crate) const fn failed(open_ms: u32) -> Verdict {
    Verdict::Failed {
        open_ms,
        pause_ms: 500,
    }
}

/// Asks, and must be answered.
pub(crate) async fn ask(engine: &impl Fleet, from: u128, ask: Ask) -> Answer {
    engine.ask(instance(from), &name(), ask).await.unwrap()
}

pub(crate) fn opened(answer: Answer) -> Period {
    match answer.notice {
        Some(Notice::Open(period)) => period,
        _ => panic!("{answer:?}"),
    }
}

/// Opens at once.
pub(crate) async fn open(engine: &impl Fleet) -> Period {
    let answer = ask(engine, 1, vote(1)).await;
    assert!(answer.done);
    opened(answer)
}

pub(crate) async fn bid(engine: &impl Fleet, from: u128, id: PeriodId, lease_ms: u32) -> Answer {
    ask(engine, from, Ask::Bid { id, lease_ms }).await
}

pub(crate) async fn judge(
    engine: &impl Fleet,
    from: u128,
    id: PeriodId,
    verdict: Verdict,
) -> Answer {
    ask(engine, from, Ask::Verdict { id, verdict }).await
}

/// The next message, soon.
pub(crate) async fn next(messages: &mut impl Messages) -> Message {
    let next = tokio::time::timeout(Duration::from_secs(10), messages.next());
    next.await.expect("a message within 10 s").unwrap()
}

pub(crate) async fn pause(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}
