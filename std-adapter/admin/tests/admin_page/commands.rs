//! Commands by mouse and by keyboard, which ask before they act.

use crate::browser::{Browser, ENTER, ESCAPE, browser, browser_alone};
use crate::operator;
use crate::site::{Site, row};
use atomic_breaker_admin::Operator;
use atomic_breaker_std::State;

fn manage(browser: &Browser, key: &str) {
    operator::manage(browser, &row(key), "#dialog");
}

/// A command, the answer to the question that follows, and until it is done.
fn act(browser: &Browser, command: &str, answer: &str) {
    browser.press("#commands", command);
    browser.press("#confirm", answer);
    browser.wait_for("document.querySelector('#result').textContent.startsWith('Done')");
}

/// It is not done, as the breaker has been forced open meanwhile.
fn is_refused(browser: &Browser, site: &Site) {
    browser.press("#confirm", "Reset");
    browser.wait_for(
        "document.querySelector('#result').textContent.includes('it is forced open now')",
    );
    assert_eq!(site.hosts.state(&"a.example".to_owned()), State::ForcedOpen);
}

#[test]
fn a_click_resets_after_it_has_asked() {
    let Some(browser) = browser_alone() else {
        return;
    };
    let site = Site::new();
    site.trip("a.example");
    site.trip("b.example");
    browser.open(&site.url);
    manage(&browser, "a.example");
    browser.press("#commands", "Reset");
    let question = browser.text("return document.querySelector('#question').textContent;");
    assert_eq!(
        question,
        "Reset: a.example of hosts? It closes, every count is cleared, and calls pass at once."
    );
    assert_eq!(
        site.hosts.state(&"a.example".to_owned()),
        State::Open,
        "it asks first"
    );
    browser.press("#confirm", "Cancel");
    assert_eq!(site.hosts.state(&"a.example".to_owned()), State::Open);
    browser.press("#commands", "Reset");
    browser.press("#confirm", "Reset");
    let took = browser.wait_for(&format!(
        "{}?.innerText.includes('Closed')",
        row("a.example")
    ));
    println!("figure: a reset shows within {took:?}");
    assert_eq!(site.hosts.state(&"a.example".to_owned()), State::Closed);
    assert_eq!(
        site.hosts.state(&"b.example".to_owned()),
        State::Open,
        "no other one"
    );
    let result = browser.text("return document.querySelector('#result').textContent;");
    assert_eq!(result, "Done: open -> closed: by command");
    let event = browser.text("return document.querySelector('#history li').innerText;");
    assert!(event.contains("by hand: alice"), "{event}");
    assert_eq!(browser.log(), "[]");
}

#[test]
fn the_keyboard_alone_resets() {
    let Some(browser) = browser() else { return };
    let site = Site::new();
    site.trip("a.example");
    browser.open(&site.url);
    browser.wait_for(&row("a.example"));
    let tab_to = |wanted: &str| operator::tab_to(&browser, wanted);
    let presses = tab_to("Manage a.example of hosts");
    browser.keys(ENTER);
    browser.wait_for("document.querySelector('#dialog').open");
    tab_to("Reset");
    browser.keys(ENTER);
    assert_eq!(
        browser.name(&browser.active()),
        "Cancel",
        "the harmless one has the focus"
    );
    tab_to("Reset");
    browser.keys(ENTER);
    browser.wait_for("document.querySelector('#result').textContent.startsWith('Done')");
    assert_eq!(site.hosts.state(&"a.example".to_owned()), State::Closed);
    browser.wait_for("document.activeElement.id === 'close'");
    browser.keys(ESCAPE);
    browser.wait_for("!document.querySelector('#dialog').open");
    assert_eq!(
        browser.name(&browser.active()),
        "Manage a.example of hosts",
        "the focus is back"
    );
    println!("figure: {presses} presses of the tab key lead to the first breaker");
}

#[test]
fn what_another_operator_did_meanwhile_is_not_undone_unseen() {
    let Some(browser) = browser() else { return };
    let site = Site::new();
    site.trip("a.example");
    browser.open(&site.url);
    manage(&browser, "a.example");
    browser.press("#commands", "Reset");
    // Nothing is read any more until the button is pressed, as if it came in the same moment.
    browser.run("window.fetch = ((fetch) => (url, init) => init && init.method ? fetch(url, init) : new Promise(() => {}))(fetch);");
    site.hosts
        .command(&"a.example".to_owned(), |host| host.force_open())
        .unwrap();
    is_refused(&browser, &site);
}

#[test]
fn what_is_asked_for_is_done_to_what_was_shown_when_it_was_asked() {
    let Some(browser) = browser() else { return };
    let site = Site::new();
    site.trip("a.example");
    browser.open(&site.url);
    manage(&browser, "a.example");
    browser.press("#commands", "Reset");
    site.hosts
        .command(&"a.example".to_owned(), |host| host.force_open())
        .unwrap();
    // The dialog goes on showing the present behind the question.
    browser.wait_for("document.querySelector('#facts').innerText.includes('Forced open')");
    is_refused(&browser, &site);
    act(&browser, "Reset", "Reset");
    assert_eq!(site.hosts.state(&"a.example".to_owned()), State::Closed);
}

