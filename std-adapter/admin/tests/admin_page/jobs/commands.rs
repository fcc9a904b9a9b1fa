//! Tried again and cancelled, by mouse and by keyboard.

use atomic_breaker_admin::Operator;
use atomic_breaker_std::steps::{Status, Store};

use super::{Shop, manage, result, row};
use crate::browser::{ENTER, ESCAPE, browser};
use crate::operator::tab_to;
use crate::site::Site;

const ARROW_RIGHT: &str = "\u{e014}";

#[test]
fn where_there_are_no_jobs_there_is_no_tab() {
    let Some(browser) = browser() else { return };
    let site = Site::new();
    browser.open(&site.url);
    let hidden =
        "return document.querySelector('#tabs').hidden && document.querySelector('#jobs').hidden;";
    assert_eq!(browser.run(hidden), true);
}

#[test]
fn a_click_has_a_dead_job_tried_again_after_it_has_asked() {
    let Some(browser) = browser() else { return };
    let shop = Shop::new();
    let dead = shop.ended("order-7", Status::Dead, "no such address");
    let waits = shop.order("order-8");
    shop.open(&browser);
    browser.wait_for(&row("order-7"));
    let shown = format!("return Boolean({});", row("order-8"));
    assert_eq!(
        browser.run(&shown),
        false,
        "what needs a person is shown first"
    );
    manage(&browser, "order-7");
    browser
        .wait_for("document.querySelector('#job-history').innerText.includes('no such address')");
    let facts = browser.text("return document.querySelector('#job-facts').innerText;");
    assert!(
        facts.contains("8 bytes, not shown") && !facts.contains("secret"),
        "{facts}"
    );
    browser.press("#job-commands", "Retry now");
    let question = browser.text("return document.querySelector('#job-question').textContent;");
    assert_eq!(
        question,
        "Retry now: order-7 (order, job 1)? It is due at once, with as many tries as a new one."
    );
    assert_eq!(shop.status(dead), Status::Dead, "it asks first");
    browser.press("#job-confirm", "Back");
    assert_eq!(shop.status(dead), Status::Dead);
    browser.press("#job-commands", "Retry now");
    browser.press("#job-confirm", "Retry now");
    assert_eq!(
        result(&browser),
        "Done: it is due now, with as many tries as a new one"
    );
    assert_eq!(shop.status(dead), Status::Waiting);
    browser.press("#job", "Close");
    browser.press("#jobs-statuses", "Waiting 2");
    manage(&browser, "order-8");
    browser.press("#job-commands", "Cancel job");
    browser.press("#job-confirm", "Cancel job");
    assert!(result(&browser).starts_with("Done: it is cancelled"));
    assert_eq!(
        (shop.status(waits), shop.status(dead)),
        (Status::Cancelled, Status::Waiting)
    );
    browser.wait_for("!document.querySelector('#job-commands button')");
    assert_eq!(browser.log(), "[]");
}

#[test]
fn the_keyboard_alone_has_a_job_tried_again() {
    let Some(browser) = browser() else { return };
    let shop = Shop::new();
    let dead = shop.ended("order-7", Status::Dead, "gone");
    browser.open(&shop.site.url);
    tab_to(&browser, "Breakers");
    assert_eq!(browser.role(&browser.active()), "tab");
    browser.keys(ARROW_RIGHT);
    assert_eq!(browser.name(&browser.active()), "Jobs");
    browser.wait_for(&row("order-7"));
    tab_to(&browser, "Manage order-7, job 1");
    browser.keys(ENTER);
    browser.wait_for("document.querySelector('#job').open");
    tab_to(&browser, "Retry now");
    browser.keys(ENTER);
    let name = browser.name(&browser.active());
    assert_eq!(name, "Back", "the harmless one has the focus");
    tab_to(&browser, "Retry now");
    browser.keys(ENTER);
    assert!(result(&browser).starts_with("Done"));
    assert_eq!(shop.status(dead), Status::Waiting);
    browser.wait_for("document.activeElement.id === 'job-close'");
    browser.keys(ESCAPE);
    browser.wait_for("!document.querySelector('#job').open");
    let is_back = "document.activeElement.closest('#jobs')";
    browser.wait_for(is_back);
}

#[test]
fn a_job_that_changes_meanwhile_is_left_as_it_is_and_that_is_said() {
    let Some(browser) = browser() else { return };
    let shop = Shop::new();
    let id = shop.order("order-7");
    shop.open(&browser);
    manage(&browser, "order-7");
    browser.press("#job-commands", "Cancel job");
    let claimed = shop.store.jobs.claim("billing", 1, super::LEASE);
    assert_eq!(shop.runtime.block_on(claimed).unwrap().jobs.len(), 1);
    browser.press("#job-confirm", "Cancel job");
    let said = result(&browser);
    assert!(
        said.starts_with("Not done: it has changed") && said.contains("running"),
        "{said}"
    );
    assert_eq!(shop.status(id), Status::Running);
}

#[test]
fn a_viewer_is_offered_nothing_and_states_are_shown_where_the_service_says_so() {
    let Some(browser) = browser() else { return };
    let shop = Shop::with(Operator::viewer("bob"), |admin, steps| {
        admin.steps_with_states("shop", steps)
    });
    shop.order("order-7");
    shop.open(&browser);
    manage(&browser, "order-7");
    let commands = browser.text("return document.querySelector('#job-commands').innerText;");
    assert_eq!(commands, "You may look, but not change anything.");
    browser.wait_for("document.querySelector('#job-facts').innerText.includes('\"secret\"')");
}
