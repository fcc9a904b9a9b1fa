// SPDX-License-Identifier: MIT OR Apache-2.0
//! A store that is gone.

use atomic_breaker_server::State;

use super::{Shop, row};
use test_support::faulty_store::Fault;

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn a_lost_store_is_reported_on_its_tab_and_breakers_go_on() {
    let shop = Shop::new();
    shop.order("order-7");
    shop.site.trip("a.example");
    shop.open();
    shop.wait_for(&row("order-7"));
    for (fault, words) in [
        (
            Fault::Error("connection refused".to_owned()),
            "connection refused",
        ),
        (Fault::Silence, "did not respond within 5 s"),
    ] {
        shop.store.set(Some(fault));
        let took = shop.wait_for_text("#jobs-notice", words);
        println!("figure: that the store is gone ({words}) shows within {took:?}");
        assert!(shop.is(&row("order-7")), "what was read stays");
        shop.click("#tab-breakers");
        assert_eq!(shop.text_of("#notice"), "");
        shop.page.manage("a.example");
        shop.page.command("Reset");
        assert_eq!(shop.site.state("a.example"), State::Closed);
        shop.press("#dialog", "Close");
        shop.site.trip("a.example");
        shop.click("#tab-jobs");
    }
    shop.store.set(None);
    shop.wait_for("$('#jobs-notice').hidden");
}

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn a_tab_that_is_not_shown_asks_the_store_for_nothing() {
    let shop = Shop::new();
    shop.page.open();
    let asked = "performance.getEntriesByType('resource').filter((it) => it.name.includes('/status')).length";
    shop.wait_for(&format!("{asked} > 2"));
    assert_eq!(shop.store.counted(), 0);
    shop.click("#tab-jobs");
    shop.wait_for("$('#jobs-caption').textContent");
    assert!(shop.store.counted() > 0);
}
