// SPDX-License-Identifier: MIT OR Apache-2.0
//! The explanations of a view, a state and a command, before anything is pressed.

use std::time::Duration;

use crate::browser::Browser;
use crate::site::{Page, row};
use atomic_breaker_admin::Operator;
use atomic_breaker_server::Config;

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn a_command_says_with_figures_what_it_will_do_before_it_is_chosen() {
    let page = Page::new();
    let rules = Config::new()
        .consecutive_failures(2)
        .open_for(Duration::from_secs(60))
        .exponential(2, Duration::from_secs(150))
        .jitter_percent(20)
        .probes(3)
        .close_after(5);
    page.site.fail("own.example");
    let own = page
        .site
        .hosts
        .set_config_of(&"own.example".to_owned(), rules);
    own.unwrap();
    page.site.trip("a.example");
    page.open();
    page.manage("own.example");
    page.wait_for_text(
        "#effect-trip",
        "It opens for 1 min, or up to 20 % longer, and rejects calls; then 3 probes at a time; 5 successes close it.",
    );
    page.command("Trip");
    page.wait_for_text(
        "#effect-trip",
        "It stays open for at least 2 min, or up to 20 % longer",
    );
    page.wait_for_text(
        "#effect-probe-now",
        "s are left), and the next call is a probe: 3 probes",
    );
    page.press("#dialog", "Close");
    page.manage("a.example");
    page.wait_for_text(
        "#effect-probe-now",
        "1 probe at a time; 1 success closes it",
    );
    let described = "[...document.querySelectorAll('#commands button')].every((it) => document.getElementById(it.getAttribute('aria-describedby')).textContent)";
    assert!(page.is(described));
    page.press("#commands", "Probe now");
    page.wait_for_text("#question", "1 probe at a time");
}

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn the_time_left_says_of_what_and_the_legend_explains_each_state() {
    let page = Page::new();
    page.site.trip("a.example");
    page.open();
    page.wait_for_row("a.example", "until the next probe");
    page.click("details:has(#legend) summary");
    for words in [
        "a growing share passes, the rest are rejected",
        "by hand: every call passes",
    ] {
        page.wait_for_text("#legend", words);
    }
    assert_eq!(page.all("#legend .state").len(), 6);
}

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn the_page_says_which_process_it_shows() {
    let browser = Browser::start(false);
    let name = "web-3 <b>\u{202e}";
    let page = Page::with(browser, Operator::new("alice"), |admin| {
        admin.instance(name)
    });
    page.open();
    page.wait_for_text("#instance", "web-3 <b>\\u{202e}: this process only");
}

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn rejections_a_label_and_the_runbook_are_on_the_page() {
    let browser = Browser::start(false);
    let runbook = "https://wiki.example.com/breakers?a=<b>&c=\"".replace(['<', '>', '"'], "_");
    let page = Page::with(browser, Operator::new("alice"), |admin| {
        let labels = [("a.example", "Payments <b>\u{202e}")];
        admin.labels("hosts", labels).runbook(&*runbook)
    });
    page.site.trip("a.example");
    for _ in 0..1_234 {
        page.site.fail("a.example");
    }
    page.open();
    page.wait_for_row("a.example", "1,234 rejected");
    page.wait_for_row("a.example", "Payments <b>\\u{202e} · hosts");
    page.wait_for_row("a.example", "a second");
    let link = "$('header .runbook a')";
    assert_eq!(page.text(&format!("{link}.href")), runbook);
    assert_eq!(page.text(&format!("{link}.rel")), "noreferrer");
    page.manage("a.example");
    page.wait_for_text("#facts", "1,234 rejected");
    page.wait_for_text("#dialog .runbook", "Runbook");
    assert_eq!(page.log(), "[]");
}

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn a_link_opens_a_view_and_the_address_follows_it() {
    let page = Page::new();
    for key in ["a b+c.example", "<img src=x onerror=alert(1)>", "other"] {
        page.site.trip(key);
    }
    page.site.fail("a b+c.example, closed");
    let link = |words: &str| format!("{}#{words}", page.site.url);
    // As Prometheus writes it.
    page.browser
        .open(&link("search=a+b%2Bc.example&state=open"));
    page.wait_for_text("#caption", "1 breaker");
    assert!(page.is(&row("a b+c.example")));
    assert_eq!(page.text("$('#search').value"), "a b+c.example");
    page.press("#states", "All 2");
    page.wait_for("location.hash === '#search=a+b%2Bc.example'");
    page.run("$('#search').value = ''; $('#search').dispatchEvent(new Event('input'));");
    page.wait_for("location.hash === ''");
    page.run("location.hash = '#of=hosts&state=open&order=key';");
    page.wait_for_text("#caption", "3 breakers");
    assert_eq!(page.text("$('#of').value"), "hosts");
    page.run("location.hash = '#search=%3Cimg+src=x+onerror=alert(1)%3E';");
    page.wait_for_text("#caption", "1 breaker");
    // What cannot be is ignored.
    page.run("location.hash = '#of=nowhere&state=constructor&order=size&%';");
    page.wait_for_text("#caption", "5 breakers");
    page.wait_for("location.hash === ''");
    assert!(!page.has_dialog());
    assert_eq!(page.log(), "[]");
}
