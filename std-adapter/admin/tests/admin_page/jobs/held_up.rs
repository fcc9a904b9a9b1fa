//! Jobs that a breaker within their step rejects, or that no worker knows.

use super::{Shop, manage, row};
use crate::browser::browser;

#[test]
fn a_job_that_is_held_up_says_how_often_by_what_and_for_how_long() {
    let Some(browser) = browser() else { return };
    let shop = Shop::new();
    shop.order("order-7");
    shop.held_up(12, true);
    shop.open(&browser);
    let shows = |words: &str| {
        let shown = format!(
            "{}?.innerText.includes({})",
            row("order-7"),
            serde_json::json!(words)
        );
        browser.wait_for(&shown);
    };
    shows("held up 12 times by a breaker that rejects its call, for ");
    manage(&browser, "order-7");
    let facts = browser.text("return document.querySelector('#job-facts').innerText;");
    assert!(
        facts.contains("Not tried") && facts.contains("held up 12 times"),
        "{facts}"
    );
    browser.press("#job", "Close");
    shop.held_up(1, false);
    // The list is read again and again.
    shows("held up 13 times by workers that do not know it, for ");
    manage(&browser, "order-7");
    browser.press("#job-commands", "Retry now");
    browser.press("#job-confirm", "Retry now");
    browser.press("#job", "Close");
    browser.wait_for(&format!(
        "!{}.innerText.includes('held up')",
        row("order-7")
    ));
    assert_eq!(browser.log(), "[]");
}
