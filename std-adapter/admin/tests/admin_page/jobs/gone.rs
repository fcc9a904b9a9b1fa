//! A store that is gone.

use atomic_breaker_std::State;

use super::{Shop, row};
use crate::browser::browser;
use crate::site::row as breaker;
use test_support::faulty_store::Fault;

#[test]
fn a_store_that_is_gone_is_said_on_its_tab_and_breakers_go_on() {
    let Some(browser) = browser() else { return };
    let shop = Shop::new();
    shop.order("order-7");
    shop.site.trip("a.example");
    shop.open(&browser);
    browser.wait_for(&row("order-7"));
    for (fault, words) in [
        (
            Fault::Error("connection refused".to_owned()),
            "connection refused",
        ),
        (Fault::Silence, "did not respond within 5 s"),
    ] {
        shop.store.set(Some(fault));
        let took = browser.wait_for(&format!(
            "document.querySelector('#jobs-notice').textContent.includes({})",
            serde_json::json!(words)
        ));
        println!("figure: that the store is gone ({words}) shows within {took:?}");
        let still = format!("return Boolean({});", row("order-7"));
        assert_eq!(browser.run(&still), true, "what was read stays");
        browser.click("#tab-breakers");
        let notice = browser.text("return document.querySelector('#notice').textContent;");
        assert_eq!(notice, "");
        browser.wait_for(&breaker("a.example"));
        browser.click("#rows tr:nth-child(1) button");
        browser.press("#commands", "Reset");
        browser.press("#confirm", "Reset");
        browser.wait_for("document.querySelector('#result').textContent.startsWith('Done')");
        assert_eq!(
            shop.site.hosts.state(&"a.example".to_owned()),
            State::Closed
        );
        browser.press("#dialog", "Close");
        shop.site.trip("a.example");
        browser.click("#tab-jobs");
    }
    shop.store.set(None);
    browser.wait_for("document.querySelector('#jobs-notice').hidden");
}

#[test]
fn a_tab_that_is_not_shown_asks_the_store_for_nothing() {
    let Some(browser) = browser() else { return };
    let shop = Shop::new();
    browser.open(&shop.site.url);
    let asked = "performance.getEntriesByType('resource').filter((it) => it.name.includes('/status')).length";
    browser.wait_for(&format!("{asked} > 2"));
    assert_eq!(shop.store.counted(), 0);
    browser.click("#tab-jobs");
    browser.wait_for("document.querySelector('#jobs-caption').textContent");
    assert!(shop.store.counted() > 0);
}
