// SPDX-License-Identifier: MIT OR Apache-2.0
//! The names that people know keys by, and the link to a runbook.

use crate::support::{App, World};
use serde_json::Value;

#[tokio::test]
async fn a_label_is_shown_beside_its_key_and_found() {
    let world = World::new();
    let labels = [("10.0.3.7:443", "Payments, Oslo"), ("unknown", "nobody")];
    let app = App::of(world.admin().labels("hosts", labels));
    world.trip("10.0.3.7:443");
    world.trip("b");
    let status = app.get("/status?search=pAyMENTS,").await.json();
    assert_eq!(status["matching"], 1);
    assert_eq!(status["entries"][0]["label"], "Payments, Oslo");
    assert_eq!(status["entries"][0]["key"], "10.0.3.7:443");
    let status = app.get("/status?search=b&of=hosts").await.json();
    assert_eq!(status["entries"][0]["label"], Value::Null);
}

#[tokio::test]
async fn labels_of_what_is_not_shown_are_refused() {
    let admin = World::new().admin().labels("host", [("a", "b")]);
    let error = admin.router::<()>().unwrap_err().to_string();
    assert!(
        error.contains("\"host\" has labels and is not shown"),
        "{error}"
    );
}

#[tokio::test]
async fn the_runbook_is_an_address_of_the_web() {
    for address in [
        "https://wiki.example.com/breakers?of=shop#open",
        "http://[::1]:8080",
        "HTTPS://wiki/%20",
    ] {
        let app = App::of(World::new().admin().runbook(address));
        assert_eq!(app.get("/status").await.json()["runbook"], address);
    }
    let none = World::new().app();
    assert_eq!(none.get("/status").await.json()["runbook"], Value::Null);
    let long = format!("https://wiki/{}", "x".repeat(2_048));
    for address in [
        "",
        "javascript:alert(1)",
        "javascript://wiki/%0aalert(1)",
        "wiki.example.com/breakers",
        "/breakers",
        "//wiki/breakers",
        "ftp://wiki/breakers",
        "https://",
        "https:///breakers",
        "https://bob:secret@wiki/breakers",
        "https://wiki/a b",
        "https://wiki/\"onclick=\"alert(1)",
        "https://wiki/\nx",
        "https://wiki/\u{202e}x",
        &long,
    ] {
        let error = World::new().admin().runbook(address).router::<()>();
        let error = error.unwrap_err().to_string();
        assert!(error.contains("is not the address of a page"), "{error}");
    }
}

#[tokio::test]
async fn the_page_links_to_the_runbook_and_passes_nothing_on() {
    let script = World::new().app().get("/?script").await.body;
    assert!(
        script.contains("href: address, rel: 'noreferrer'"),
        "{script}"
    );
}
