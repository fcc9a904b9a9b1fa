// SPDX-License-Identifier: MIT OR Apache-2.0
//! Commands by mouse and by keyboard, which ask before they act.

use crate::browser::{Browser, ENTER, ESCAPE};
use crate::operator::tab_to;
use crate::site::{Page, row};
use atomic_breaker_admin::Operator;
use atomic_breaker_server::{State, TripRule};
use serde_json::json;

/// The dialog of a key that is open.
fn managing(key: &str) -> Page {
    let page = Page::new();
    page.site.trip(key);
    page.open();
    page.manage(key);
    page
}

/// Confirms a reset, which is not done, as the breaker has been forced open since.
fn is_refused(page: &Page) {
    page.press("#confirm", "Reset");
    page.wait_for_text("#result", "it is forced open now");
    assert_eq!(page.site.state("a.example"), State::ForcedOpen);
}

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn a_click_resets_after_a_confirmation() {
    let page = Page::alone();
    page.site.trip("a.example");
    page.site.trip("b.example");
    page.open();
    page.manage("a.example");
    page.press("#commands", "Reset");
    assert_eq!(
        page.text_of("#question"),
        "Reset: a.example of hosts? It closes, every count is cleared, and calls pass at once."
    );
    assert_eq!(page.site.state("a.example"), State::Open, "it asks first");
    page.press("#confirm", "Cancel");
    assert_eq!(page.site.state("a.example"), State::Open);
    page.press("#commands", "Reset");
    page.press("#confirm", "Reset");
    let took = page.wait_for_row("a.example", "Closed");
    println!("figure: a reset shows within {took:?}");
    assert_eq!(page.site.state("a.example"), State::Closed);
    assert_eq!(page.site.state("b.example"), State::Open, "no other one");
    assert_eq!(page.text_of("#result"), "Done: open -> closed: by command");
    let event = page.text_of("#history li");
    assert!(event.contains("by hand: alice"), "{event}");
    assert_eq!(page.log(), "[]");
}

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn the_keyboard_alone_resets() {
    let page = Page::new();
    page.site.trip("a.example");
    page.open();
    page.wait_for(&row("a.example"));
    let presses = tab_to(&page, "Manage a.example of hosts");
    page.keys(ENTER);
    page.wait_for("$('#dialog').open");
    tab_to(&page, "Reset");
    page.keys(ENTER);
    assert_eq!(page.focused(), "Cancel", "the harmless one has the focus");
    tab_to(&page, "Reset");
    page.keys(ENTER);
    page.wait_for_text("#result", "Done");
    assert_eq!(page.site.state("a.example"), State::Closed);
    page.wait_for("document.activeElement.id === 'close'");
    page.keys(ESCAPE);
    page.wait_for("!$('#dialog').open");
    let focused = page.focused();
    assert_eq!(focused, "Manage a.example of hosts", "the focus is back");
    println!("figure: {presses} presses of the tab key lead to the first breaker");
}

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn a_change_by_another_operator_is_not_undone_unseen() {
    let page = managing("a.example");
    page.press("#commands", "Reset");
    // Nothing is read any more until the button is pressed, as if it came in the same moment.
    page.run("window.fetch = ((fetch) => (url, init) => init && init.method ? fetch(url, init) : new Promise(() => {}))(fetch);");
    page.site.command("a.example", |host| host.force_open());
    is_refused(&page);
}

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn a_command_applies_only_to_the_state_that_was_shown_with_the_question() {
    let page = managing("a.example");
    page.press("#commands", "Reset");
    page.site.command("a.example", |host| host.force_open());
    // The dialog goes on showing the present behind the question.
    page.wait_for_text("#facts", "Forced open");
    is_refused(&page);
    page.command("Reset");
    assert_eq!(page.site.state("a.example"), State::Closed);
}

