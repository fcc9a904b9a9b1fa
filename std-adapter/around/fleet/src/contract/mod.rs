// SPDX-License-Identifier: MIT OR Apache-2.0
//! The behaviour that all engines share, as a test for the author of an engine; with it come the [`Ledger`] that
//! defines it, the protocol of an instance ([`Member`]) for simulations, and the faults of
//! [`InProcess`](crate::InProcess).
//!
//! ```
//! use atomic_breaker_fleet::{InProcess, contract};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! # tokio::time::pause();
//! // In a `#[tokio::test]`; a real engine under another prefix each time.
//! contract::check(async || InProcess::new()).await;
//! # }
//! ```
//!
//! The functions beside [`check`] ask an engine about one breaker, for further tests.
#![allow(clippy::missing_panics_doc, reason = "a test that fails")]

mod asking;
mod messages;
mod probing;
mod same;
mod voting;

use crate::engine::Fleet;
pub use crate::ledger::{Ledger, record::KEEP_MS};
pub use crate::member::{Action, Context, Input, Local, Member};
pub use asking::{OPEN_MS, ask, bid, failed, instance, judge, name, next, open, opened, vote};

macro_rules! promises {
    ($new:ident: $($room:ident::$promise:ident)*) => {$({
        // Shown if it fails.
        eprintln!("{}", stringify!($promise));
        $room::$promise(&$new().await).await;
    })*};
}

/// Checks each promise with a fresh engine, which `new` makes: one that knows nothing yet. Some promises take real time
/// to check; together they take a few seconds.
pub async fn check<F: Fleet>(new: impl AsyncFn() -> F) {
    promises! {
        new:
        voting::a_quorum_of_instances_opens_and_fewer_do_not
        voting::one_instance_that_votes_again_and_again_counts_once
        voting::an_old_vote_does_not_count
        voting::a_vote_counts_from_its_trip_on_whenever_it_comes
        voting::a_thousand_votes_at_once_open_exactly_once
        voting::it_is_open_for_as_long_as_a_quorum_says_at_least
        voting::a_vote_within_a_period_learns_of_it
        voting::an_epoch_is_later_than_any_that_a_voter_knows
        voting::an_epoch_that_leads_by_more_than_a_year_is_ignored
        voting::epochs_rise_with_each_change
        voting::names_of_any_bytes_are_apart
        probing::one_of_many_wins_the_right_to_probe
        probing::the_holder_of_the_right_keeps_it_by_asking_again
        probing::a_right_that_lapsed_goes_to_the_next
        probing::a_success_closes
        probing::a_failed_probe_puts_off_the_next_one_only
        probing::a_failure_that_another_confirms_opens_for_as_long_as_both_say
        probing::an_instance_cannot_confirm_its_own_failure
        probing::a_finding_counts_once_and_in_its_period_only
        probing::a_failure_from_an_instance_that_lost_the_right_does_not_count
        probing::a_success_counts_whichever_instance_has_the_right_by_then
        probing::a_late_finding_counts_if_no_other_was_faster
        probing::nothing_is_known_of_an_unknown_breaker
        messages::every_change_is_published_to_all_in_order
        messages::a_reading_has_what_is_open_and_what_has_closed
        messages::a_reader_counts_as_living_for_three_polls
        same::every_engine_answers_as_the_ledger_does
    }
}
