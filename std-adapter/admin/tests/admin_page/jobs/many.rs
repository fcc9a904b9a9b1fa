//! Ten thousand jobs.

use std::time::{Duration, Instant};

use super::{Shop, row};
use crate::browser::browser_alone;

#[test]
fn ten_thousand_jobs_stay_usable() {
    let Some(browser) = browser_alone() else {
        return;
    };
    let shop = Shop::new();
    for number in 0..10_000 {
        shop.order(&format!("order-{number:05}"));
    }
    browser.open(&shop.site.url);
    let started = Instant::now();
    browser.click("#tab-jobs");
    browser.wait_for("document.querySelectorAll('#jobs-rows tr').length === 100");
    let load = started.elapsed();
    browser.wait_for("document.querySelector('#jobs-caption').textContent === '100 jobs of 10000 shown, by number'");
    let nodes = browser
        .run("return document.getElementsByTagName('*').length;")
        .as_u64()
        .unwrap();
    browser.run("document.querySelector('#jobs-next').scrollIntoView({ block: 'center' });");
    let started = Instant::now();
    browser.click("#jobs-next");
    browser.wait_for(&row("order-00100"));
    let next = started.elapsed();
    browser.wait_for("document.querySelector('#jobs-page').textContent === 'Page 2'");
    browser.click("#jobs-previous");
    browser.wait_for(&row("order-00000"));
    browser.run("document.querySelector('#jobs-search').scrollIntoView({ block: 'center' });");
    browser.click("#jobs-search");
    let started = Instant::now();
    browser.keys("order-09876");
    browser.wait_for("document.querySelectorAll('#jobs-rows tr').length === 1");
    browser.wait_for(&row("order-09876"));
    let search = started.elapsed();
    println!(
        "figure: 10,000 jobs: shown in {load:?}, next page in {next:?}, one found by its key in {search:?}; {nodes} elements"
    );
    for (what, took) in [("load", load), ("next", next), ("search", search)] {
        assert!(took < Duration::from_secs(5), "{what}: {took:?}");
    }
    assert!(nodes < 5_000, "{nodes}");
    assert_eq!(browser.log(), "[]");
}
