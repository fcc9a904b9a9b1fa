// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ten thousand jobs.

use std::time::{Duration, Instant};

use super::{Shop, row};
use crate::browser::Browser;

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn ten_thousand_jobs_stay_usable() {
    let shop = Shop::of(Browser::start(true));
    for number in 0..10_000 {
        shop.order(&format!("order-{number:05}"));
    }
    shop.page.open();
    let started = Instant::now();
    shop.click("#tab-jobs");
    shop.wait_for("document.querySelectorAll('#jobs-rows tr').length === 100");
    let load = started.elapsed();
    shop.wait_for("$('#jobs-caption').textContent === '100 jobs of 10000 shown, by number'");
    let nodes = shop.elements();
    shop.run("$('#jobs-next').scrollIntoView({ block: 'center' });");
    let started = Instant::now();
    shop.click("#jobs-next");
    shop.wait_for(&row("order-00100"));
    let next = started.elapsed();
    shop.wait_for("$('#jobs-page').textContent === 'Page 2'");
    shop.click("#jobs-previous");
    shop.wait_for(&row("order-00000"));
    shop.run("$('#jobs-search').scrollIntoView({ block: 'center' });");
    shop.click("#jobs-search");
    let started = Instant::now();
    shop.keys("order-09876");
    shop.wait_for("document.querySelectorAll('#jobs-rows tr').length === 1");
    shop.wait_for(&row("order-09876"));
    let search = started.elapsed();
    println!(
        "figure: 10,000 jobs: shown in {load:?}, next page in {next:?}, one found by its key in {search:?}; {nodes} elements"
    );
    for (what, took) in [("load", load), ("next", next), ("search", search)] {
        assert!(took < Duration::from_secs(5), "{what}: {took:?}");
    }
    assert!(nodes < 5_000, "{nodes}");
    assert_eq!(shop.log(), "[]");
}
