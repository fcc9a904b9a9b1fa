// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tried again and cancelled, by mouse and by keyboard.

use atomic_breaker_admin::Operator;
use atomic_breaker_steps::{Status, Store};

use super::{Shop, row};
use crate::browser::{Browser, ENTER, ESCAPE};
use crate::operator::tab_to;
use crate::site::Page;

const ARROW_RIGHT: &str = "\u{e014}";

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn without_jobs_there_is_no_tab() {
    let page = Page::new();
    page.open();
    assert!(page.is("$('#tabs').hidden && $('#jobs').hidden"));
}

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn a_click_retries_a_dead_job_after_a_confirmation() {
    let shop = Shop::new();
    let dead = shop.ended("order-7", Status::Dead, "no such address");
    let waits = shop.order("order-8");
    shop.open();
    shop.wait_for(&row("order-7"));
    assert!(!shop.is(&row("order-8")), "what needs a person comes first");
    shop.manage("order-7");
    shop.wait_for_text("#job-history", "no such address");
    let facts = shop.text_of("#job-facts");
    assert!(
        facts.contains("8 bytes, not shown") && !facts.contains("secret"),
        "{facts}"
    );
    shop.press("#job-commands", "Retry now");
    assert_eq!(
        shop.text_of("#job-question"),
        "Retry now: order-7 (order, job 1)? It is due at once, with as many tries as a new one."
    );
    assert_eq!(shop.status(dead), Status::Dead, "it asks first");
    shop.press("#job-confirm", "Back");
    assert_eq!(shop.status(dead), Status::Dead);
    assert_eq!(
        shop.command("Retry now"),
        "Done: it is due now, with as many tries as a new one"
    );
    assert_eq!(shop.status(dead), Status::Waiting);
    shop.press("#job", "Close");
    shop.press("#jobs-statuses", "Waiting 2");
    shop.manage("order-8");
    assert!(
        shop.command("Cancel job")
            .starts_with("Done: it is cancelled")
    );
    assert_eq!(shop.status(waits), Status::Cancelled);
    assert_eq!(shop.status(dead), Status::Waiting);
    shop.wait_for("!$('#job-commands button')");
    assert_eq!(shop.log(), "[]");
}

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn the_keyboard_alone_retries_a_job() {
    let shop = Shop::new();
    let dead = shop.ended("order-7", Status::Dead, "gone");
    shop.page.open();
    tab_to(&shop, "Breakers");
    shop.has_role(":focus", "tab");
    shop.keys(ARROW_RIGHT);
    assert_eq!(shop.focused(), "Jobs");
    shop.wait_for(&row("order-7"));
    tab_to(&shop, "Manage order-7, job 1");
    shop.keys(ENTER);
    shop.wait_for("$('#job').open");
    tab_to(&shop, "Retry now");
    shop.keys(ENTER);
    assert_eq!(shop.focused(), "Back", "the harmless one has the focus");
    tab_to(&shop, "Retry now");
    shop.keys(ENTER);
    shop.wait_for_text("#job-result", "Done");
    assert_eq!(shop.status(dead), Status::Waiting);
    shop.wait_for("document.activeElement.id === 'job-close'");
    shop.keys(ESCAPE);
    shop.wait_for("!$('#job').open");
    shop.wait_for("document.activeElement.closest('#jobs')");
}

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn a_job_that_has_changed_since_is_left_as_it_is_and_the_page_says_so() {
    let shop = Shop::new();
    let id = shop.order("order-7");
    shop.open();
    shop.manage("order-7");
    shop.press("#job-commands", "Cancel job");
    let claimed = shop.store.jobs.claim("billing", 1, super::LEASE);
    assert_eq!(shop.runtime.block_on(claimed).unwrap().jobs.len(), 1);
    let said = shop.confirm("Cancel job");
    assert!(
        said.starts_with("Not done: it has changed") && said.contains("running"),
        "{said}"
    );
    assert_eq!(shop.status(id), Status::Running);
}

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn a_viewer_is_offered_no_command_and_states_are_shown_only_if_enabled() {
    let browser = Browser::start(false);
    let shop = Shop::with(browser, Operator::viewer("bob"), |admin, steps| {
        admin.steps_with_states("shop", steps)
    });
    shop.order("order-7");
    shop.open();
    shop.manage("order-7");
    let commands = shop.text_of("#job-commands");
    assert_eq!(commands, "You may look, but not change anything.");
    shop.wait_for_text("#job-facts", "\"secret\"");
}
