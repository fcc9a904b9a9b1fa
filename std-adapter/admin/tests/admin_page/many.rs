//! Ten thousand keys.

use std::time::{Duration, Instant};

use crate::browser::browser_alone;
use crate::site::{Site, row};

#[test]
fn ten_thousand_keys_stay_usable() {
    let Some(browser) = browser_alone() else {
        return;
    };
    let site = Site::new();
    let key = |number: u32| format!("host-{number:05}.example");
    for number in 0..9_990 {
        site.fail(&key(number));
    }
    for number in 0..300 {
        site.trip(&key(number * 30));
    }
    let started = Instant::now();
    browser.open(&site.url);
    browser.wait_for("document.querySelectorAll('#rows tr').length === 100");
    let load = started.elapsed();
    let nodes = browser
        .run("return document.getElementsByTagName('*').length;")
        .as_u64()
        .unwrap();
    let caption = browser.text("return document.querySelector('#caption').textContent;");
    assert_eq!(caption, "9991 breakers, 1 to 100 of 9991 shown");

    browser.click("#search");
    let started = Instant::now();
    browser.keys("09876");
    browser.wait_for("document.querySelectorAll('#rows tr').length === 1");
    browser.wait_for(&row(&key(9_876)));
    let search = started.elapsed();

    browser.run("const search = document.querySelector('#search'); search.value = ''; search.dispatchEvent(new Event('input'));");
    browser.wait_for("document.querySelectorAll('#rows tr').length === 100");
    browser.run("document.querySelector('#next').scrollIntoView({ block: 'center' });");
    let started = Instant::now();
    browser.click("#next");
    browser.wait_for("document.querySelector('#page').textContent === '101 to 200 of 9991'");
    let next = started.elapsed();

    let scrolled = browser.run(
        "const began = performance.now(); window.scrollTo(0, document.body.scrollHeight); \
         document.body.offsetHeight; return performance.now() - began;",
    );
    browser.press("#states", "Open 300");
    browser.wait_for("document.querySelector('#caption').textContent.startsWith('300 breakers')");

    // All at once, on the page that is looked at.
    let started = Instant::now();
    for number in 0..200 {
        site.trip(&key(number * 30 + 1));
    }
    browser.wait_for("document.querySelector('#caption').textContent.startsWith('500 breakers')");
    let burst = started.elapsed();
    let after = browser
        .run("return document.getElementsByTagName('*').length;")
        .as_u64()
        .unwrap();
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
    assert_eq!(browser.log(), "[]");
}