fn write_rules(page: &Page, rules: &str) {
    let rules = json!(rules);
    page.run(&format!("$('#form textarea').value = {rules};"));
    page.press("#form", "Compare");
}

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn rules_are_shown_compared_and_set() {
    let page = managing("a.example");
    page.press("#commands", "Change rules");
    page.wait_for("$('#form textarea')?.value.includes('\"consecutive_failures\": 2')");
    write_rules(&page, r#"{"consecutive_failures": 0}"#);
    page.wait_for_text("#result", "set at least 1");
    write_rules(&page, r#"{"consecutive_failures": 2"#);
    page.wait_for("$('#result').classList.contains('bad')");
    write_rules(
        &page,
        r#"{"consecutive_failures": 7, "open_for_ms": 3600000}"#,
    );
    page.wait_for("!$('#confirm').hidden");
    let changes = page.text_of(".changes");
    assert_eq!(changes.trim(), "consecutive_failures: 2 → 7");
    page.confirm("Set these rules");
    let own = page.site.hosts.config_of(&"a.example".to_owned());
    assert_eq!(own.trip, TripRule::Consecutive { failures: 7 });
    let common = page.site.hosts.config();
    assert_eq!(common.trip, TripRule::Consecutive { failures: 2 });
}

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn rules_of_a_single_breaker_are_set() {
    let page = Page::new();
    page.open();
    page.manage("payments");
    page.press("#commands", "Change rules");
    page.wait_for("$('#form textarea')");
    write_rules(
        &page,
        r#"{"consecutive_failures": 7, "open_for_ms": 3600000}"#,
    );
    page.wait_for("!$('#confirm').hidden");
    assert_eq!(
        page.text_of("#question"),
        "Set these rules: payments? They apply from the next event on; an open time that has begun stays as it is."
    );
    page.confirm("Set these rules");
    let rules = *page.site.payments.breaker().config();
    assert_eq!(rules.trip, TripRule::Consecutive { failures: 7 });
}

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn shadow_mode_is_set_and_shown() {
    let page = Page::new();
    page.site.trip("a.example");
    page.open();
    page.press("#sources", "Settings of hosts");
    page.press("#commands", "Enforce or shadow");
    page.run("$('#form input').value = '0';");
    page.press("#form", "Next");
    page.confirm("Enforce 0 %");
    assert_eq!(page.site.hosts.enforcement().percent(), 0);
    page.press("#dialog", "Close");
    page.wait_for_row("a.example", "shadow mode");
    page.wait_for_text("#sources", "shadow mode: calls pass");
}

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn each_state_offers_what_applies_to_it() {
    let page = Page::new();
    page.open();
    for (words, state) in [
        ("Trip", State::Open),
        ("Probe now", State::HalfOpen),
        ("Force open", State::ForcedOpen),
        ("Release", State::HalfOpen),
        ("Disable", State::Disabled),
        ("Enable", State::Closed),
    ] {
        page.manage("payments");
        page.command(words);
        page.press("#dialog", "Close");
        assert_eq!(page.site.payments.breaker().state(), state, "{words}");
    }
}

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn a_viewer_is_offered_no_command() {
    let browser = Browser::start(false);
    let page = Page::with(browser, Operator::viewer("bob"), |admin| admin);
    page.open();
    page.manage("payments");
    let commands = page.text_of("#commands");
    assert_eq!(commands, "You may look, but not change anything.");
}

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn the_result_of_a_command_is_not_shown_for_another_breaker() {
    let page = managing("a.example");
    page.site.trip("b.example");
    page.network(false, 2_000);
    page.press("#commands", "Reset");
    page.press("#confirm", "Reset");
    page.press("#dialog", "Close");
    page.manage("b.example");
    page.press("#commands", "Force open");
    page.wait_for(
        "performance.getEntriesByType('resource').some((it) => it.name.endsWith('/control'))",
    );
    let question = page.text_of("#question");
    assert!(
        question.contains("b.example"),
        "it is still asked: {question}"
    );
    assert_eq!(page.text_of("#result"), "");
    page.confirm("Force open");
    assert_eq!(page.site.state("a.example"), State::Closed);
    assert_eq!(page.site.state("b.example"), State::ForcedOpen);
}
