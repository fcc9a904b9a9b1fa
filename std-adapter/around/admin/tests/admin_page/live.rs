// SPDX-License-Identifier: MIT OR Apache-2.0
//! The page follows what happens.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::browser::Browser;
use crate::site::{Page, row};
use atomic_breaker_admin::Operator;
use atomic_breaker_server::Config;

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn a_trip_shows_within_a_second() {
    let page = Page::alone();
    page.site.fail("a.example");
    page.open();
    page.wait_for(&row("a.example"));
    let mut slowest = Duration::ZERO;
    for key in ["a.example", "new.example", "another.example"] {
        page.site.trip(key);
        slowest = slowest.max(page.wait_for_row(key, "Open"));
    }
    println!("figure: a trip shows within {slowest:?}, the slowest of 3");
    assert!(slowest < Duration::from_secs(1), "{slowest:?}");
    let text = page.text(&format!("{}.innerText", row("a.example")));
    assert!(
        text.contains("failures reached the limit · 503 Service Unavailable"),
        "{text}"
    );
    assert!(
        text.contains("1 h") || text.contains("59 min"),
        "the time left: {text}"
    );
    let first = page.text_of("#history li");
    assert!(
        first.contains("another.example") && first.contains("Closed → Open"),
        "{first}"
    );
    let title = page.text("document.title");
    assert!(title.starts_with("(3 open) shop <production>"), "{title}");
    page.wait_for_text("#announce", "is Open");
}

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn the_time_left_counts_down_until_a_breaker_is_due() {
    let page = Page::new();
    page.site
        .payments
        .breaker()
        .trip_for(Duration::from_millis(1));
    page.site.fail("a.example");
    let shorter = Config::new().open_for(Duration::from_secs(3));
    let set = page
        .site
        .hosts
        .set_config_of(&"a.example".to_owned(), shorter);
    set.unwrap();
    page.site.command("a.example", |host| host.trip());
    page.open();
    for text in ["2 s", "1 s", "Half-open, due", "the next call is a probe"] {
        page.wait_for_row("a.example", text);
    }
}

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn an_outage_is_one_line_and_shows_for_how_long_it_has_been_down() {
    let page = Page::new();
    page.site.trip("a.example");
    page.open();
    page.wait_for_row("a.example", "down for");
    let changed = page.text_of("#history time");
    for _ in 0..3 {
        page.site.command("a.example", |host| host.probe_now());
        page.site.fail("a.example");
    }
    page.wait_for_row("a.example", "a probe failed");
    page.wait_for_text("#history li", "6 changes since");
    assert_eq!(page.all("#history li").len(), 2, "the begin stays");
    assert!(page.text_of("#history li:last-child").contains(&changed));
    let since = page.text(&format!(
        "{}.querySelector('.number').innerText",
        row("a.example")
    ));
    assert!(since.contains("last change"), "{since}");
    page.wait_for(&format!(
        "{}.innerText.match(/down for (\\d+) s/)[1] >= 3",
        row("a.example")
    ));
    page.manage("a.example");
    page.wait_for_text("#facts", "down for");
    page.command("Reset");
    page.wait_for("!$('#facts').innerText.includes('down for')");
}

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn without_a_stream_the_states_are_read_every_few_seconds() {
    let browser = Browser::start(false);
    let page = Page::with(browser, Operator::new("alice"), |admin| admin.streams(1));
    let place = TcpStream::connect(page.site.url.split('/').nth(2).unwrap()).unwrap();
    (&place)
        .write_all(b"GET /deep/breakers/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .unwrap();
    (&place).read_exact(&mut [0; 12]).unwrap();
    page.go(&page.site.url);
    page.wait_for_text("#live", "not live");
    page.site.trip("a.example");
    let took = page.wait_for(&row("a.example"));
    println!("figure: without a stream a trip shows within {took:?}");
    assert!(took < Duration::from_secs(7), "{took:?}");
    drop(place);
    page.wait_for("$('#live').textContent === 'live'");
}

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn an_address_may_contain_a_password() {
    let page = Page::new();
    let url = page.site.url.replacen("http://", "http://alice:secret@", 1);
    page.browser.open(&url);
    page.site.trip("a.example");
    page.wait_for(&row("a.example"));
    assert_eq!(page.log(), "[]");
}

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn the_slash_at_the_end_of_the_address_is_optional() {
    let page = Page::new();
    page.browser.open(page.site.url.trim_end_matches('/'));
    page.site.trip("a.example");
    page.wait_for(&row("a.example"));
    assert_eq!(page.log(), "[]");
}

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn a_lost_server_is_reported_and_found_again() {
    let page = Page::new();
    page.open();
    page.network(true, 0);
    page.wait_for("!$('#notice').hidden");
    page.site.trip("a.example");
    page.network(false, 0);
    page.wait_for(&row("a.example"));
    page.wait_for("$('#notice').hidden && $('#live').textContent === 'live'");
}

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn the_fleet_is_shown() {
    let page = Page::new();
    page.open();
    page.wait_for_text("#fleets li", "0 open by the fleet");
}

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn a_breaker_that_a_fleet_holds_open_says_whose_calls_failed_and_who_probes() {
    let page = Page::new();
    page.site.payments.breaker().trip();
    page.open();
    // As a service whose fleet holds it open would answer.
    let answer = |fleet: &str| {
        page.run(&format!(
            "window.sent ||= window.fetch;
             window.fetch = async (url, ...rest) => {{
                 const response = await window.sent(url, ...rest);
                 if (!String(url).includes('status')) return response;
                 const fleet = JSON.stringify({fleet});
                 return new Response((await response.text()).replaceAll('\"fleet\":null', `\"fleet\":${{fleet}}`));
             }};"
        ));
    };
    answer("{ name: '<b>', stage: 'waiting', probe_in_ms: 12000, is_tripped_here: false }");
    page.wait_for_row(
        "payments",
        "held open by fleet <b>: other instances tripped; one instance probes in 12 s",
    );
    answer("{ name: 'shop', stage: 'probed-elsewhere', probe_in_ms: 0, is_tripped_here: true }");
    page.wait_for_row(
        "payments",
        "held open by fleet shop: this instance and others tripped; another instance is probing",
    );
}
