// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ten thousand keys.

use std::time::{Duration, Instant};

use crate::site::{Page, row};

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn ten_thousand_keys_stay_usable() {
    let page = Page::alone();
    let key = |number: u32| format!("host-{number:05}.example");
    for number in 0..9_990 {
        page.site.fail(&key(number));
    }
    for number in 0..300 {
        page.site.trip(&key(number * 30));
    }
    let started = Instant::now();
    page.open();
    page.wait_for("document.querySelectorAll('#rows tr').length === 100");
    let load = started.elapsed();
    let nodes = page.elements();
    let caption = page.text_of("#caption");
    assert_eq!(caption, "9991 breakers, 1 to 100 of 9991 shown");

    page.click("#search");
    let started = Instant::now();
    page.keys("09876");
    page.wait_for("document.querySelectorAll('#rows tr').length === 1");
    page.wait_for(&row(&key(9_876)));
    let search = started.elapsed();

    page.run(
        "const search = $('#search'); search.value = ''; search.dispatchEvent(new Event('input'));",
    );
    page.wait_for("document.querySelectorAll('#rows tr').length === 100");
    page.run("$('#next').scrollIntoView({ block: 'center' });");
    let started = Instant::now();
    page.click("#next");
    page.wait_for("$('#page').textContent === '101 to 200 of 9991'");
    let next = started.elapsed();

    let scrolled = page.run(
        "const began = performance.now(); window.scrollTo(0, document.body.scrollHeight); \
         document.body.offsetHeight; return performance.now() - began;",
    );
    page.press("#states", "Open 300");
    page.wait_for("$('#caption').textContent.startsWith('300 breakers')");

    // All at once, on the page that is looked at.
    let started = Instant::now();
    for number in 0..200 {
        page.site.trip(&key(number * 30 + 1));
    }
    page.wait_for("$('#caption').textContent.startsWith('500 breakers')");
    let burst = started.elapsed();
    let after = page.elements();
    println!(
        "figure: 10,000 keys: shown in {load:?}, searched in {search:?}, next page in {next:?}, scrolled in {scrolled} ms, \
         200 trips at once in {burst:?}; {nodes} elements, {after} later"
    );
    for (what, took) in [
        ("load", load),
        ("search", search),
        ("next", next),
        ("burst", burst),
    ] {
        assert!(took < Duration::from_secs(5), "{what}: {took:?}");
    }
    assert!(nodes < 5_000 && after < 5_000, "{nodes} {after}");
    assert_eq!(page.log(), "[]");
}
