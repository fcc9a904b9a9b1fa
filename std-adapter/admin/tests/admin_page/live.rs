//! The page follows what happens.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::browser::{browser, browser_alone};
use crate::site::{Site, row};
use atomic_breaker_admin::Operator;

#[test]
fn a_trip_shows_within_a_second() {
    let Some(browser) = browser_alone() else {
        return;
    };
    let site = Site::new();
    site.fail("a.example");
    browser.open(&site.url);
    browser.wait_for(&row("a.example"));
    let mut slowest = Duration::ZERO;
    for key in ["a.example", "new.example", "another.example"] {
        site.trip(key);
        let shown = format!("{}?.innerText.includes('Open')", row(key));
        slowest = slowest.max(browser.wait_for(&shown));
    }
    println!("figure: a trip shows within {slowest:?}, the slowest of 3");
    assert!(slowest < Duration::from_secs(1), "{slowest:?}");
    let text = browser.text(&format!("return {}.innerText;", row("a.example")));
    assert!(
        text.contains("failures reached the limit · 503 Service Unavailable"),
        "{text}"
    );
    assert!(
        text.contains("1 h") || text.contains("59 min"),
        "the time left: {text}"
    );
    let first = browser.text("return document.querySelector('#history li').innerText;");
    assert!(
        first.contains("another.example") && first.contains("Closed → Open"),
        "{first}"
    );
    assert!(
        browser
            .text("return document.title;")
            .starts_with("(3 open) shop <production>")
    );
    browser.wait_for("document.querySelector('#announce').textContent.includes('is Open')");
}

#[test]
fn time_goes_by_until_a_breaker_is_due() {
    let Some(browser) = browser() else { return };
    let site = Site::new();
    site.payments.breaker().trip_for(Duration::from_millis(1));
    site.fail("a.example");
    let shorter = atomic_breaker_std::Config::new().open_for(Duration::from_secs(3));
    site.hosts
        .set_config_of(&"a.example".to_owned(), shorter)
        .unwrap();
    site.hosts
        .command(&"a.example".to_owned(), |host| host.trip())
        .unwrap();
    browser.open(&site.url);
    let time = |cell: &str| {
        format!(
            "{}.innerText.includes({})",
            row("a.example"),
            serde_json::json!(cell)
        )
    };
    browser.wait_for(&time("2 s"));
    browser.wait_for(&time("1 s"));
    browser.wait_for(&time("Open, due"));
    browser.wait_for(&time("the next call is a probe"));
}

#[test]
fn without_a_place_in_the_stream_it_is_read_each_few_seconds() {
    let Some(browser) = browser() else { return };
    let site = Site::with(Operator::new("alice"), |admin| admin.streams(1));
    let place = TcpStream::connect(site.url.split('/').nth(2).unwrap()).unwrap();
    (&place)
        .write_all(b"GET /deep/breakers/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .unwrap();
    (&place).read_exact(&mut [0; 12]).unwrap();
    browser.go(&site.url);
    browser.wait_for("document.querySelector('#live').textContent.startsWith('not live')");
    site.trip("a.example");
    let took = browser.wait_for(&row("a.example"));
    println!("figure: without a stream a trip shows within {took:?}");
    assert!(took < Duration::from_secs(7), "{took:?}");
    drop(place);
    browser.wait_for("document.querySelector('#live').textContent === 'live'");
}

#[test]
fn an_address_with_a_password_in_it_is_no_obstacle() {
    let Some(browser) = browser() else { return };
    let site = Site::new();
    browser.open(&site.url.replacen("http://", "http://alice:secret@", 1));
    site.trip("a.example");
    browser.wait_for(&row("a.example"));
    assert_eq!(browser.log(), "[]");
}

#[test]
fn it_is_found_without_the_slash() {
    let Some(browser) = browser() else { return };
    let site = Site::new();
    browser.open(site.url.trim_end_matches('/'));
    site.trip("a.example");
    browser.wait_for(&row("a.example"));
    assert_eq!(browser.log(), "[]");
}

#[test]
fn a_server_that_is_gone_is_said_and_found_again() {
    let Some(browser) = browser() else { return };
    let site = Site::new();
    browser.open(&site.url);
    let offline = |is| {
        let network = serde_json::json!({ "offline": is, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1 });
        browser.devtools("Network.enable", &serde_json::json!({}));
        browser.devtools("Network.emulateNetworkConditions", &network);
    };
    offline(true);
    browser.wait_for("!document.querySelector('#notice').hidden");
    site.trip("a.example");
    offline(false);
    browser.wait_for(&row("a.example"));
    browser.wait_for("document.querySelector('#notice').hidden && document.querySelector('#live').textContent === 'live'");
}

#[test]
fn the_fleet_is_shown() {
    let Some(browser) = browser() else { return };
    let site = Site::new();
    browser.open(&site.url);
    browser
        .wait_for("document.querySelector('#fleets li').innerText.includes('0 open by the fleet')");
}
