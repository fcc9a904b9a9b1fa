// SPDX-License-Identifier: MIT OR Apache-2.0
//! Commands for all that a filter shows; narrow windows.

use atomic_breaker_admin::Operator;
use atomic_breaker_server::State;
use serde_json::json;

use crate::browser::Browser;
use crate::site::{Page, row};

/// A page that shows three keys of a failed zone, filtered, and two others.
fn filtered() -> Page {
    let page = Page::new();
    for key in ["a.zone", "b.zone", "<b>c</b>.zone", "other", "another"] {
        page.site.trip(key);
    }
    page.browser
        .open(&format!("{}#search=.zone&state=open", page.site.url));
    page.wait_for_text("#caption", "3 breakers");
    page
}

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn a_command_for_all_that_the_filter_shows_asks_once_with_their_number() {
    let page = filtered();
    page.press("#breakers", "Manage all 3");
    page.wait_for_text("#bulk-names", "<b>c</b>.zone of hosts");
    page.wait_for_text("#bulk-commands", "Each closes");
    page.press("#bulk-commands", "Reset 3");
    assert_eq!(
        page.text_of("#bulk-question"),
        "Reset: 3 breakers? Each closes, every count is cleared, and calls pass at once."
    );
    assert_eq!(page.focused(), "Cancel", "the harmless one has the focus");
    assert_eq!(page.site.state("a.zone"), State::Open, "it asks first");
    page.press("#bulk-confirm", "Reset 3");
    page.wait_for_text("#bulk-result", "Done: 3 of 3");
    for (key, state) in [
        ("a.zone", State::Closed),
        ("b.zone", State::Closed),
        ("<b>c</b>.zone", State::Closed),
        ("other", State::Open),
        ("another", State::Open),
    ] {
        assert_eq!(page.site.state(key), state, "{key}");
    }
    page.press("#bulk", "Close");
    page.wait_for_text("#caption", "No matches");
    page.wait_for("document.activeElement.matches('.scroll')");
    assert_eq!(page.log(), "[]");
}

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn one_that_has_changed_since_it_was_asked_is_left_as_it_is() {
    let page = filtered();
    page.press("#breakers", "Manage all 3");
    page.wait_for_text("#bulk-commands", "Each closes");
    page.press("#bulk-commands", "Reset 3");
    page.site.command("b.zone", |host| host.force_open());
    page.press("#bulk-confirm", "Reset 3");
    page.wait_for_text("#bulk-result", "Done: 2 of 3, 1 refused");
    page.wait_for_text(
        "#bulk-names",
        "b.zone of hosts: it has changed since you looked",
    );
    assert_eq!(page.site.state("b.zone"), State::ForcedOpen);
}

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn closing_the_dialog_stops_what_was_not_sent() {
    let page = filtered();
    page.press("#breakers", "Manage all 3");
    page.wait_for_text("#bulk-commands", "Each closes");
    page.press("#bulk-commands", "Reset 3");
    page.network(false, 1_000);
    page.press("#bulk-confirm", "Reset 3");
    page.press("#bulk", "Close");
    page.wait_for_text("#notice", "Stopped. Done: 1 of 3, 2 not tried");
    assert_eq!(page.site.state("b.zone"), State::Open);
}

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn a_viewer_is_offered_no_command_for_all() {
    let browser = Browser::start(false);
    let page = Page::with(browser, Operator::viewer("bob"), |admin| admin);
    page.site.trip("a");
    page.open();
    page.wait_for(&row("a"));
    assert!(page.is("$('#all').hidden"));
}

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn in_a_narrow_window_the_list_comes_first() {
    let page = Page::new();
    for number in 0..20 {
        page.site.trip(&format!("host {number}"));
    }
    let window = |width: u32| {
        let window =
            json!({ "width": width, "height": 844, "deviceScaleFactor": 1, "mobile": false });
        page.devtools("Emulation.setDeviceMetricsOverride", &window);
    };
    window(390);
    page.open();
    page.wait_for(&row("host 1"));
    let top = "return $('#rows tr').getBoundingClientRect().top;";
    let top = page.run(top).as_f64().unwrap();
    assert!(top < 844.0 / 2.0, "the first one is at {top}");
    page.click("#fold summary");
    page.wait_for("$('#search').checkVisibility()");
    page.click("#fold summary");
    window(1_280);
    page.wait_for("$('#search').checkVisibility()");
}
