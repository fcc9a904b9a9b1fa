// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jobs that a breaker within their step rejects, or that no worker knows.

use super::{Shop, row};
use serde_json::json;

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn a_job_that_is_held_up_says_how_often_by_what_and_for_how_long() {
    let shop = Shop::new();
    shop.order("order-7");
    shop.held_up(12, true);
    shop.open();
    let shows = |words: &str| {
        let (row, words) = (row("order-7"), json!(words));
        shop.wait_for(&format!("{row}?.innerText.includes({words})"));
    };
    shows("held up 12 times by a breaker that rejects its call, for ");
    shop.manage("order-7");
    let facts = shop.text_of("#job-facts");
    assert!(facts.contains("Not tried"), "{facts}");
    assert!(facts.contains("held up 12 times"), "{facts}");
    shop.press("#job", "Close");
    shop.held_up(1, false);
    // The list is read again and again.
    shows("held up 13 times by workers that do not know it, for ");
    shop.manage("order-7");
    shop.command("Retry now");
    shop.press("#job", "Close");
    let row = row("order-7");
    shop.wait_for(&format!("!{row}.innerText.includes('held up')"));
    assert_eq!(shop.log(), "[]");
}