#[test]
fn rules_are_shown_compared_and_set() {
    let Some(browser) = browser() else { return };
    let site = Site::new();
    site.fail("a.example");
    browser.open(&site.url);
    manage(&browser, "a.example");
    browser.press("#commands", "Change rules");
    browser.wait_for(
        "document.querySelector('#form textarea')?.value.includes('\"consecutive_failures\": 2')",
    );
    let write = |rules: &str| {
        browser.run(&format!(
            "document.querySelector('#form textarea').value = {};",
            serde_json::json!(rules)
        ));
        browser.press("#form", "Compare");
    };
    write(r#"{"consecutive_failures": 0}"#);
    browser.wait_for("document.querySelector('#result').textContent.includes('set at least 1')");
    write(r#"{"consecutive_failures": 2"#);
    browser.wait_for("document.querySelector('#result').classList.contains('bad')");
    write(r#"{"consecutive_failures": 7, "open_for_ms": 3600000}"#);
    browser.wait_for("!document.querySelector('#confirm').hidden");
    let changes = browser.text("return document.querySelector('.changes').innerText;");
    assert_eq!(changes.trim(), "consecutive_failures: 2 → 7");
    browser.press("#confirm", "Set these rules");
    browser.wait_for("document.querySelector('#result').textContent.startsWith('Done')");
    let rules = site.hosts.config_of(&"a.example".to_owned());
    assert_eq!(rules.get_consecutive_failures(), Some(7));
    assert_eq!(
        site.hosts.config().get_consecutive_failures(),
        Some(2),
        "those of all stay"
    );
}

#[test]
fn rules_of_a_single_breaker_are_set() {
    let Some(browser) = browser() else { return };
    let site = Site::new();
    browser.open(&site.url);
    manage(&browser, "payments");
    browser.press("#commands", "Change rules");
    browser.wait_for("document.querySelector('#form textarea')");
    browser.run(
        "document.querySelector('#form textarea').value = '{\"consecutive_failures\": 7, \"open_for_ms\": 3600000}';",
    );
    browser.press("#form", "Compare");
    browser.wait_for("!document.querySelector('#confirm').hidden");
    let question = browser.text("return document.querySelector('#question').textContent;");
    assert_eq!(
        question,
        "Set these rules: payments? They apply from the next event on; an open time that has begun stays as it is."
    );
    browser.press("#confirm", "Set these rules");
    browser.wait_for("document.querySelector('#result').textContent.startsWith('Done')");
    let rules = *site.payments.breaker().config();
    assert_eq!(rules.get_consecutive_failures(), Some(7));
}

#[test]
fn shadow_mode_is_set_and_shown() {
    let Some(browser) = browser() else { return };
    let site = Site::new();
    site.trip("a.example");
    browser.open(&site.url);
    browser.press("#sources", "Settings of hosts");
    browser.press("#commands", "Enforce or shadow");
    browser.run("document.querySelector('#form input').value = '0';");
    browser.press("#form", "Next");
    browser.press("#confirm", "Enforce 0 %");
    browser.wait_for("document.querySelector('#result').textContent.startsWith('Done')");
    assert_eq!(site.hosts.enforcement().percent(), 0);
    browser.press("#dialog", "Close");
    browser.wait_for(&format!(
        "{}.innerText.includes('shadow mode')",
        row("a.example")
    ));
    browser.wait_for(
        "document.querySelector('#sources').innerText.includes('shadow mode: calls pass')",
    );
}

#[test]
fn each_state_offers_what_applies_to_it() {
    let Some(browser) = browser() else { return };
    let site = Site::new();
    browser.open(&site.url);
    let do_it = |words: &str| {
        manage(&browser, "payments");
        act(&browser, words, words);
        browser.press("#dialog", "Close");
    };
    for (words, state) in [
        ("Trip", State::Open),
        ("Probe now", State::HalfOpen),
        ("Force open", State::ForcedOpen),
        ("Release", State::HalfOpen),
        ("Disable", State::Disabled),
        ("Enable", State::Closed),
    ] {
        do_it(words);
        assert_eq!(site.payments.breaker().state(), state, "{words}");
    }
}

#[test]
fn a_viewer_is_offered_nothing() {
    let Some(browser) = browser() else { return };
    let site = Site::with(Operator::viewer("bob"), |admin| admin);
    browser.open(&site.url);
    manage(&browser, "payments");
    let commands = browser.text("return document.querySelector('#commands').innerText;");
    assert_eq!(commands, "You may look, but not change anything.");
}

#[test]
fn what_came_of_a_command_is_not_said_of_another_breaker() {
    let Some(browser) = browser() else { return };
    let site = Site::new();
    site.trip("a.example");
    site.trip("b.example");
    browser.open(&site.url);
    manage(&browser, "a.example");
    let network = serde_json::json!({
        "offline": false, "latency": 2_000, "downloadThroughput": -1, "uploadThroughput": -1,
    });
    browser.devtools("Network.enable", &serde_json::json!({}));
    browser.devtools("Network.emulateNetworkConditions", &network);
    browser.press("#commands", "Reset");
    browser.press("#confirm", "Reset");
    browser.press("#dialog", "Close");
    manage(&browser, "b.example");
    browser.press("#commands", "Force open");
    browser.wait_for(
        "performance.getEntriesByType('resource').some((it) => it.name.endsWith('/control'))",
    );
    let question = browser.text("return document.querySelector('#question').innerText;");
    assert!(
        question.contains("b.example"),
        "it is still asked: {question}"
    );
    let said = browser.text("return document.querySelector('#result').textContent;");
    assert_eq!(said, "");
    browser.press("#confirm", "Force open");
    browser.wait_for("document.querySelector('#result').textContent.startsWith('Done')");
    let state = |key: &str| site.hosts.state(&key.to_owned());
    assert_eq!(
        (state("a.example"), state("b.example")),
        (State::Closed, State::ForcedOpen)
    );
}
